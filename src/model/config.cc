#include "model/config.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "weights/checkpoint.h"
#include "weights/faults.h"

namespace lirio {
namespace {

constexpr int64_t kMaxLayers = 40;
constexpr const char* kModelHint =
    "lirio runs Qwen3.6-35B-A3B and Qwen3.5-35B-A3B; get mlx-community/Qwen3.6-35B-A3B-4bit.";

/// A whole number that config.json must state, equal to the family's.
struct SizeField {
  const char* key;
  int64_t Config::*field;
};
constexpr SizeField kSizeFields[] = {
    {"hidden_size", &Config::hidden_size},
    {"num_attention_heads", &Config::num_attention_heads},
    {"num_key_value_heads", &Config::num_key_value_heads},
    {"num_experts", &Config::num_experts},
    {"moe_intermediate_size", &Config::moe_intermediate_size},
    {"shared_expert_intermediate_size", &Config::shared_expert_intermediate_size},
    {"linear_num_key_heads", &Config::linear_num_key_heads},
    {"linear_num_value_heads", &Config::linear_num_value_heads},
    {"vocab_size", &Config::vocab_size},
};

/// A whole number that kernels are compiled for.
struct ConstantField {
  const char* key;
  int64_t value;
  bool required;
};
constexpr ConstantField kConstantFields[] = {
    {"head_dim", kHeadDim, true},
    {"num_experts_per_tok", kTopK, true},
    {"linear_key_head_dim", kGdnHeadDim, true},
    {"linear_value_head_dim", kGdnHeadDim, true},
    {"linear_conv_kernel_dim", kConvWidth, true},
    {"full_attention_interval", kFullAttentionInterval, false},
    {"decoder_sparse_step", 1, false},
};

/// A switch whose other position is another model; files that leave it out mean this one.
struct SwitchField {
  const char* key;
  bool value;
};
constexpr SwitchField kSwitchFields[] = {{"attn_output_gate", true},
                                         {"attention_bias", false},
                                         {"norm_topk_prob", true},
                                         {"tie_word_embeddings", false}};

std::vector<LayerType> layer_pattern(int64_t layers) {
  std::vector<LayerType> types(static_cast<std::size_t>(layers), LayerType::kLinearAttention);
  for (std::size_t i = kFullAttentionInterval - 1; i < types.size(); i += kFullAttentionInterval) {
    types[i] = LayerType::kFullAttention;
  }
  return types;
}

const char* layer_type_name(LayerType type) {
  return type == LayerType::kFullAttention ? "full_attention" : "linear_attention";
}

/// A JSON value in a few words.
std::string describe(json::Element element) {
  switch (element.type()) {
    case simdjson::dom::element_type::INT64:
      return std::to_string(element.get_int64().value_unsafe());
    case simdjson::dom::element_type::UINT64:
      return std::to_string(element.get_uint64().value_unsafe());
    case simdjson::dom::element_type::DOUBLE:
      return fmt::format("{}", element.get_double().value_unsafe());
    case simdjson::dom::element_type::STRING:
      return quote(element.get_string().value_unsafe());
    case simdjson::dom::element_type::BOOL:
      return element.get_bool().value_unsafe() ? "true" : "false";
    case simdjson::dom::element_type::NULL_VALUE:
      return "null";
    case simdjson::dom::element_type::OBJECT:
      return "an object";
    case simdjson::dom::element_type::ARRAY:
      break;
  }
  const json::Array array = element.get_array().value_unsafe();
  if (array.size() > 8) return fmt::format("a list of {}", array.size());
  std::string text = "[";
  for (const json::Element item : array) {
    if (text.size() > 1) text += ", ";
    text += item.is_array() ? "a list" : describe(item);
  }
  return text + "]";
}

template <typename T>
bool equals(json::Element element, const T& expected) {
  T value;
  return element.get(value) == simdjson::SUCCESS && value == expected;
}

/// Compares members of one JSON object with what the model requires, adding each difference to the faults.
class Comparison {
 public:
  Comparison(json::Object object, std::string prefix, Faults& faults)
      : object_(object), prefix_(std::move(prefix)), faults_(faults) {}

