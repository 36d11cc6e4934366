// Config: the validated shape of one checkpoint, with the ids and sampling defaults its JSON files state.
// Read once at start by whoever opens a model; the plan, the backends and `lirio synth` work from it. A plain
// value: thread-safe once made. Sizes that never change are in model/shapes.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/shapes.h"

namespace lirio {

enum class LayerType : uint8_t { kLinearAttention, kFullAttention };

/// The instances that lirio runs (decision D8).
enum class Family : uint8_t {
  kFull,    ///< Qwen3.6-35B-A3B and Qwen3.5-35B-A3B; fewer layers when synthetic
  kSlice,   ///< full widths and experts, few layers, 4,096 vocabulary rows, random weights
  kPocket,  ///< the trained test model of models/pocket
};

/// "Qwen3.6-35B-A3B", "a slice of Qwen3.6-35B-A3B", "the pocket model".
const char* family_name(Family family);

/// Field names follow the Hugging Face config.json. Counts and widths are in elements.
struct Config {
  Family family = Family::kFull;
  int64_t hidden_size = 0;
  int64_t num_hidden_layers = 0;
  std::vector<LayerType> layer_types;  ///< one per layer
  int64_t num_attention_heads = 0;
  int64_t num_key_value_heads = 0;
  int64_t linear_num_key_heads = 0;
  int64_t linear_num_value_heads = 0;
  int64_t num_experts = 0;
  int64_t moe_intermediate_size = 0;
  int64_t shared_expert_intermediate_size = 0;
  int64_t vocab_size = 0;  ///< rows of the embedding and of lm_head; the tokenizer uses fewer
  int64_t max_position_embeddings = 0;
  double rope_theta = 0;
  double rms_norm_eps = 0;

  /// Ids that end a turn: the union of what config.json and generation_config.json state, first seen first.
  /// Stop on each.
  std::vector<int32_t> eos_token_ids;
  // Nothing when config.json doesn't state them (text-only conversions).
  std::optional<int32_t> image_token_id;
  std::optional<int32_t> video_token_id;
  std::optional<int32_t> vision_start_token_id;
  std::optional<int32_t> vision_end_token_id;

  // Sampling defaults of generation_config.json; 0 as temperature is greedy (also what do_sample false
  // means).
  double temperature = 1.0;
  int64_t top_k = 20;
  double top_p = 0.95;

  /// Width of all query heads, and of attention's output before o_proj. q_proj has twice as many rows (query,
  /// gate).
  int64_t attention_width() const { return num_attention_heads * kHeadDim; }
  /// Width of all key heads, and of all value heads, of full attention.
  int64_t key_value_width() const { return num_key_value_heads * kHeadDim; }
  /// Width of all Gated DeltaNet key heads (query heads are as many).
  int64_t gdn_key_width() const { return linear_num_key_heads * kGdnHeadDim; }
  /// Width of all Gated DeltaNet value heads.
  int64_t gdn_value_width() const { return linear_num_value_heads * kGdnHeadDim; }
  /// Channels of the convolution: queries, keys, values.
  int64_t conv_channels() const { return 2 * gdn_key_width() + gdn_value_width(); }
  /// How many layers are of `type`.
  int64_t count_layers(LayerType type) const;
};

/// Qwen3.6-35B-A3B, ids and sampling defaults included; `layers` is 1 to 40.
Config full_config(int layers = 40);
/// The full widths with 4,096 vocabulary rows and `layers` (1 to 40) layers. States no ids.
Config slice_config(int layers = 4);
/// models/pocket, ids included.
Config pocket_config();

/// Reads and validates config.json and, when there, generation_config.json of `directory`. Throws Error when
/// they are absent or unreadable, or when any field differs from what its family requires; the error lists
/// every such field.
Config read_config(const std::filesystem::path& directory);

/// read_config() on the files' text; `generation_json` is empty when there is no such file. `directory` names
/// the files in errors.
Config parse_config(std::string_view config_json, std::string_view generation_json,
                    const std::filesystem::path& directory);

/// Throws Error, listing every mismatch, when the tokenizer isn't this model's: its ids reach past
/// vocab_size, a token that the chat format needs is missing, or the ids that the config states are other
/// tokens. `vocabulary_end` is one more than the tokenizer's largest id; `added_token` gives an added token's
/// id by its content; `directory` names tokenizer.json in the error.
void check_tokenizer_fits(const Config& config, int32_t vocabulary_end,
                          const std::function<std::optional<int32_t>(std::string_view)>& added_token,
                          const std::filesystem::path& directory);

}  // namespace lirio
