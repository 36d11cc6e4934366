// weights/checkpoint: folders, shards and their index, the layout and its convention, binding of weights.
#include "weights/checkpoint.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>

#include "base/error.h"
#include "support/paths.h"
#include "support/reshard.h"

namespace lirio {
namespace {

namespace fs = std::filesystem;

using testing::Layout;
using testing::OwnedTensor;
using testing::pocket_dir;
using testing::tensor_named;
using testing::write_checkpoint;
using testing::write_file;

constexpr const char* kLayer0 = "language_model.model.layers.0.";
constexpr const char* kIndex = "model.safetensors.index.json";

#define EXPECT_SAYS(fault, part) EXPECT_NE((fault).find(part), std::string::npos) << (fault)

/// The message and the hint of the Error that `action` throws, or "".
std::string fault_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_NE(error.hint(), "");
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << "one line";
    return fmt::format("{} | {}", error.what(), error.hint());
  }
  return "";
}

std::string open_fault(const fs::path& directory) {
  return fault_of([&] { Checkpoint::open(directory); });
}

std::string name_of(const char* rest) {
  return kLayer0 + std::string(rest);
}

/// The pocket's tensors, read once.
const std::vector<OwnedTensor>& pocket() {
  static const std::vector<OwnedTensor> tensors = testing::load_tensors(pocket_dir());
  return tensors;
}

/// A few of them, enough to pass the checks that open() makes.
std::vector<OwnedTensor> small() {
  std::vector<OwnedTensor> tensors;
  for (const OwnedTensor& tensor : pocket()) {
    if (tensor.name.starts_with(kLayer0) && tensor.name.find("switch_mlp") == std::string::npos) {
      tensors.push_back(tensor);
    }
  }
  return tensors;
}

OwnedTensor bf16_tensor(std::string name, std::vector<int64_t> shape, float value) {
  int64_t count = 1;
  for (const int64_t dimension : shape)
    count *= dimension;
  const uint16_t bits = bf16_from_float(value);
  std::string bytes;
  for (int64_t i = 0; i < count; ++i)
    bytes.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  return {std::move(name), Dtype::kBf16, std::move(shape), std::move(bytes)};
}

/// A folder with a checkpoint in it.
struct Folder {
  explicit Folder(std::vector<OwnedTensor> tensors, const Layout& layout = {}) {
    write_checkpoint(path(), std::move(tensors), layout);
  }
  const fs::path& path() const { return temporary.path(); }
  testing::TemporaryDirectory temporary;
};

/// The fault that binding by `bind` reports on a checkpoint of `tensors`.
std::string bind_fault(std::vector<OwnedTensor> tensors, const std::function<void(const Checkpoint&)>& bind) {
  const Folder folder(std::move(tensors));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  return fault_of([&] { bind(checkpoint); });
}

void bind_router(const Checkpoint& checkpoint) {
  checkpoint.affine(name_of("mlp.gate"), 1, 32, 256);
}

TEST(Checkpoint, OpensThePocket) {
  const Checkpoint checkpoint = Checkpoint::open(pocket_dir());
  EXPECT_EQ(checkpoint.bytes(), 18963632) << "total_size of the index";
  ASSERT_EQ(checkpoint.files().size(), 2u);
  EXPECT_EQ(checkpoint.files()[0].path.filename(), "model-00001-of-00002.safetensors");
  EXPECT_EQ(checkpoint.files()[0].bytes, 9582040);
  EXPECT_FALSE(checkpoint.raw_convention());
  EXPECT_EQ(checkpoint.find("no such tensor"), nullptr);
}

TEST(Checkpoint, RecognisesTheMtpHead) {
  const Checkpoint checkpoint = Checkpoint::open(pocket_dir());
  int64_t count = 0, bytes = 0;
  for (const OwnedTensor& tensor : pocket()) {
    if (tensor.name.find("mtp.") == std::string::npos) continue;
    ++count;
    bytes += static_cast<int64_t>(tensor.bytes.size());
  }
  EXPECT_GT(count, 19);
  EXPECT_EQ(checkpoint.skipped().mtp_tensors, count);
  EXPECT_EQ(checkpoint.skipped().mtp_bytes, bytes);
  EXPECT_EQ(checkpoint.skipped().vision_tensors, 0);
  EXPECT_NE(checkpoint.find("language_model.mtp.fc.weight"), nullptr) << "skipped, not hidden";
}

