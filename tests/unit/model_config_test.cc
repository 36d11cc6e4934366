// model/config: the three families against the published model, what another model's files are told, the
// tokenizer's fit.
#include "model/config.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <sstream>
#include <string>

#include "base/error.h"
#include "support/paths.h"
#include "support/reshard.h"

namespace lirio {
namespace {

#define EXPECT_SAYS(fault, part) EXPECT_NE((fault).find(part), std::string::npos) << (fault)

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

/// Replaces the one occurrence of `from` in `text`.
std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

/// The official text_config, spaces left out; the fields under test are replaced in it.
constexpr const char* kText = R"("model_type":"qwen3_5_moe_text","hidden_size":2048,"num_hidden_layers":40,
"full_attention_interval":4,"num_attention_heads":16,"num_key_value_heads":2,"head_dim":256,"attn_output_gate":true,
"attention_bias":false,"num_experts":256,"num_experts_per_tok":8,"moe_intermediate_size":512,
"shared_expert_intermediate_size":512,"linear_num_key_heads":16,"linear_num_value_heads":32,"linear_key_head_dim":128,
"linear_value_head_dim":128,"linear_conv_kernel_dim":4,"rms_norm_eps":1e-06,"hidden_act":"silu","vocab_size":248320,
"max_position_embeddings":262144,"eos_token_id":248044,"pad_token_id":null,"partial_rotary_factor":0.25,
"rope_parameters":{"rope_theta":10000000,"rope_type":"default","mrope_section":[11,11,10],"mrope_interleaved":true,
"partial_rotary_factor":0.25})";

std::string full_json(std::string_view text = kText) {
  return fmt::format(R"({{"model_type":"qwen3_5_moe","image_token_id":248056,"video_token_id":248057,
"vision_start_token_id":248053,"vision_end_token_id":248054,"tie_word_embeddings":false,"eos_token_id":[248046,248044],
"quantization":{{"group_size":64,"bits":4,"mode":"affine","language_model.model.layers.0.mlp.gate":
{{"group_size":64,"bits":8}},"language_model.model.norm":false}},"text_config":{{{}}}}})",
                     text);
}

/// The config when `from` is replaced by `to` in the full model's config.json.
Config with(std::string_view from, std::string_view to) {
  return parse_config(replaced(full_json(), from, to), "", "m");
}

std::string fault_with(std::string_view from, std::string_view to) {
  return fault_of([&] { with(from, to); });
}

void expect_same(const Config& a, const Config& b) {
  EXPECT_EQ(a.family, b.family);
  EXPECT_EQ(a.hidden_size, b.hidden_size);
  EXPECT_EQ(a.num_hidden_layers, b.num_hidden_layers);
  EXPECT_EQ(a.layer_types, b.layer_types);
  EXPECT_EQ(a.num_attention_heads, b.num_attention_heads);
  EXPECT_EQ(a.num_key_value_heads, b.num_key_value_heads);
  EXPECT_EQ(a.linear_num_key_heads, b.linear_num_key_heads);
  EXPECT_EQ(a.linear_num_value_heads, b.linear_num_value_heads);
  EXPECT_EQ(a.num_experts, b.num_experts);
  EXPECT_EQ(a.moe_intermediate_size, b.moe_intermediate_size);
  EXPECT_EQ(a.shared_expert_intermediate_size, b.shared_expert_intermediate_size);
  EXPECT_EQ(a.vocab_size, b.vocab_size);
  EXPECT_EQ(a.max_position_embeddings, b.max_position_embeddings);
  EXPECT_EQ(a.rope_theta, b.rope_theta);
  EXPECT_EQ(a.rms_norm_eps, b.rms_norm_eps);
  EXPECT_EQ(a.eos_token_ids, b.eos_token_ids);
  EXPECT_EQ(a.image_token_id, b.image_token_id);
  EXPECT_EQ(a.video_token_id, b.video_token_id);
  EXPECT_EQ(a.vision_start_token_id, b.vision_start_token_id);
  EXPECT_EQ(a.vision_end_token_id, b.vision_end_token_id);
  EXPECT_EQ(a.temperature, b.temperature);
  EXPECT_EQ(a.top_k, b.top_k);
  EXPECT_EQ(a.top_p, b.top_p);
}

