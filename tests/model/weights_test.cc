// Binding a plan to a checkpoint: every tensor that is absent or of another shape is named, all in one error.
#include <gtest/gtest.h>

#include "base/error.h"
#include "model/weights.h"
#include "support/paths.h"
#include "support/pocket.h"
#include "support/reshard.h"

namespace lirio {
namespace {

using namespace testing;

std::string binding_error(const Plan& plan, const Checkpoint& checkpoint) {
  try {
    bind_weights(plan, checkpoint);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Weights, OfLayersThatTheCheckpointLacksAreNamed) {
  Config config = pocket().config();
  config.num_hidden_layers = 9;
  config.layer_types.push_back(LayerType::kLinearAttention);
  const std::string error = binding_error(build_plan(config, 3188), pocket().checkpoint());
  EXPECT_NE(error.find("language_model.model.layers.8."), std::string::npos) << error;
}

TEST(Weights, OfAnotherShapeAreNamedWithExpectedAndFound) {
  Config config = pocket().config();
  config.moe_intermediate_size = 128;
  const std::string error = binding_error(build_plan(config, 3188), pocket().checkpoint());
  EXPECT_NE(error.find("layers.0.mlp.switch_mlp.gate_proj"), std::string::npos) << error;
  EXPECT_NE(error.find("[32, 128, 32]"), std::string::npos) << error;
  EXPECT_NE(error.find("[32, 64, 32]"), std::string::npos) << error;
}

TEST(Weights, AreTheCheckpointsOwnBytes) {
  const auto& files = pocket().checkpoint();
  for (size_t i = 0; i < pocket().weights().matrices.size(); ++i) {
    const std::string name = checkpoint_name(pocket().plan().matrices[i].module);
    ASSERT_EQ(pocket().weights().matrices[i].codes, files.find(name + ".weight")->bytes.data()) << name;
  }
}

TEST(Weights, ATokenReadsTheActiveExpertsAndTheHeadButNotTheEmbedding) {
  const Config& c = pocket().config();
  const int64_t bits4 = 36, bits8 = 68;  // eighths of a byte a weight, scale and bias included
  const int64_t gdn =
      c.hidden_size * (c.conv_channels() + c.gdn_value_width() * 2 + 2 * c.linear_num_value_heads);
  const int64_t attention = c.hidden_size * (3 * c.attention_width() + 2 * c.key_value_width());
  const int64_t experts =
      3 * c.hidden_size * (kTopK * c.moe_intermediate_size + c.shared_expert_intermediate_size);
  const int64_t steering = c.hidden_size * (c.num_experts + 1);
  const int64_t four_bit = 6 * gdn + 2 * attention + 8 * experts + c.hidden_size * c.vocab_size;
  EXPECT_EQ(bytes_per_token(pocket().plan(), pocket().weights()),
            (four_bit * bits4 + 8 * steering * bits8) / 64);
}

TEST(Weights, AtAnyAlignmentGiveTheSameLogits) {
  const std::vector<int32_t> tokens = sample_tokens(5);
  const auto logits_of = [&](const LoadedModel& model) {
    const auto backend = make_ref_backend(model.plan(), model.weights(), 1);
    StatePool pool(backend->state_storage(), kPlenty);
    SequenceState state(pool);
    return run_tokens(*backend, state, tokens);
  };
  const std::vector<float> expected = logits_of(pocket());
  TemporaryDirectory directory;
  write_checkpoint(directory.path(), load_tensors(pocket_dir()),
                   {.shards = 3, .header_remainder = 5, .shuffle_seed = 9});
  EXPECT_TRUE(same_bits(logits_of(LoadedModel(directory.path())), expected));
}

}  // namespace
}  // namespace lirio
