// libFuzzer entry: any text as config.json (and, after a 0 byte, generation_config.json) is either refused
// with an Error or gives a config whose numbers are within the bounds that the rest of the program relies on.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "model/config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t split = text.find('\0');
  const std::string_view generation = split == std::string_view::npos ? "" : text.substr(split + 1);
  try {
    const lirio::Config config = lirio::parse_config(text.substr(0, split), generation, "fuzz");
    const auto layers = static_cast<std::size_t>(config.num_hidden_layers);
    if (layers < 1 || layers > 40 || config.layer_types.size() != layers) std::abort();
    if (!(config.temperature >= 0) || !(config.top_p >= 0) || config.top_k < 0) std::abort();
    for (const int32_t id : config.eos_token_ids) {
      if (id < 0 || id >= config.vocab_size) std::abort();
    }
  } catch (const lirio::Error&) {
  }
  return 0;
}