TEST(Config, OfTheFullModelHasTheWidthsOfThePaper) {
  const Config config = full_config();
  EXPECT_EQ(2 * config.attention_width(), 8192);
  EXPECT_EQ(config.key_value_width(), 512);
  EXPECT_EQ(config.gdn_key_width(), 2048);
  EXPECT_EQ(config.gdn_value_width(), 4096);
  EXPECT_EQ(config.conv_channels(), 8192);
  EXPECT_EQ(config.count_layers(LayerType::kFullAttention), 10);
  EXPECT_EQ(config.count_layers(LayerType::kLinearAttention), 30);
  EXPECT_EQ(config.layer_types[3], LayerType::kFullAttention);
  EXPECT_EQ(config.layer_types[39], LayerType::kFullAttention);
  EXPECT_EQ(config.layer_types[36], LayerType::kLinearAttention);
}

/// Shapes of the published 4-bit conversion by name, from tests/golden/full_tensors.tsv.
std::map<std::string, std::vector<int64_t>> published_shapes(int64_t& bytes) {
  std::map<std::string, std::vector<int64_t>> shapes;
  std::ifstream file(testing::golden_dir() / "full_tensors.tsv");
  std::string name, dtype, shape;
  std::getline(file, name);
  while (file >> name >> dtype >> shape) {
    std::istringstream dimensions(shape);
    int64_t size_bytes = dtype == "U32" ? 4 : 2;
    for (std::string dimension; std::getline(dimensions, dimension, 'x');) {
      shapes[name].push_back(std::stoll(dimension));
      size_bytes *= shapes[name].back();
    }
    bytes += size_bytes;
  }
  return shapes;
}

TEST(Config, OfTheFullModelMatchesThePublishedTensors) {
  const Config config = full_config();
  int64_t bytes = 0;
  const auto shapes = published_shapes(bytes);
  EXPECT_EQ(shapes.size(), 2090u);
  EXPECT_EQ(bytes, 20'401'929'952);
  using Shape = std::vector<int64_t>;
  const auto layer = [&](int64_t index, const char* rest) {
    return shapes.at(fmt::format("language_model.model.layers.{}.{}", index, rest));
  };
  EXPECT_EQ(shapes.at("language_model.lm_head.weight"), (Shape{config.vocab_size, config.hidden_size / 8}));
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
    EXPECT_EQ(layer(i, "mlp.gate.weight"), (Shape{config.num_experts, config.hidden_size / 4}));
    EXPECT_EQ(layer(i, "mlp.switch_mlp.up_proj.weight"),
              (Shape{config.num_experts, config.moe_intermediate_size, config.hidden_size / 8}));
    EXPECT_EQ(layer(i, "mlp.shared_expert.down_proj.weight"),
              (Shape{config.hidden_size, config.shared_expert_intermediate_size / 8}));
    if (config.layer_types[static_cast<std::size_t>(i)] == LayerType::kFullAttention) {
      EXPECT_EQ(layer(i, "self_attn.q_proj.weight"),
                (Shape{2 * config.attention_width(), config.hidden_size / 8}));
      EXPECT_EQ(layer(i, "self_attn.k_proj.weight"),
                (Shape{config.key_value_width(), config.hidden_size / 8}));
      EXPECT_EQ(layer(i, "self_attn.o_proj.weight"),
                (Shape{config.hidden_size, config.attention_width() / 8}));
      EXPECT_EQ(layer(i, "self_attn.k_norm.weight"), (Shape{kHeadDim}));
    } else {
      EXPECT_EQ(layer(i, "linear_attn.in_proj_qkv.weight"),
                (Shape{config.conv_channels(), config.hidden_size / 8}));
      EXPECT_EQ(layer(i, "linear_attn.conv1d.weight"), (Shape{config.conv_channels(), kConvWidth, 1}));
      EXPECT_EQ(layer(i, "linear_attn.in_proj_z.weight"),
                (Shape{config.gdn_value_width(), config.hidden_size / 8}));
      EXPECT_EQ(layer(i, "linear_attn.A_log"), (Shape{config.linear_num_value_heads}));
      EXPECT_EQ(layer(i, "linear_attn.norm.weight"), (Shape{kGdnHeadDim}));
    }
  }
}

TEST(Config, OfASliceHasTheFullWidths) {
  Config slice = slice_config(7);
  EXPECT_EQ(slice.vocab_size, 4096);
  EXPECT_EQ(slice.num_hidden_layers, 7);
  EXPECT_EQ(slice.count_layers(LayerType::kFullAttention), 1);
  EXPECT_TRUE(slice.eos_token_ids.empty());
  EXPECT_EQ(slice.conv_channels(), full_config().conv_channels());
  EXPECT_EQ(slice.num_experts, 256);
}

