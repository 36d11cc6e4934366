#include "weights/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <string>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/json.h"

namespace lirio {
namespace {

namespace fs = std::filesystem;

using WeightMap = std::vector<std::pair<std::string, std::string>>;  // tensor, shard

constexpr const char* kIndexName = "model.safetensors.index.json";
constexpr const char* kSingleName = "model.safetensors";
constexpr const char* kGetHint = "Get the MLX conversion: mlx-community/Qwen3.6-35B-A3B-4bit.";
constexpr const char* kIncompleteHint = "Probably an incomplete download: fetch the missing files.";

bool is_gguf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[4] = {};
  return file.read(magic, sizeof magic) && std::string_view(magic, sizeof magic) == "GGUF";
}

[[noreturn]] void reject_gguf(const fs::path& path) {
  throw Error(fmt::format("{}: this is a GGUF file, and GGUF isn't supported yet", path.string()), kGetHint);
}

/// What a folder without config.json or weights holds instead, if it is something we know.
void reject_known_folders(const fs::path& directory) {
  std::error_code ignored;
  if (fs::is_directory(directory / "snapshots", ignored)) {
    throw Error(fmt::format("{}: this is a Hugging Face cache entry; the model is one level down",
                            directory.string()),
                "Give the folder under snapshots/.");
  }
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    if (entry.path().extension() == ".gguf") reject_gguf(entry.path());
  }
}

/// Shard names come from a file: they may name nothing outside the folder.
bool is_plain_file_name(std::string_view name) {
  return !name.empty() && name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos &&
         name.find("..") == std::string_view::npos && name != ".";
}

WeightMap read_index(const fs::path& path) {
  check_not_empty(path);
  const json::Document document = json::Document::from_file(path);
  const std::string& source = document.source();
  const auto map = json::get_object(document.root_object(), "weight_map", source);
  if (!map || map->size() == 0) {
    throw Error(fmt::format("{}: weight_map is {}, expected an object from tensor to file", source,
                            map ? "empty" : "absent"),
                "Fetch the file again.");
  }
  WeightMap weights;
  Faults faults;
  std::unordered_set<std::string_view> seen;
  for (const auto [tensor, value] : *map) {
    std::string_view shard;
    if (value.get(shard) != simdjson::SUCCESS || !is_plain_file_name(shard)) {
      faults.add(fmt::format("weight_map: tensor {} is in {}, expected a plain file name", quote(tensor),
                             shard.empty() ? "no file" : quote(shard)));
    }
    if (!seen.insert(tensor).second)
      faults.add(fmt::format("weight_map: tensor {} is listed twice", quote(tensor)));
    weights.emplace_back(tensor, shard);
  }
  faults.throw_if_any(source, "Fetch the file again.");
  return weights;
}

/// The distinct shards of the index, in name order, all of which exist.
std::vector<fs::path> list_shards(const fs::path& directory, const WeightMap& weights) {
  std::vector<fs::path> names;
  for (const auto& [tensor, shard] : weights)
    names.emplace_back(shard);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string missing;
  std::size_t missing_count = 0;
  for (const fs::path& name : names) {
    std::error_code ignored;
    if (fs::exists(directory / name, ignored)) continue;
    missing += (missing_count++ == 0 ? "" : ", ") + name.string();
  }
  if (missing_count > 0) {
    throw Error(fmt::format("{}: {} of {} weight files are missing: {}", directory.string(), missing_count,
                            names.size(), missing),
                kIncompleteHint);
  }
  return names;
}

[[noreturn]] void reject_without_weights(const fs::path& directory) {
  reject_known_folders(directory);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    if (entry.path().extension() != ".safetensors") continue;
    throw Error(fmt::format("{}: holds {} but neither {} nor {}", directory.string(),
                            entry.path().filename().string(), kIndexName, kSingleName),
                kIncompleteHint);
  }
  throw Error(
      fmt::format("{}: holds no weights: expected {} or {}", directory.string(), kSingleName, kIndexName),
      kGetHint);
}

