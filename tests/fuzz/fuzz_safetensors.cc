// libFuzzer entry: any bytes are either refused with an Error or give tensors that lie within them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/error.h"
#include "weights/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(data), size);
  try {
    std::size_t total_bytes = 0;
    for (const lirio::Tensor& tensor : lirio::parse_safetensors_header(file, "fuzz")) {
      if (tensor.bytes.data() < file.data() || tensor.bytes.data() + tensor.bytes.size() > file.data() + size)
        std::abort();
      total_bytes += tensor.bytes.size();
    }
    if (total_bytes > size) std::abort();
  } catch (const lirio::Error&) {
  }
  return 0;
}