TEST(Config, OfThePocketIsRead) {
  expect_same(read_config(testing::pocket_dir()), pocket_config());
}

TEST(Config, OfTheFullModelIsRead) {
  expect_same(parse_config(full_json(), "", "m"), full_config());
}

TEST(Config, TakesATextOnlyFile) {
  Config expected = full_config();
  expected.eos_token_ids = {248044};
  expected.image_token_id = expected.video_token_id = std::nullopt;
  expected.vision_start_token_id = expected.vision_end_token_id = std::nullopt;
  expect_same(parse_config(fmt::format("{{{}}}", kText), "", "m"), expected);
  expect_same(
      parse_config(fmt::format("{{{}}}", replaced(kText, "qwen3_5_moe_text", "qwen3_5_moe")), "", "m"),
      expected);
}

TEST(Config, TakesFewerLayersAndASmallVocabulary) {
  const Config cut = with(R"("num_hidden_layers":40)", R"("num_hidden_layers":6)");
  EXPECT_EQ(cut.family, Family::kFull);
  EXPECT_EQ(cut.layer_types.size(), 6u);
  std::string slice = replaced(full_json(), R"("vocab_size":248320)", R"("vocab_size":4096)");
  slice = replaced(slice, R"("eos_token_id":[248046,248044])", R"("eos_token_id":[])");
  slice = replaced(slice, R"("eos_token_id":248044)", R"("eos_token_id":null)");
  for (const char* id : {"248056", "248057", "248053", "248054"})
    slice = replaced(slice, id, "null");
  EXPECT_EQ(parse_config(slice, "", "m").family, Family::kSlice);
}

TEST(Config, TakesTheFieldsThatHaveADefaultAsAbsent) {
  for (const char* field :
       {R"("full_attention_interval":4,)", R"("attn_output_gate":true,)", R"("attention_bias":false,)",
        R"("hidden_act":"silu",)", R"("partial_rotary_factor":0.25,)", R"("rope_type":"default",)",
        R"("mrope_section":[11,11,10],)", R"("mode":"affine",)"}) {
    EXPECT_EQ(fault_with(field, ""), "") << field;
  }
  EXPECT_EQ(fault_with(R"("head_dim":256)", R"("head_dim":256,"norm_topk_prob":true,"mlp_only_layers":[])"),
            "");
  EXPECT_EQ(fault_with(R"("rope_parameters":{"rope_theta":10000000,"rope_type":"default")",
                       R"("rope_theta":1e7,"other":{"a":0)"),
            "");
}

TEST(Config, NamesEveryFieldOfAnotherModel) {
  // The numbers of the dense Qwen3.6-27B.
  std::string text = replaced(full_json(), "\"qwen3_5_moe\"", "\"qwen3_5\"");
  text = replaced(text, "qwen3_5_moe_text", "qwen3_5_text");
  text = replaced(text, R"("hidden_size":2048)", R"("hidden_size":5120)");
  text = replaced(text, R"("num_experts":256,)", "");
  text = replaced(text, R"("num_hidden_layers":40)", R"("num_hidden_layers":64)");
  const std::string fault = fault_of([&] { parse_config(text, "", "m"); });
  EXPECT_EQ(fault.find("m/config.json: this is not Qwen3.6-35B-A3B: model_type is \"qwen3_5\", expected "
                       "\"qwen3_5_moe\"; "),
            0u)
      << fault;
  EXPECT_SAYS(fault, "text_config.model_type is \"qwen3_5_text\", expected \"qwen3_5_moe_text\"; ");
  EXPECT_SAYS(fault, "text_config.hidden_size is 5120, expected 2048; ");
  EXPECT_SAYS(fault, "text_config.num_experts absent, expected 256");
  EXPECT_SAYS(fault, "text_config.num_hidden_layers is 64, expected 1 to 40");
  EXPECT_SAYS(fault, "mlx-community/Qwen3.6-35B-A3B-4bit");
}