bool is_float(Dtype dtype) {
  return dtype == Dtype::kBf16 || dtype == Dtype::kF16 || dtype == Dtype::kF32;
}

/// Element `index` of a tensor whose dtype is_float().
float load_float(const Tensor& tensor, int64_t index) {
  const std::byte* const address = tensor.bytes.data() + index * dtype_bytes(tensor.dtype);
  if (tensor.dtype == Dtype::kBf16) return float_from_bf16(load_unaligned<uint16_t>(address));
  if (tensor.dtype == Dtype::kF16) return float_from_f16(load_unaligned<uint16_t>(address));
  return load_unaligned<float>(address);
}

std::string describe(const Tensor& tensor) {
  return fmt::format("{} {}", dtype_name(tensor.dtype), shape_text(tensor.shape));
}

/// " (3 bits)", " (groups of 32)": what the width of a weight or of its scales means when MLX packs it in
/// another way.
std::string describe_packing(const Tensor& tensor, int64_t columns) {
  const int64_t width = tensor.shape.empty() ? 0 : tensor.shape.back();
  if (width < 1 || width > columns) return "";
  if (tensor.dtype == Dtype::kU32) {
    for (const int bits : {2, 3, 5, 6}) {
      if (width * 32 == columns * bits) return fmt::format(" ({} bits)", bits);
    }
    return "";
  }
  for (const int group : {16, 32, 128}) {
    if (width * group == columns) return fmt::format(" (groups of {})", group);
  }
  return "";
}

ScaleType scale_type(Dtype dtype) {
  return dtype == Dtype::kBf16 ? ScaleType::kBf16 : dtype == Dtype::kF16 ? ScaleType::kF16 : ScaleType::kF32;
}

}  // namespace

ModelPart part_of(std::string_view tensor_name) {
  for (const std::string_view prefix : {"vision_tower.", "model.visual.", "visual."}) {
    if (tensor_name.starts_with(prefix)) return ModelPart::kVision;
  }
  if (tensor_name.starts_with("mtp.") || tensor_name.find(".mtp.") != std::string_view::npos)
    return ModelPart::kMtp;
  return ModelPart::kText;
}

void check_model_directory(const fs::path& directory) {
  std::error_code error;
  const fs::file_status status = fs::status(directory, error);
  const std::string name = directory.string();
  if (status.type() == fs::file_type::not_found) {
    throw Error(fmt::format("{}: no such file or folder", name),
                "Check the path; a model is a folder with a config.json.");
  }
  if (fs::is_regular_file(status)) {
    if (is_gguf(directory)) reject_gguf(directory);
    throw Error(fmt::format("{}: this is a file, expected a folder with config.json and safetensors", name),
                "Give the folder that holds the model.");
  }
  if (!fs::is_directory(status)) {
    throw Error(fmt::format("{}: can't be read as a folder{}", name, error ? ": " + error.message() : ""),
                "Check the path and its permissions.");
  }
  if (fs::exists(directory / "config.json", error)) return;
  if (error) {
    throw Error(fmt::format("{}: can't look for config.json: {}", name, error.message()),
                "Check the folder's permissions.");
  }
  reject_known_folders(directory);
  throw Error(fmt::format("{}: holds no config.json", name),
              "Give the folder of a model in the MLX layout, or fetch the missing file.");
}

void check_not_empty(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_empty(file, ignored) || ignored) return;
  throw Error(fmt::format("{}: is empty", file.string()),
              "Probably an incomplete download: fetch the file again.");
}