TEST(Checkpoint, RecognisesTheVisionTower) {
  std::vector<OwnedTensor> tensors = small();
  tensors.push_back(bf16_tensor("vision_tower.blocks.0.norm1.weight", {1152}, 1));
  tensors.push_back(bf16_tensor("model.visual.patch_embed.proj.bias", {1152}, 0));
  const Folder folder(std::move(tensors));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_EQ(checkpoint.skipped().vision_tensors, 2);
  EXPECT_EQ(checkpoint.skipped().vision_bytes, 2 * 1152 * 2);
}

TEST(Checkpoint, GivesTheSameBytesForEveryHeaderLengthOrderAndSharding) {
  for (int remainder = 0; remainder < 8; ++remainder) {
    Layout layout;
    layout.header_remainder = remainder;
    layout.shards = 1 + remainder % 3;
    layout.shuffle_seed = static_cast<uint32_t>(remainder) + 1;
    const Folder folder(pocket(), layout);
    const Checkpoint checkpoint = Checkpoint::open(folder.path());
    ASSERT_EQ(checkpoint.files().size(), static_cast<std::size_t>(layout.shards));
    ASSERT_EQ(checkpoint.tensor_count(), pocket().size());
    for (const OwnedTensor& expected : pocket()) {
      const Tensor* const tensor = checkpoint.find(expected.name);
      ASSERT_NE(tensor, nullptr) << expected.name;
      EXPECT_EQ(tensor->dtype, expected.dtype);
      EXPECT_EQ(tensor->shape, expected.shape);
      ASSERT_EQ(tensor->bytes.size(), expected.bytes.size());
      EXPECT_EQ(std::memcmp(tensor->bytes.data(), expected.bytes.data(), expected.bytes.size()), 0)
          << expected.name;
    }
  }
}

TEST(Checkpoint, PutsDataAtOddAddresses) {
  Layout layout;
  layout.header_remainder = 3;
  const Folder folder(small(), layout);
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  const AffineMatrix gate = checkpoint.affine(name_of("mlp.gate"), 1, 32, 256);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(gate.codes) % 2, 1u);
  const Checkpoint original = Checkpoint::open(pocket_dir());
  const AffineMatrix expected = original.affine(name_of("mlp.gate"), 1, 32, 256);
  EXPECT_EQ(load_scale(gate.scales, gate.scale_type, 5), load_scale(expected.scales, expected.scale_type, 5));
}

TEST(Checkpoint, KeepsItsViewsWhenMoved) {
  Checkpoint checkpoint = Checkpoint::open(pocket_dir());
  const Tensor* const tensor = checkpoint.find("language_model.model.norm.weight");
  const Checkpoint moved = std::move(checkpoint);
  EXPECT_EQ(moved.find("language_model.model.norm.weight"), tensor);
  EXPECT_EQ(tensor->shape, (std::vector<int64_t>{256}));
}

TEST(Checkpoint, SaysWhatAPathIsThatIsntAModel) {
  const testing::TemporaryDirectory folder;
  EXPECT_SAYS(open_fault(folder.path() / "absent"), "absent: no such file or folder");
  EXPECT_SAYS(open_fault(folder.path()), "holds no config.json");
  write_file(folder.path() / "notes.txt", "hello");
  EXPECT_SAYS(open_fault(folder.path() / "notes.txt"), "this is a file, expected a folder");
  write_file(folder.path() / "config.json", "{}");
  EXPECT_SAYS(open_fault(folder.path()), "holds no weights: expected model.safetensors");
  write_file(folder.path() / "model-00001-of-00004.safetensors", "");
  EXPECT_SAYS(open_fault(folder.path()),
              "holds model-00001-of-00004.safetensors but neither model.safetensors.index.json nor "
              "model.safetensors");
}