  std::optional<json::Element> find(std::string_view key) const { return json::find(object_, key); }

  /// The member `key` must be `expected`; absent, it must not be `required`.
  template <typename T>
  void expect(std::string_view key, const T& expected, bool required) const {
    const std::optional<json::Element> element = find(key);
    if (element ? !equals(*element, expected) : required) differs(key, fmt::format("{}", expected));
  }

  void expect_string(std::string_view key, std::string_view expected, bool required) const {
    const std::optional<json::Element> element = find(key);
    if (element ? !equals(*element, expected) : required) differs(key, quote(expected));
  }

  void fault(const std::string& text) const { faults_.add(prefix_ + text); }

  void differs(std::string_view key, const std::string& expected) const {
    const std::optional<json::Element> element = find(key);
    faults_.add(fmt::format("{}{} {}, expected {}", prefix_, key,
                            element ? "is " + describe(*element) : "absent", expected));
  }

 private:
  json::Object object_;
  std::string prefix_;
  Faults& faults_;
};

/// The instance that config.json means to be, judged by two fields; the rest is then compared with it.
Family guess_family(const Comparison& text) {
  const auto is = [&](const char* key, int64_t value) {
    const auto element = text.find(key);
    return element && equals(*element, value);
  };
  if (is("hidden_size", pocket_config().hidden_size)) return Family::kPocket;
  const bool slice =
      is("hidden_size", slice_config().hidden_size) && is("vocab_size", slice_config().vocab_size);
  return slice ? Family::kSlice : Family::kFull;
}

/// The family's instance without what files state, to be filled from them.
Config blank_config(Family family) {
  Config config = family == Family::kPocket  ? pocket_config()
                  : family == Family::kSlice ? slice_config()
                                             : full_config();
  config.eos_token_ids.clear();
  config.image_token_id.reset();
  config.video_token_id.reset();
  config.vision_start_token_id.reset();
  config.vision_end_token_id.reset();
  return config;
}

void read_layers(const Comparison& text, Config& config) {
  const bool fixed = config.family == Family::kPocket;
  int64_t layers = 0;
  const auto element = text.find("num_hidden_layers");
  const bool valid = element && element->get(layers) == simdjson::SUCCESS && layers >= 1 &&
                     layers <= kMaxLayers && (!fixed || layers == config.num_hidden_layers);
  if (!valid) {
    text.differs("num_hidden_layers",
                 fixed ? std::to_string(config.num_hidden_layers) : fmt::format("1 to {}", kMaxLayers));
    return;
  }
  config.num_hidden_layers = layers;
  config.layer_types = layer_pattern(layers);
  const auto types = text.find("layer_types");
  if (!types) return;
  json::Array array;
  if (types->get(array) != simdjson::SUCCESS || array.size() != config.layer_types.size()) {
    text.differs("layer_types", fmt::format("a list of {}", layers));
    return;
  }
  std::size_t i = 0;
  for (const json::Element type : array) {
    const std::string_view expected = layer_type_name(config.layer_types[i]);
    if (!equals(type, expected)) {
      text.fault(fmt::format("layer_types[{}] is {}, expected {}", i, describe(type), quote(expected)));
      return;
    }
    ++i;
  }
}

void read_positions(const Comparison& text, Config& config, Faults& faults) {
  int64_t positions = 0;
  const auto element = text.find("max_position_embeddings");
  if (element && element->get(positions) == simdjson::SUCCESS && positions >= 1 &&
      positions <= config.max_position_embeddings) {
    config.max_position_embeddings = positions;
  } else {
    text.differs("max_position_embeddings", fmt::format("1 to {}", config.max_position_embeddings));
  }
  // transformers nests RoPE's fields in rope_parameters, older exports keep them beside the others.
  const auto nested = text.find("rope_parameters");
  json::Object object;
  if (nested && nested->get(object) != simdjson::SUCCESS) {
    text.differs("rope_parameters", "an object");
    return;
  }
  const Comparison rope = nested ? Comparison(object, "rope_parameters.", faults) : text;
  rope.expect("rope_theta", config.rope_theta, true);
  rope.expect_string("rope_type", "default", false);
  rope.expect("mrope_interleaved", true, false);
  const double rotary_factor = static_cast<double>(kRotaryDim) / kHeadDim;
  rope.expect("partial_rotary_factor", rotary_factor, false);
  text.expect("partial_rotary_factor", rotary_factor, false);
  if (const auto sections = rope.find("mrope_section"); sections && describe(*sections) != "[11, 11, 10]") {
    rope.differs("mrope_section", "[11, 11, 10]");
  }
  if (const auto scaling = text.find("rope_scaling"); scaling && scaling->get(object) == simdjson::SUCCESS) {
    const Comparison scaled(object, "rope_scaling.", faults);
    for (const char* key : {"type", "rope_type"}) {
      // mlx-lm repeats rope_parameters here; only another way of scaling is a difference.
      if (const auto type = scaled.find(key); type && !equals(*type, std::string_view("mrope"))) {
        scaled.expect_string(key, "default", false);
      }
    }
  }
}

void read_text_fields(const Comparison& text, Config& config, Faults& faults) {
  for (const SizeField& size : kSizeFields)
    text.expect(size.key, config.*size.field, true);
  for (const ConstantField& constant : kConstantFields)
    text.expect(constant.key, constant.value, constant.required);
  for (const SwitchField& item : kSwitchFields)
    text.expect(item.key, item.value, false);
  text.expect_string("hidden_act", "silu", false);
  text.expect("rms_norm_eps", config.rms_norm_eps, true);
  if (const auto dense = text.find("mlp_only_layers"); dense && describe(*dense) != "[]") {
    text.differs("mlp_only_layers", "[]");
  }
  read_layers(text, config);
  read_positions(text, config, faults);
}

/// MLX's quantization section. Bits are left to the tensors; group size and mode can't be read off them
/// safely.
void check_quantization(const Comparison& root, Faults& faults) {
  const char* const key = root.find("quantization") ? "quantization" : "quantization_config";
  const auto section = root.find(key);
  if (!section) return;
  json::Object object;
  if (section->get(object) != simdjson::SUCCESS) {
    root.differs(key, "an object");
    return;
  }
  const Comparison defaults(object, std::string(key) + ".", faults);
  if (defaults.find("quant_method")) {
    defaults.differs("quant_method", "MLX's affine quantization");
    return;
  }
  defaults.expect<int64_t>("group_size", kQuantGroup, true);
  defaults.expect_string("mode", "affine", false);
  for (const auto [module, value] : object) {
    json::Object override_object;
    if (part_of(module) == ModelPart::kVision || value.get(override_object) != simdjson::SUCCESS) continue;
    const Comparison module_override(override_object, fmt::format("{}.{}.", key, quote(module)), faults);
    module_override.expect<int64_t>("group_size", kQuantGroup, false);
    module_override.expect_string("mode", "affine", false);
  }
}

/// A token id, or nothing with a fault added.
std::optional<int32_t> read_id(json::Element element, const std::string& what, int64_t vocab_size,
                               Faults& faults) {
  int64_t id = 0;
  if (element.get(id) == simdjson::SUCCESS && id >= 0 && id < vocab_size) return static_cast<int32_t>(id);
  faults.add(fmt::format("{} is {}, expected an id from 0 to {}", what, describe(element), vocab_size - 1));
  return std::nullopt;
}

/// Adds the ids of the member eos_token_id (one or a list) that aren't there yet.
void read_eos_ids(const Comparison& object, const std::string& what, Config& config, Faults& faults) {
  const auto element = object.find("eos_token_id");
  if (!element) return;
  const auto add = [&](json::Element item) {
    const std::optional<int32_t> id = read_id(item, what, config.vocab_size, faults);
    auto& ids = config.eos_token_ids;
    if (id && std::find(ids.begin(), ids.end(), *id) == ids.end()) ids.push_back(*id);
  };
  json::Array array;
  if (element->get(array) != simdjson::SUCCESS) {
    add(*element);
    return;
  }
  for (const json::Element item : array)
    add(item);
}

void read_special_ids(const Comparison& root, Config& config, Faults& faults) {
  const struct {
    const char* key;
    std::optional<int32_t> Config::*field;
  } kIds[] = {{"image_token_id", &Config::image_token_id},
              {"video_token_id", &Config::video_token_id},
              {"vision_start_token_id", &Config::vision_start_token_id},
              {"vision_end_token_id", &Config::vision_end_token_id}};
  for (const auto& id : kIds) {
    if (const auto element = root.find(id.key))
      config.*id.field = read_id(*element, id.key, config.vocab_size, faults);
  }
}

void read_generation(std::string_view text, const std::string& source, Config& config) {
  const json::Document document(text, source);
  Faults faults;
  const Comparison root(document.root_object(), "", faults);
  read_eos_ids(root, "eos_token_id", config, faults);
  const auto number = [&](const char* key, auto& value, double low, double high, const char* expected) {
    const auto element = root.find(key);
    if (!element) return;
    auto read = value;
    if (element->get(read) != simdjson::SUCCESS || !(read >= low && read <= high)) {
      root.differs(key, expected);
    } else {
      value = read;
    }
  };
  number("temperature", config.temperature, 0, 100, "0 to 100");
  number("top_k", config.top_k, 0, std::numeric_limits<int32_t>::max(), "0 or more");
  number("top_p", config.top_p, 0, 1, "0 to 1");
  if (const auto sample = root.find("do_sample"); sample && equals(*sample, false)) config.temperature = 0;
  faults.throw_if_any(source, "Correct the file, or fetch it again.");
}

}  // namespace

const char* family_name(Family family) {
  switch (family) {
    case Family::kFull:
      return "Qwen3.6-35B-A3B";
    case Family::kSlice:
      return "a slice of Qwen3.6-35B-A3B";
    case Family::kPocket:
      return "the pocket model";
  }
  return "";
}

int64_t Config::count_layers(LayerType type) const {
  return std::count(layer_types.begin(), layer_types.end(), type);
}

Config full_config(int layers) {
  CHECK(layers >= 1 && layers <= kMaxLayers);
  Config config;
  config.family = Family::kFull;
  config.hidden_size = 2048;
  config.num_hidden_layers = layers;
  config.layer_types = layer_pattern(layers);
  config.num_attention_heads = 16;
  config.num_key_value_heads = 2;
  config.linear_num_key_heads = 16;
  config.linear_num_value_heads = 32;
  config.num_experts = 256;
  config.moe_intermediate_size = 512;
  config.shared_expert_intermediate_size = 512;
  config.vocab_size = 248320;
  config.max_position_embeddings = 262144;
  config.rope_theta = 1e7;
  config.rms_norm_eps = 1e-6;
  config.eos_token_ids = {248046, 248044};
  config.image_token_id = 248056;
  config.video_token_id = 248057;
  config.vision_start_token_id = 248053;
  config.vision_end_token_id = 248054;
  return config;
}

Config slice_config(int layers) {
  Config config = full_config(layers);
  config.family = Family::kSlice;
  config.vocab_size = 4096;
  config.eos_token_ids.clear();
  config.image_token_id.reset();
  config.video_token_id.reset();
  config.vision_start_token_id.reset();
  config.vision_end_token_id.reset();
  return config;
}

Config pocket_config() {
  Config config = full_config(8);
  config.family = Family::kPocket;
  config.hidden_size = 256;
  config.linear_num_key_heads = 4;
  config.linear_num_value_heads = 8;
  config.num_experts = 32;
  config.moe_intermediate_size = 64;
  config.shared_expert_intermediate_size = 64;
  config.vocab_size = 4096;
  config.max_position_embeddings = 8192;
  config.eos_token_ids = {3164, 3162};
  config.image_token_id = 3174;
  config.video_token_id = 3175;
  config.vision_start_token_id = 3171;
  config.vision_end_token_id = 3172;
  return config;
}

Config parse_config(std::string_view config_json, std::string_view generation_json,
                    const std::filesystem::path& directory) {
  const json::Document document(config_json, (directory / "config.json").string());
  Faults faults;
  const json::Object root_object = document.root_object();
  const Comparison root(root_object, "", faults);
  json::Object text_object = root_object;
  const auto nested = root.find("text_config");
  const bool has_text = nested && nested->get(text_object) == simdjson::SUCCESS;
  const Comparison text(text_object, has_text ? "text_config." : "", faults);
  if (nested && !has_text) root.differs("text_config", "an object");

  // A text-only export keeps the text model's fields, and often its type, at the top.
  const auto type = root.find("model_type");
  const bool text_type = !has_text && type && equals(*type, std::string_view("qwen3_5_moe_text"));
  if (!text_type) root.expect_string("model_type", "qwen3_5_moe", true);
  if (has_text) text.expect_string("model_type", "qwen3_5_moe_text", false);

  Config config = blank_config(guess_family(text));
  read_text_fields(text, config, faults);
  if (has_text) root.expect("tie_word_embeddings", false, false);
  check_quantization(root, faults);
  read_special_ids(root, config, faults);
  read_eos_ids(root, "eos_token_id", config, faults);
  if (has_text) read_eos_ids(text, "text_config.eos_token_id", config, faults);
  faults.throw_if_any(fmt::format("{}: this is not {}", document.source(), family_name(config.family)),
                      kModelHint);

  if (!generation_json.empty()) {
    read_generation(generation_json, (directory / "generation_config.json").string(), config);
  }
  return config;
}

Config read_config(const std::filesystem::path& directory) {
  check_model_directory(directory);
  const auto text = [](const MappedFile& file) {
    return std::string_view(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  };
  check_not_empty(directory / "config.json");
  const MappedFile config(directory / "config.json");
  const std::filesystem::path generation_path = directory / "generation_config.json";
  std::error_code ignored;
  if (!std::filesystem::exists(generation_path, ignored)) return parse_config(text(config), {}, directory);
  check_not_empty(generation_path);
  const MappedFile generation(generation_path);
  return parse_config(text(config), text(generation), directory);
}

void check_tokenizer_fits(const Config& config, int32_t vocabulary_end,
                          const std::function<std::optional<int32_t>(std::string_view)>& added_token,
                          const std::filesystem::path& directory) {
  Faults faults;
  if (vocabulary_end > config.vocab_size) {
    faults.add(fmt::format("its ids reach {}, expected at most {} (vocab_size {})", vocabulary_end - 1,
                           config.vocab_size - 1, config.vocab_size));
  }
  for (const char* token : {"<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>", "</think>"}) {
    if (!added_token(token)) faults.add(fmt::format("added token {} is absent", token));
  }
  const std::vector<int32_t>& eos = config.eos_token_ids;
  for (const char* token : {"<|im_end|>", "<|endoftext|>"}) {
    const std::optional<int32_t> id = added_token(token);
    if (!id || std::find(eos.begin(), eos.end(), *id) != eos.end()) continue;
    const std::vector<int64_t> listed(eos.begin(), eos.end());
    faults.add(fmt::format("its id of {} is {}, expected one of the model's eos_token_id {}", token, *id,
                           shape_text(listed)));
  }
  const struct {
    const char* key;
    const std::optional<int32_t>& id;
    const char* token;
  } kStated[] = {{"image_token_id", config.image_token_id, "<|image_pad|>"},
                 {"video_token_id", config.video_token_id, "<|video_pad|>"},
                 {"vision_start_token_id", config.vision_start_token_id, "<|vision_start|>"},
                 {"vision_end_token_id", config.vision_end_token_id, "<|vision_end|>"}};
  for (const auto& stated : kStated) {
    if (!stated.id) continue;
    const std::optional<int32_t> id = added_token(stated.token);
    if (id == stated.id) continue;
    faults.add(fmt::format("its id of {} is {}, expected {} (config.json's {})", stated.token,
                           id ? std::to_string(*id) : "absent", *stated.id, stated.key));
  }
  faults.throw_if_any(
      fmt::format("{}: the tokenizer doesn't fit the model", (directory / "tokenizer.json").string()),
      "Fetch config.json, generation_config.json and tokenizer.json from the model's own repository.");
}

}  // namespace lirio
