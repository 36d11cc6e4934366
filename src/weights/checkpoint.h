// Checkpoint: the tensors of a model folder in the MLX layout, one model.safetensors or shards with an index.
// Owns the mapped files; the views that it hands out (Tensor, AffineMatrix) live as long as it does. Opened
// once at start; the model binds its weights through it. Thread-safe once opened. docs/formats.md describes
// the layout and the checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/affine_matrix.h"
#include "weights/faults.h"
#include "weights/safetensors.h"

namespace lirio {

/// Which part of the model a tensor belongs to, by its name.
enum class ModelPart : uint8_t {
  kText,
  kVision,  ///< vision_tower.*, model.visual.*, visual.*
  kMtp,     ///< mtp.*, or mtp after a prefix (language_model.mtp.*)
};
ModelPart part_of(std::string_view tensor_name);

/// Throws Error, saying what is there instead, unless `directory` is a folder with a config.json.
void check_model_directory(const std::filesystem::path& directory);
/// Throws Error when `file`, which exists, is empty: an interrupted download leaves such files.
void check_not_empty(const std::filesystem::path& file);

class Checkpoint {
 public:
  struct File {
    std::filesystem::path path;
    int64_t bytes;  ///< of the whole file, header included
  };
  /// Tensors of a recognised part that the text model doesn't read.
  struct Skipped {
    int64_t vision_tensors = 0;
    int64_t vision_bytes = 0;
    int64_t mtp_tensors = 0;
    int64_t mtp_bytes = 0;
  };

  /// Opens every shard and checks headers, the index against the shards, the layout (MLX-quantised, not raw
  /// Hugging Face) and the norm convention. Tensor data is not read, apart from the input norms. Throws
  /// Error.
  static Checkpoint open(const std::filesystem::path& directory);

  /// nullptr when absent. Finds skipped parts too.
  const Tensor* find(std::string_view name) const;
  const std::filesystem::path& directory() const { return directory_; }
  const std::vector<File>& files() const { return files_; }
  /// Sum of all tensors' bytes, skipped parts included, headers not.
  int64_t bytes() const { return bytes_; }
  std::size_t tensor_count() const { return index_.size(); }
  const Skipped& skipped() const { return skipped_; }

  /// True when the checkpoint keeps the raw Hugging Face convention: conv1d.weight is [C, 1, K] and norm
  /// weights are zero-centred (the factor is 1 + w). norm() and convolution() hide the difference.
  bool raw_convention() const { return raw_convention_; }

  // Binding. Each has two forms: one adds what is wrong to `faults` and returns an empty result, so that a
  // whole list of weights can be bound before require(faults) throws once; the other throws at once.

  /// The affine-quantised module `module`: .weight U32 [rows, columns * bits / 32], .scales and .biases
  /// [rows, columns / 64] of one float type, each with a leading dimension of `matrices` when that is more
  /// than 1. The bits, 4 or 8, come from the shapes. `columns` is a multiple of 64.
  AffineMatrix affine(std::string_view module, int64_t matrices, int64_t rows, int64_t columns,
                      Faults& faults) const;
  AffineMatrix affine(std::string_view module, int64_t matrices, int64_t rows, int64_t columns) const;

  /// A tensor of shape [size] as fp32, exactly as stored; BF16, F16 or F32 with finite values.
  std::vector<float> vector(std::string_view name, int64_t size, Faults& faults) const;
  std::vector<float> vector(std::string_view name, int64_t size) const;

  /// The factors of an RMS norm whose weight is zero-centred in the raw convention (every norm of the model
  /// except linear_attn.norm, which is vector()): the weight, plus 1 when raw_convention().
  std::vector<float> norm(std::string_view name, int64_t size, Faults& faults) const;
  std::vector<float> norm(std::string_view name, int64_t size) const;

  /// The taps of a depthwise convolution, stored as [channels, width, 1] or [channels, 1, width]: channels *
  /// width values, the taps of a channel together, oldest first.
  std::vector<float> convolution(std::string_view name, int64_t channels, int64_t width,
                                 Faults& faults) const;
  std::vector<float> convolution(std::string_view name, int64_t channels, int64_t width) const;

  /// Throws one Error that names the folder and lists `faults`, unless there are none.
  void require(const Faults& faults) const;

 private:
  struct Entry {
    const Tensor* tensor;
    std::size_t shard;
  };

  explicit Checkpoint(std::filesystem::path directory) : directory_(std::move(directory)) {}
  void index_tensors(const std::vector<std::filesystem::path>& names, Faults& faults);
  void compare_with_index(const std::vector<std::pair<std::string, std::string>>& weight_map,
                          Faults& faults) const;
  void check_layout() const;
  void check_convention();
  /// `"shard": tensor "name"` for messages.
  std::string place(std::string_view name) const;
  std::vector<float> floats(std::string_view name, std::initializer_list<std::vector<int64_t>> shapes,
                            Faults& faults) const;

  std::filesystem::path directory_;
  std::vector<SafetensorsFile> shards_;
  std::vector<File> files_;
  std::unordered_map<std::string_view, Entry> index_;  // keys and values point into shards_
  int64_t bytes_ = 0;
  Skipped skipped_;
  bool raw_convention_ = false;
};

}  // namespace lirio