TEST(Checkpoint, SaysThatGgufIsntSupportedYet) {
  const testing::TemporaryDirectory folder;
  write_file(folder.path() / "model.bin", "GGUF and more");
  EXPECT_SAYS(open_fault(folder.path() / "model.bin"),
              "model.bin: this is a GGUF file, and GGUF isn't supported yet");
  write_file(folder.path() / "q4.gguf", "GGUF");
  EXPECT_SAYS(open_fault(folder.path()), "q4.gguf: this is a GGUF file");
}

TEST(Checkpoint, PointsIntoAHuggingFaceCacheEntry) {
  const testing::TemporaryDirectory folder;
  fs::create_directories(folder.path() / "snapshots" / "0123");
  EXPECT_SAYS(open_fault(folder.path()), "Give the folder under snapshots/");
}

TEST(Checkpoint, ListsEveryMissingShard) {
  const Folder folder(small(), {.shards = 3});
  fs::remove(folder.path() / "model-00001-of-00003.safetensors");
  fs::remove(folder.path() / "model-00003-of-00003.safetensors");
  const std::string fault = open_fault(folder.path());
  EXPECT_SAYS(
      fault,
      "2 of 3 weight files are missing: model-00001-of-00003.safetensors, model-00003-of-00003.safetensors");
  EXPECT_SAYS(fault, "incomplete download");
}

TEST(Checkpoint, NamesTheTruncatedShard) {
  const Folder folder(pocket(), {.shards = 2});
  const fs::path shard = folder.path() / "model-00002-of-00002.safetensors";
  fs::resize_file(shard, fs::file_size(shard) - 1'000'000);
  const std::string fault = open_fault(folder.path());
  EXPECT_SAYS(fault, "model-00002-of-00002.safetensors: is 1,000,000 bytes shorter than its header says");
  EXPECT_SAYS(fault, "incomplete download");
}

TEST(Checkpoint, RefusesShardNamesThatLeaveTheFolder) {
  for (const char* name : {"../x.safetensors", "a/b.safetensors", "/etc/passwd", "..", ".", "", "a\\\\b"}) {
    const Folder folder(small());
    write_file(folder.path() / kIndex, fmt::format(R"({{"weight_map":{{"t":"{}"}}}})", name));
    EXPECT_SAYS(open_fault(folder.path()), R"(weight_map: tensor "t" is in )");
    EXPECT_SAYS(open_fault(folder.path()), "expected a plain file name");
  }
}

TEST(Checkpoint, RefusesAnIndexThatIsntOne) {
  const Folder folder(small());
  const auto fault = [&](const char* text) {
    write_file(folder.path() / kIndex, text);
    return open_fault(folder.path());
  };
  EXPECT_SAYS(fault("{"), "model.safetensors.index.json: not valid JSON");
  EXPECT_SAYS(fault(""), "model.safetensors.index.json: is empty");
  EXPECT_SAYS(fault("{}"), "weight_map is absent");
  EXPECT_SAYS(fault(R"({"weight_map":{}})"), "weight_map is empty");
  EXPECT_SAYS(fault(R"({"weight_map":[]})"), "field 'weight_map' is an array, expected an object");
  EXPECT_SAYS(fault(R"({"weight_map":{"t":1}})"), R"(tensor "t" is in no file, expected a plain file name)");
  EXPECT_SAYS(fault(R"({"weight_map":{"t":"a.safetensors","t":"b.safetensors"}})"),
              R"(tensor "t" is listed twice)");
}

TEST(Checkpoint, NamesTensorsThatTheIndexPutsElsewhere) {
  const Folder folder(small(), {.shards = 2});
  const std::string first = small().front().name, last = small().back().name;
  write_file(
      folder.path() / kIndex,
      fmt::format(R"({{"weight_map":{{"{}":"model-00002-of-00002.safetensors",)"
                  R"("{}":"model-00002-of-00002.safetensors","ghost":"model-00001-of-00002.safetensors"}}}})",
                  first, last));
  const std::string fault = open_fault(folder.path());
  EXPECT_SAYS(fault,
              fmt::format("tensor \"{}\": the index expects it in model-00002-of-00002.safetensors, found in "
                          "model-00001-of-00002.safetensors",
                          first));
  EXPECT_SAYS(fault,
              "tensor \"ghost\": the index expects it in model-00001-of-00002.safetensors, found in no file");
  EXPECT_EQ(fault.find(last), std::string::npos);
}