Checkpoint Checkpoint::open(const fs::path& directory) {
  check_model_directory(directory);
  Checkpoint checkpoint(directory);
  Faults faults;
  std::error_code ignored;
  // The index decides when both are there: a shard may itself be called model.safetensors.
  if (fs::exists(directory / kIndexName, ignored)) {
    const WeightMap weights = read_index(directory / kIndexName);
    checkpoint.index_tensors(list_shards(directory, weights), faults);
    checkpoint.compare_with_index(weights, faults);
  } else if (fs::exists(directory / kSingleName, ignored)) {
    checkpoint.index_tensors({kSingleName}, faults);
  } else {
    reject_without_weights(directory);
  }
  faults.throw_if_any(directory.string(),
                      "The files are of different versions of the model; fetch them again.");
  checkpoint.check_layout();
  checkpoint.check_convention();
  return checkpoint;
}

void Checkpoint::index_tensors(const std::vector<fs::path>& names, Faults& faults) {
  shards_.reserve(names.size());
  for (const fs::path& name : names) {
    const SafetensorsFile& shard = shards_.emplace_back(directory_ / name);
    files_.push_back({shard.path(), shard.file_bytes()});
  }
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    for (const Tensor& tensor : shards_[i].tensors()) {
      const auto [entry, added] = index_.try_emplace(tensor.name, Entry{&tensor, i});
      if (!added) {
        faults.add(fmt::format("tensor {} is both in {} and in {}", quote(tensor.name),
                               names[entry->second.shard].string(), names[i].string()));
        continue;
      }
      const auto size_bytes = static_cast<int64_t>(tensor.bytes.size());
      bytes_ += size_bytes;
      if (part_of(tensor.name) == ModelPart::kVision) {
        ++skipped_.vision_tensors;
        skipped_.vision_bytes += size_bytes;
      } else if (part_of(tensor.name) == ModelPart::kMtp) {
        ++skipped_.mtp_tensors;
        skipped_.mtp_bytes += size_bytes;
      }
    }
  }
}

void Checkpoint::compare_with_index(const WeightMap& weight_map, Faults& faults) const {
  for (const auto& [tensor, shard] : weight_map) {
    const auto entry = index_.find(tensor);
    if (entry == index_.end()) {
      faults.add(
          fmt::format("tensor {}: the index expects it in {}, found in no file", quote(tensor), shard));
      continue;
    }
    const std::string found = shards_[entry->second.shard].path().filename().string();
    if (found != shard) {
      faults.add(
          fmt::format("tensor {}: the index expects it in {}, found in {}", quote(tensor), shard, found));
    }
  }
}

void Checkpoint::check_layout() const {
  bool quantised = false;
  bool hugging_face = false;
  for (const auto& [name, entry] : index_) {
    if (part_of(name) != ModelPart::kText) continue;
    quantised |= name.ends_with(".scales");
    hugging_face |= name.starts_with("model.language_model.");
  }
  if (quantised) return;
  throw Error(
      fmt::format("{}: {}: expected the MLX layout with .scales and .biases, found no .scales",
                  directory_.string(),
                  hugging_face ? "this is the unquantised Hugging Face layout (model.language_model.*)"
                               : "these weights aren't quantised"),
      kGetHint);
}