TEST(Config, NamesEachFieldThatDiffers) {
  const struct {
    const char *from, *to, *says;
  } kCases[] = {
      {R"("hidden_size":2048)", R"("hidden_size":"2048")", "hidden_size is \"2048\", expected 2048"},
      {R"("vocab_size":248320)", R"("vocab_size":151936)", "vocab_size is 151936, expected 248320"},
      {R"("num_experts":256)", R"("num_experts":128)", "num_experts is 128, expected 256"},
      {R"("num_experts_per_tok":8)", R"("num_experts_per_tok":10)", "num_experts_per_tok is 10, expected 8"},
      {R"("head_dim":256)", R"("head_dim":128)", "head_dim is 128, expected 256"},
      {R"("head_dim":256,)", "", "head_dim absent, expected 256"},
      {R"("attn_output_gate":true)", R"("attn_output_gate":false)",
       "attn_output_gate is false, expected true"},
      {R"("head_dim":256)", R"("head_dim":256,"norm_topk_prob":false)",
       "norm_topk_prob is false, expected true"},
      {R"("head_dim":256)", R"("head_dim":256,"mlp_only_layers":[0])", "mlp_only_layers is [0], expected []"},
      {R"("tie_word_embeddings":false)", R"("tie_word_embeddings":true)",
       "tie_word_embeddings is true, expected false"},
      {R"("hidden_act":"silu")", R"("hidden_act":"gelu")", "hidden_act is \"gelu\", expected \"silu\""},
      {R"("rms_norm_eps":1e-06)", R"("rms_norm_eps":1e-05)", "rms_norm_eps is 1e-05, expected 1e-06"},
      {R"("rope_theta":10000000)", R"("rope_theta":10000)",
       "rope_parameters.rope_theta is 10000, expected 10000000"},
      {R"("rope_type":"default")", R"("rope_type":"yarn")",
       "rope_parameters.rope_type is \"yarn\", expected \"default\""},
      {"[11,11,10]", "[16,8,8]", "rope_parameters.mrope_section is [16, 8, 8], expected [11, 11, 10]"},
      {R"("max_position_embeddings":262144)", R"("max_position_embeddings":1010000)",
       "max_position_embeddings is 1010000, expected 1 to 262144"},
      {R"("num_hidden_layers":40)", R"("num_hidden_layers":0)", "num_hidden_layers is 0, expected 1 to 40"},
      {R"("num_hidden_layers":40)",
       R"("num_hidden_layers":2,"layer_types":["linear_attention","full_attention"])",
       "layer_types[1] is \"full_attention\", expected \"linear_attention\""},
      {R"("num_hidden_layers":40)", R"("num_hidden_layers":2,"layer_types":[])",
       "layer_types is [], expected a list of 2"},
      {R"("image_token_id":248056)", R"("image_token_id":248320)",
       "image_token_id is 248320, expected an id from 0 to 248319"},
      {"[248046,248044]", R"([248046,"x"])", "eos_token_id is \"x\", expected an id"},
      {R"("group_size":64)", R"("group_size":32)", "quantization.group_size is 32, expected 64"},
      {R"("group_size":64)", R"("group_size":null)", "quantization.group_size absent, expected 64"},
      {R"("mode":"affine")", R"("mode":"mxfp4")", "quantization.mode is \"mxfp4\", expected \"affine\""},
      {R"({"group_size":64,"bits":8})", R"({"group_size":128,"mode":"nvfp4"})",
       "quantization.\"language_model.model.layers.0.mlp.gate\".group_size is 128, expected 64"},
      {R"("quantization":{)", R"("quantization_config":{"quant_method":"fp8",)",
       "quantization_config.quant_method is \"fp8\", expected MLX's affine quantization"},
      {R"("text_config":{)", R"("text_config":7,"x":{)", "text_config is 7, expected an object"},
  };
  for (const auto& test : kCases)
    EXPECT_SAYS(fault_with(test.from, test.to), test.says);
}

TEST(Config, NamesWhatDiffersFromThePocket) {
  const std::string text = testing::read_file(testing::pocket_dir() / "config.json");
  const std::string fault = fault_of(
      [&] { parse_config(replaced(text, R"("num_experts": 32)", R"("num_experts": 64)"), "", "m"); });
  EXPECT_SAYS(fault, "this is not the pocket model: text_config.num_experts is 64, expected 32");
}