TEST(Checkpoint, NamesTensorsThatAreInTwoShards) {
  std::vector<OwnedTensor> tensors = small();
  const OwnedTensor twice = tensors.front();
  tensors.push_back(twice);
  const Folder folder(std::move(tensors), {.shards = 2});
  // The helper lists it twice as well; the index itself is made right here.
  write_file(folder.path() / kIndex,
             fmt::format(R"({{"weight_map":{{"{}":"model-00001-of-00002.safetensors",)"
                         R"("{}":"model-00002-of-00002.safetensors"}}}})",
                         twice.name, small().back().name));
  EXPECT_SAYS(open_fault(folder.path()),
              fmt::format("tensor \"{}\" is both in model-00001-of-00002.safetensors and in "
                          "model-00002-of-00002.safetensors",
                          twice.name));
}

TEST(Checkpoint, RefusesTheUnquantisedHuggingFaceLayout) {
  const Folder folder({bf16_tensor("model.language_model.norm.weight", {8}, 0)});
  const std::string fault = open_fault(folder.path());
  EXPECT_SAYS(fault, "this is the unquantised Hugging Face layout (model.language_model.*)");
  EXPECT_SAYS(fault, "mlx-community/Qwen3.6-35B-A3B-4bit");
  const Folder other({bf16_tensor("model.norm.weight", {8}, 0)});
  EXPECT_SAYS(open_fault(other.path()), "these weights aren't quantised");
}

TEST(Checkpoint, ReadsTheRawConvention) {
  std::vector<OwnedTensor> tensors = small();
  OwnedTensor& conv = tensor_named(tensors, name_of("linear_attn.conv1d.weight"));
  conv.shape = {2048, 1, 4};
  OwnedTensor& input_norm = tensor_named(tensors, name_of("input_layernorm.weight"));
  input_norm = bf16_tensor(input_norm.name, {256}, -0.125f);
  const Folder folder(tensors);
  const Checkpoint raw = Checkpoint::open(folder.path());
  const Checkpoint converted = Checkpoint::open(pocket_dir());
  EXPECT_TRUE(raw.raw_convention());
  EXPECT_EQ(raw.norm(input_norm.name, 256).at(0), 0.875f);
  EXPECT_EQ(raw.vector(input_norm.name, 256).at(0), -0.125f);
  EXPECT_EQ(raw.convolution(conv.name, 2048, 4), converted.convolution(conv.name, 2048, 4));
  EXPECT_EQ(converted.norm(input_norm.name, 256), converted.vector(input_norm.name, 256));
}

TEST(Checkpoint, RefusesNormsThatContradictTheConvolutionsLayout) {
  std::vector<OwnedTensor> tensors = small();
  OwnedTensor& input_norm = tensor_named(tensors, name_of("input_layernorm.weight"));
  input_norm = bf16_tensor(input_norm.name, {256}, 0.0625f);
  const std::string unshifted = open_fault(Folder(tensors).path());
  EXPECT_SAYS(unshifted,
              "conv1d.weight\" has the layout of converted weights, whose input_layernorm.weight should be "
              "near 1 on average, but their mean over 1 layers is 0.062");
  tensor_named(tensors, name_of("linear_attn.conv1d.weight")).shape = {2048, 1, 4};
  EXPECT_EQ(open_fault(Folder(tensors).path()), "");
  tensor_named(tensors, input_norm.name) = bf16_tensor(input_norm.name, {256}, 1);
  EXPECT_SAYS(open_fault(Folder(tensors).path()), "raw Hugging Face weights");
  tensor_named(tensors, input_norm.name) =
      bf16_tensor(input_norm.name, {256}, std::numeric_limits<float>::quiet_NaN());
  EXPECT_SAYS(open_fault(Folder(tensors).path()), "is nan");
}

TEST(Checkpoint, RefusesAMixOfConvolutionLayouts) {
  std::vector<OwnedTensor> tensors = small();
  tensors.push_back(bf16_tensor("language_model.model.layers.1.linear_attn.conv1d.weight", {2048, 1, 4}, 0));
  EXPECT_SAYS(open_fault(Folder(std::move(tensors)).path()), "expected one layout for all");
}