void Checkpoint::check_convention() {
  std::string raw_conv, converted_conv;
  double sum = 0;
  int64_t count = 0;
  for (const SafetensorsFile& shard : shards_) {
    for (const Tensor& tensor : shard.tensors()) {
      const std::string_view name = tensor.name;
      if (part_of(name) != ModelPart::kText) continue;
      if (name.ends_with("conv1d.weight") && !tensor.shape.empty()) {
        (tensor.shape.back() == 1 ? converted_conv : raw_conv) = name;
      } else if (name.ends_with(".input_layernorm.weight") && is_float(tensor.dtype) &&
                 !tensor.bytes.empty()) {
        const auto elements = static_cast<int64_t>(tensor.bytes.size()) / dtype_bytes(tensor.dtype);
        double layer_sum = 0;
        for (int64_t i = 0; i < elements; ++i)
          layer_sum += load_float(tensor, i);
        sum += layer_sum / static_cast<double>(elements);
        ++count;
      }
    }
  }
  if (!raw_conv.empty() && !converted_conv.empty()) {
    throw Error(fmt::format("{}: {} is [C, 1, K] but {} is [C, K, 1]: expected one layout for all",
                            directory_.string(), place(raw_conv), place(converted_conv)),
                "The files are of different conversions; fetch them again.");
  }
  raw_convention_ = !raw_conv.empty();
  // Without the tensors to compare there is nothing to say: binding will report what is missing.
  if (count == 0 || (raw_conv.empty() && converted_conv.empty())) return;
  const double mean = sum / static_cast<double>(count);
  const double expected = raw_convention_ ? 0 : 1;
  // Written so that a NaN fails too.
  if (std::abs(mean - expected) < 0.5) return;
  throw Error(
      fmt::format(
          "{}: {} has the layout of {} weights, whose input_layernorm.weight should be {} on average, "
          "but their mean over {} layers is {:.3f}",
          directory_.string(), place(raw_convention_ ? raw_conv : converted_conv),
          raw_convention_ ? "raw Hugging Face" : "converted", raw_convention_ ? "near 0" : "near 1", count,
          mean),
      "The norms were shifted twice or not at all by a faulty conversion; get another one.");
}

const Tensor* Checkpoint::find(std::string_view name) const {
  const auto entry = index_.find(name);
  return entry == index_.end() ? nullptr : entry->second.tensor;
}

std::string Checkpoint::place(std::string_view name) const {
  return fmt::format("{}: tensor {}", shards_[index_.at(name).shard].path().filename().string(), quote(name));
}

AffineMatrix Checkpoint::affine(std::string_view module, int64_t matrices, int64_t rows, int64_t columns,
                                Faults& faults) const {
  const std::string base(module);
  const std::string weight_name = base + ".weight", scales_name = base + ".scales",
                    biases_name = base + ".biases";
  const Tensor* const weight = find(weight_name);
  const Tensor* const scales = find(scales_name);
  const Tensor* const biases = find(biases_name);
  const std::size_t faults_before = faults.count();
  if (weight == nullptr && scales == nullptr && biases == nullptr) {
    faults.add(fmt::format("module {} (.weight, .scales, .biases) is absent", quote(module)));
    return {};
  }
  if (weight != nullptr && scales == nullptr && biases == nullptr && is_float(weight->dtype)) {
    faults.add(fmt::format("{}: expected U32 codes with .scales and .biases, found {} (not quantised)",
                           place(weight_name), describe(*weight)));
    return {};
  }
  const std::string* const names[] = {&weight_name, &scales_name, &biases_name};
  const Tensor* const tensors[] = {weight, scales, biases};
  for (int i = 0; i < 3; ++i) {
    if (tensors[i] == nullptr) faults.add(fmt::format("tensor {} is absent", quote(*names[i])));
  }

  const auto shape = [&](int64_t last) {
    return matrices > 1 ? std::vector<int64_t>{matrices, rows, last} : std::vector<int64_t>{rows, last};
  };
  const std::vector<int64_t> shape4 = shape(columns * 4 / 32), shape8 = shape(columns * 8 / 32);
  const std::vector<int64_t> group_shape = shape(columns / kQuantGroup);
  if (weight != nullptr &&
      (weight->dtype != Dtype::kU32 || (weight->shape != shape4 && weight->shape != shape8))) {
    faults.add(fmt::format("{}: expected U32 {} (4 bits) or {} (8 bits), found {}", place(weight_name),
                           shape_text(shape4), shape_text(shape8),
                           describe(*weight) + describe_packing(*weight, columns)));
  }
  for (int i = 1; i < 3; ++i) {
    if (tensors[i] == nullptr) continue;
    if (!is_float(tensors[i]->dtype) || tensors[i]->shape != group_shape) {
      faults.add(fmt::format("{}: expected BF16, F16 or F32 {} (groups of {}), found {}", place(*names[i]),
                             shape_text(group_shape), kQuantGroup,
                             describe(*tensors[i]) + describe_packing(*tensors[i], columns)));
    }
  }
  if (scales != nullptr && biases != nullptr && scales->dtype != biases->dtype) {
    faults.add(fmt::format("{}: expected {} as the scales are, found {}", place(biases_name),
                           dtype_name(scales->dtype), dtype_name(biases->dtype)));
  }
  if (faults.count() != faults_before) return {};

  AffineMatrix matrix;
  matrix.codes = weight->bytes.data();
  matrix.scales = scales->bytes.data();
  matrix.biases = biases->bytes.data();
  matrix.scale_type = scale_type(scales->dtype);
  matrix.bits = weight->shape == shape4 ? 4 : 8;
  matrix.matrices = matrices;
  matrix.rows = rows;
  matrix.columns = columns;
  return matrix;
}