TEST(Config, RefusesFilesThatArentJsonObjects) {
  EXPECT_SAYS(fault_of([] { parse_config("", "", "m"); }), "m/config.json: not valid JSON");
  EXPECT_SAYS(fault_of([] { parse_config("[]", "", "m"); }), "m/config.json: expected a JSON object");
  EXPECT_SAYS(fault_of([] { parse_config(full_json(), "[", "m"); }),
              "m/generation_config.json: not valid JSON");
  EXPECT_SAYS(fault_of([] { read_config("/nonexistent"); }), "no such file or folder");
  const testing::TemporaryDirectory folder;
  testing::write_file(folder.path() / "config.json", "");
  EXPECT_SAYS(fault_of([&] { read_config(folder.path()); }), "config.json: is empty");
}

TEST(Config, UnitesTheEndIdsOfAllFiles) {
  const std::string only_text =
      replaced(full_json(), R"("eos_token_id":[248046,248044])", R"("eos_token_id":248045)");
  EXPECT_EQ(parse_config(only_text, R"({"eos_token_id":[248046,248044]})", "m").eos_token_ids,
            (std::vector<int32_t>{248045, 248044, 248046}));
}

TEST(Config, TakesSamplingDefaultsFromGenerationConfig) {
  const Config config =
      parse_config(full_json(), R"({"temperature":0.6,"top_k":40,"top_p":0.8,"do_sample":true})", "m");
  EXPECT_EQ(config.temperature, 0.6);
  EXPECT_EQ(config.top_k, 40);
  EXPECT_EQ(config.top_p, 0.8);
  EXPECT_EQ(parse_config(full_json(), R"({"do_sample":false})", "m").temperature, 0);
  const std::string fault =
      fault_of([] { parse_config(full_json(), R"({"temperature":-1,"top_k":1.5,"top_p":"x"})", "m"); });
  EXPECT_SAYS(
      fault,
      "m/generation_config.json: temperature is -1, expected 0 to 100; top_k is 1.5, expected 0 or more; "
      "top_p is \"x\", expected 0 to 1");
}

/// The pocket's added tokens by content, the ones in `changes` changed or (as nothing) removed.
std::function<std::optional<int32_t>(std::string_view)> tokens(
    std::map<std::string, std::optional<int32_t>, std::less<>> changes = {}) {
  std::map<std::string, std::optional<int32_t>, std::less<>> all = {
      {"<|im_start|>", 3163},   {"<|im_end|>", 3164},    {"<|endoftext|>", 3162},
      {"<think>", 3186},        {"</think>", 3187},      {"<|vision_start|>", 3171},
      {"<|vision_end|>", 3172}, {"<|image_pad|>", 3174}, {"<|video_pad|>", 3175}};
  for (const auto& [content, id] : changes)
    all[content] = id;
  return [all](std::string_view content) {
    const auto found = all.find(content);
    return found == all.end() ? std::nullopt : found->second;
  };
}

TEST(TokenizerFit, OfThePocketFitsThePocket) {
  EXPECT_EQ(fault_of([] { check_tokenizer_fits(pocket_config(), 3188, tokens(), "m"); }), "");
}

TEST(TokenizerFit, OfAnotherModelIsRefusedNamingEachMismatch) {
  const auto other = tokens(
      {{"<|im_end|>", 151645}, {"<think>", std::nullopt}, {"<|image_pad|>", 9}, {"<|video_pad|>", {}}});
  const std::string fault = fault_of([&] { check_tokenizer_fits(pocket_config(), 151669, other, "m"); });
  EXPECT_SAYS(fault, "m/tokenizer.json: the tokenizer doesn't fit the model: ");
  EXPECT_SAYS(fault, "its ids reach 151668, expected at most 4095 (vocab_size 4096)");
  EXPECT_SAYS(fault, "added token <think> is absent");
  EXPECT_SAYS(fault, "its id of <|im_end|> is 151645, expected one of the model's eos_token_id [3164, 3162]");
  EXPECT_SAYS(fault, "its id of <|image_pad|> is 9, expected 3174 (config.json's image_token_id)");
  EXPECT_SAYS(fault, "its id of <|video_pad|> is absent, expected 3175 (config.json's video_token_id)");
}

TEST(TokenizerFit, NeedsNoVisionTokensWhenTheConfigStatesNone) {
  Config config = pocket_config();
  config.image_token_id = config.video_token_id = std::nullopt;
  config.vision_start_token_id = config.vision_end_token_id = std::nullopt;
  const auto text_only = tokens({{"<|image_pad|>", {}}, {"<|video_pad|>", {}}, {"<|vision_start|>", {}}});
  EXPECT_EQ(fault_of([&] { check_tokenizer_fits(config, 3188, text_only, "m"); }), "");
}

}  // namespace
}  // namespace lirio