TEST(Checkpoint, DerivesTheBitsFromTheShapes) {
  const Checkpoint checkpoint = Checkpoint::open(pocket_dir());
  const AffineMatrix gate = checkpoint.affine(name_of("mlp.gate"), 1, 32, 256);
  EXPECT_EQ(gate.bits, 8);
  EXPECT_EQ(gate.codes, checkpoint.find(name_of("mlp.gate.weight"))->bytes.data());
  EXPECT_EQ(gate.biases, checkpoint.find(name_of("mlp.gate.biases"))->bytes.data());
  const AffineMatrix experts = checkpoint.affine(name_of("mlp.switch_mlp.down_proj"), 32, 256, 64);
  EXPECT_EQ(experts.bits, 4);
  EXPECT_EQ(experts.matrices, 32);
  EXPECT_EQ(experts.scale_type, ScaleType::kBf16);
  EXPECT_EQ(experts.code_bytes(), 32 * 256 * 32);
}

TEST(Checkpoint, ListsAllThatIsWrongWithAModule) {
  EXPECT_SAYS(bind_fault(small(), [](const Checkpoint& c) { c.affine("x.y", 1, 32, 256); }),
              "module \"x.y\" (.weight, .scales, .biases) is absent");

  std::vector<OwnedTensor> tensors = small();
  std::erase_if(tensors, [](const OwnedTensor& tensor) { return tensor.name == name_of("mlp.gate.biases"); });
  EXPECT_SAYS(bind_fault(tensors, bind_router),
              "tensor \"language_model.model.layers.0.mlp.gate.biases\" is absent");

  OwnedTensor& weight = tensor_named(tensors, name_of("mlp.gate.weight"));
  weight.dtype = Dtype::kI32;
  OwnedTensor& scales = tensor_named(tensors, name_of("mlp.gate.scales"));
  scales.shape = {4, 32};
  const std::string fault = bind_fault(tensors, bind_router);
  EXPECT_SAYS(fault, "these weights don't fit the model");
  EXPECT_SAYS(fault, "mlp.gate.biases\" is absent");
  EXPECT_SAYS(
      fault,
      "model.safetensors: tensor \"language_model.model.layers.0.mlp.gate.weight\": expected U32 [32, 32] "
      "(4 bits) or [32, 64] (8 bits), found I32 [32, 64]");
  EXPECT_SAYS(fault,
              "mlp.gate.scales\": expected BF16, F16 or F32 [32, 4] (groups of 64), found BF16 [4, 32]");
}

TEST(Checkpoint, SaysWhichBitsAndGroupsItFound) {
  std::vector<OwnedTensor> tensors = small();
  OwnedTensor& weight = tensor_named(tensors, name_of("mlp.gate.weight"));
  weight.shape = {32, 24};
  weight.bytes.resize(32 * 24 * 4);
  for (const char* name : {"mlp.gate.scales", "mlp.gate.biases"}) {
    tensor_named(tensors, name_of(name)) = bf16_tensor(name_of(name), {32, 8}, 1);
  }
  const std::string fault = bind_fault(tensors, bind_router);
  EXPECT_SAYS(fault, "found U32 [32, 24] (3 bits)");
  EXPECT_SAYS(fault, "found BF16 [32, 8] (groups of 32)");
}

TEST(Checkpoint, SaysThatAModuleIsntQuantised) {
  std::vector<OwnedTensor> tensors = small();
  std::erase_if(tensors,
                [](const OwnedTensor& tensor) { return tensor.name.find("mlp.gate.") != std::string::npos; });
  tensors.push_back(bf16_tensor(name_of("mlp.gate.weight"), {32, 256}, 1));
  EXPECT_SAYS(bind_fault(tensors, bind_router), "found BF16 [32, 256] (not quantised)");
}

TEST(Checkpoint, TakesScalesOfOneFloatTypeOnly) {
  std::vector<OwnedTensor> tensors = small();
  OwnedTensor& scales = tensor_named(tensors, name_of("mlp.gate.scales"));
  OwnedTensor& biases = tensor_named(tensors, name_of("mlp.gate.biases"));
  scales.dtype = Dtype::kF16;
  EXPECT_SAYS(bind_fault(tensors, bind_router),
              "mlp.gate.biases\": expected F16 as the scales are, found BF16");
  biases.dtype = Dtype::kF16;
  EXPECT_EQ(bind_fault(tensors, bind_router), "");
  biases.dtype = Dtype::kU16;
  EXPECT_SAYS(bind_fault(tensors, bind_router), "found U16 [32, 4]");
}

