// Writes checkpoints that differ from the pocket in a chosen way: other shards, header lengths, orders,
// tensors. Each bad file is one call away. Used by the tests of weights and model; not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weights/safetensors.h"

namespace lirio::testing {

/// A tensor with its own bytes, which a test may change; nothing keeps dtype, shape and bytes consistent.
struct OwnedTensor {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<int64_t> shape;
  std::string bytes;
};

/// All tensors of a checkpoint folder, by name.
std::vector<OwnedTensor> load_tensors(const std::filesystem::path& directory);
/// The tensor called `name`, which is there.
OwnedTensor& tensor_named(std::vector<OwnedTensor>& tensors, std::string_view name);

/// A safetensors file of exactly this header and data, right or wrong.
std::string safetensors_file(std::string_view header, std::string_view data);
/// A right safetensors file; spaces pad the header until its length is `header_remainder` (0 to 7) modulo 8.
std::string safetensors_file(std::span<const OwnedTensor> tensors, int header_remainder = 0);

void write_file(const std::filesystem::path& path, std::string_view bytes);
std::string read_file(const std::filesystem::path& path);

struct Layout {
  int shards = 1;             ///< 1 writes model.safetensors, more write model-0000i-of-0000n and an index
  int header_remainder = 0;   ///< see safetensors_file()
  uint32_t shuffle_seed = 0;  ///< order of tensors over and in the shards; 0 keeps the given order
};

/// Writes `tensors` and the pocket's JSON files into `directory`, which exists.
void write_checkpoint(const std::filesystem::path& directory, std::vector<OwnedTensor> tensors,
                      const Layout& layout = {});

}  // namespace lirio::testing