std::vector<float> Checkpoint::floats(std::string_view name,
                                      std::initializer_list<std::vector<int64_t>> shapes,
                                      Faults& faults) const {
  const Tensor* const tensor = find(name);
  if (tensor == nullptr) {
    faults.add(fmt::format("tensor {} is absent", quote(name)));
    return {};
  }
  if (!is_float(tensor->dtype) || std::find(shapes.begin(), shapes.end(), tensor->shape) == shapes.end()) {
    std::string expected;
    for (const auto& shape : shapes)
      expected += (expected.empty() ? "" : " or ") + shape_text(shape);
    faults.add(
        fmt::format("{}: expected BF16, F16 or F32 {}, found {}", place(name), expected, describe(*tensor)));
    return {};
  }
  std::vector<float> values(tensor->bytes.size() / static_cast<std::size_t>(dtype_bytes(tensor->dtype)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = load_float(*tensor, static_cast<int64_t>(i));
    if (!std::isfinite(values[i])) {
      faults.add(
          fmt::format("{}: expected finite values, found {} at element {}", place(name), values[i], i));
      return {};
    }
  }
  return values;
}

std::vector<float> Checkpoint::vector(std::string_view name, int64_t size, Faults& faults) const {
  return floats(name, {std::vector<int64_t>{size}}, faults);
}

std::vector<float> Checkpoint::norm(std::string_view name, int64_t size, Faults& faults) const {
  std::vector<float> values = floats(name, {std::vector<int64_t>{size}}, faults);
  if (raw_convention_) {
    for (float& value : values)
      value += 1;
  }
  return values;
}

std::vector<float> Checkpoint::convolution(std::string_view name, int64_t channels, int64_t width,
                                           Faults& faults) const {
  // Both orders hold the taps of a channel together: the same bytes.
  return floats(name, {{channels, width, 1}, {channels, 1, width}}, faults);
}

AffineMatrix Checkpoint::affine(std::string_view module, int64_t matrices, int64_t rows,
                                int64_t columns) const {
  Faults faults;
  const AffineMatrix matrix = affine(module, matrices, rows, columns, faults);
  require(faults);
  return matrix;
}

std::vector<float> Checkpoint::vector(std::string_view name, int64_t size) const {
  Faults faults;
  std::vector<float> values = vector(name, size, faults);
  require(faults);
  return values;
}

std::vector<float> Checkpoint::norm(std::string_view name, int64_t size) const {
  Faults faults;
  std::vector<float> values = norm(name, size, faults);
  require(faults);
  return values;
}

std::vector<float> Checkpoint::convolution(std::string_view name, int64_t channels, int64_t width) const {
  Faults faults;
  std::vector<float> values = convolution(name, channels, width, faults);
  require(faults);
  return values;
}

void Checkpoint::require(const Faults& faults) const {
  faults.throw_if_any(fmt::format("{}: these weights don't fit the model", directory_.string()), kGetHint);
}

}  // namespace lirio
