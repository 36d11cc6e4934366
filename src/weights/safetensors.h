// SafetensorsFile: one safetensors file, mapped, its header checked in full before any tensor is handed out.
// Zero copy: tensors are views at any byte alignment that live as long as the file. Used by
// weights/checkpoint and by tests. Thread-safe once opened. docs/formats.md lists what is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"

namespace lirio {

/// Element types that take whole bytes. The format's 4- and 6-bit floats are refused by name.
enum class Dtype : uint8_t {
  kBool,
  kU8,
  kI8,
  kF8E4M3,
  kF8E5M2,
  kF8E8M0,
  kU16,
  kI16,
  kF16,
  kBf16,
  kU32,
  kI32,
  kF32,
  kU64,
  kI64,
  kF64,
};

/// The format's own name, as "BF16".
std::string_view dtype_name(Dtype dtype);
int dtype_bytes(Dtype dtype);

/// A named view. `bytes` has exactly product(shape) * dtype_bytes(dtype) bytes and no alignment.
struct Tensor {
  std::string name;
  Dtype dtype = Dtype::kU8;
  std::vector<int64_t> shape;  ///< row-major, no dimension negative; empty for a scalar
  std::span<const std::byte> bytes;
};

/// The tensors of a whole safetensors file in the order of their data; their bytes point into `file`. Throws
/// Error naming `source`, the tensor, the field, what was expected and what was found.
std::vector<Tensor> parse_safetensors_header(std::span<const std::byte> file, const std::string& source);

class SafetensorsFile {
 public:
  /// Maps and checks `path`. Throws Error when it can't be read or isn't a complete, consistent safetensors
  /// file.
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  /// The size of the whole file.
  int64_t file_bytes() const { return static_cast<int64_t>(file_.bytes().size()); }
  /// In the order of their data. Views: moving the SafetensorsFile keeps them valid.
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  MappedFile file_;
  std::vector<Tensor> tensors_;
};

}  // namespace lirio