TEST(Checkpoint, SaysWhatIsWrongWithASmallTensor) {
  const auto bind = [](const Checkpoint& checkpoint) {
    checkpoint.vector(name_of("linear_attn.dt_bias"), 8);
  };
  std::vector<OwnedTensor> tensors = small();
  EXPECT_EQ(bind_fault(tensors, bind), "");
  OwnedTensor& bias = tensor_named(tensors, name_of("linear_attn.dt_bias"));
  bias.dtype = Dtype::kU16;
  EXPECT_SAYS(bind_fault(tensors, bind),
              "linear_attn.dt_bias\": expected BF16, F16 or F32 [8], found U16 [8]");
  bias = bf16_tensor(bias.name, {8, 1}, 1);
  EXPECT_SAYS(bind_fault(tensors, bind), "expected BF16, F16 or F32 [8], found BF16 [8, 1]");
  bias = bf16_tensor(bias.name, {8}, std::numeric_limits<float>::quiet_NaN());
  EXPECT_SAYS(bind_fault(tensors, bind), "expected finite values, found nan at element 0");
  EXPECT_SAYS(
      bind_fault(small(),
                 [](const Checkpoint& c) { c.convolution(name_of("linear_attn.conv1d.weight"), 8, 4); }),
      "expected BF16, F16 or F32 [8, 4, 1] or [8, 1, 4], found BF16 [2048, 4, 1]");
}

TEST(Checkpoint, ReadsBf16F16AndF32AsTheSameNumbers) {
  std::vector<OwnedTensor> tensors = small();
  const float values[] = {1.5f, -0.25f};
  const uint16_t halves[] = {0x3e00, 0xb400};
  tensors.push_back(
      {"f32", Dtype::kF32, {2}, std::string(reinterpret_cast<const char*>(values), sizeof values)});
  tensors.push_back(
      {"f16", Dtype::kF16, {2}, std::string(reinterpret_cast<const char*>(halves), sizeof halves)});
  const uint16_t bf16[] = {bf16_from_float(values[0]), bf16_from_float(values[1])};
  tensors.push_back(
      {"bf16", Dtype::kBf16, {2}, std::string(reinterpret_cast<const char*>(bf16), sizeof bf16)});
  const Folder folder(std::move(tensors));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  for (const char* name : {"f32", "f16", "bf16"}) {
    EXPECT_EQ(checkpoint.vector(name, 2), (std::vector<float>{1.5f, -0.25f})) << name;
  }
}

TEST(Checkpoint, CollectsTheFaultsOfManyBindingsIntoOneError) {
  const Checkpoint checkpoint = Checkpoint::open(pocket_dir());
  Faults faults;
  for (int i = 0; i < 20; ++i)
    checkpoint.vector(fmt::format("absent.{}", i), 1, faults);
  EXPECT_EQ(checkpoint.affine(name_of("mlp.gate"), 1, 32, 256, faults).bits, 8) << "others still bind";
  const std::string fault = fault_of([&] { checkpoint.require(faults); });
  EXPECT_SAYS(fault, "tensor \"absent.0\" is absent; tensor \"absent.1\" is absent");
  EXPECT_SAYS(fault, "tensor \"absent.7\" is absent; and 12 more");
  checkpoint.require(Faults());
}

TEST(ModelPart, IsReadOffTheName) {
  EXPECT_EQ(part_of("vision_tower.blocks.0.attn.qkv.weight"), ModelPart::kVision);
  EXPECT_EQ(part_of("model.visual.merger.norm.weight"), ModelPart::kVision);
  EXPECT_EQ(part_of("mtp.fc.weight"), ModelPart::kMtp);
  EXPECT_EQ(part_of("language_model.mtp.layers.0.mlp.gate.weight"), ModelPart::kMtp);
  EXPECT_EQ(part_of("language_model.model.norm.weight"), ModelPart::kText);
}

}  // namespace
}  // namespace lirio
