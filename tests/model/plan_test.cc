// The plan: that it names exactly the checkpoint's tensors, that lifetimes never collide, and that the
// five-stage layers of docs/architecture.md are executable sets of its ops.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "model/plan.h"
#include "model/weights.h"
#include "support/pocket.h"

namespace lirio {
namespace {

using namespace testing;

TEST(Plan, NamesTheTextTensorsOfTheFullCheckpointByteForByte) {
  const Plan plan = build_plan(full_config(), 248'077);
  int64_t bytes = 0, tensors = 0;
  for (const MatrixSpec& spec : plan.matrices) {
    const int bits = spec.module.ends_with("mlp.gate") || spec.module.ends_with("shared_expert_gate") ? 8 : 4;
    bytes += spec.matrices * spec.rows * (spec.columns * bits / 8 + spec.columns / kQuantGroup * 4);
    tensors += 3;
  }
  for (const VectorSpec& spec : plan.vectors) {
    bytes += 2 * spec.size;
    tensors += 1;
  }
  EXPECT_EQ(tensors, 1757);
  EXPECT_EQ(bytes, 19'508'787'456);
}

TEST(Plan, BindsEveryTensorOfThePocketModelButTheDraftHead) {
  const Checkpoint& checkpoint = pocket().checkpoint();
  const Plan& plan = pocket().plan();
  EXPECT_EQ(static_cast<int64_t>(3 * plan.matrices.size() + plan.vectors.size()),
            static_cast<int64_t>(checkpoint.tensor_count()) - checkpoint.skipped().mtp_tensors);
}

TEST(Plan, HasEightHundredOpsOfNineteenKindsAtFullSize) {
  const Plan plan = build_plan(full_config(), 248'077);
  std::map<std::string, int> kinds;
  for (const Instruction& op : plan.instructions)
    ++kinds[op_kind(op.op)];
  EXPECT_EQ(kinds.size(), std::variant_size_v<Op>);
  EXPECT_EQ(kinds["GdnRecurrence"], 30);
  EXPECT_EQ(kinds["Attend"], 10);
  EXPECT_EQ(kinds["ExpertsGateUp"], 40);
}

TEST(Plan, ValuesThatLiveTogetherNeverShareMemory) {
  const Plan plan = build_plan(full_config(8), 248'077);
  for (const Value& a : plan.values) {
    ASSERT_GE(a.first_op, 0) << a.name;
    ASSERT_LE(a.offset + a.width, a.rows == RowSet::kAll ? plan.row_elements : plan.logit_row_elements);
    for (const Value& b : plan.values) {
      if (&a == &b || a.rows != b.rows) continue;
      const bool together = a.first_op <= b.last_op && b.first_op <= a.last_op;
      const bool overlap = a.offset < b.offset + b.width && b.offset < a.offset + a.width;
      ASSERT_FALSE(together && overlap) << a.name << " and " << b.name;
    }
  }
}

TEST(Plan, MemoryForValuesDoesNotGrowWithTheLayers) {
  EXPECT_EQ(build_plan(full_config(4), 248'077).row_elements,
            build_plan(full_config(40), 248'077).row_elements);
}

/// Indices of the ops of `layer` with these names (without "layers.N.").
std::vector<int> ops_named(const Plan& plan, int layer, std::vector<std::string> names) {
  std::vector<int> ops;
  for (const std::string& name : names) {
    const std::string full = "layers." + std::to_string(layer) + "." + name;
    const auto found = std::find_if(plan.instructions.begin(), plan.instructions.end(),
                                    [&](const Instruction& op) { return op.name == full; });
    EXPECT_NE(found, plan.instructions.end()) << full;
    ops.push_back(static_cast<int>(found - plan.instructions.begin()));
  }
  return ops;
}

/// The last three of the five stages, the same for both kinds of layer. The norm and the top 8 are computed
/// by whoever needs them.
std::vector<FusedForm> moe_stages(const Plan& plan, int layer) {
  const auto ops = [&](std::vector<std::string> names) { return ops_named(plan, layer, std::move(names)); };
  return {
      {"router_shared",
       ops({"mlp.gate", "mlp.shared_expert_gate", "mlp.shared_expert.gate_proj", "mlp.shared_expert.up_proj",
            "mlp.shared_expert.act"}),
       ops({"post_attention_layernorm"})},
      {"experts_gate_up", ops({"mlp.switch_mlp.gate_up"}), ops({"post_attention_layernorm", "mlp.route"})},
      {"experts_down", ops({"mlp.switch_mlp.down_proj", "mlp.shared_expert.down_proj", "out"}),
       ops({"mlp.route"})},
  };
}

std::vector<std::string> names_of(const Plan& plan, int layer, const std::vector<ValueId>& ids) {
  const std::string prefix = "layers." + std::to_string(layer) + ".";
  std::vector<std::string> names;
  for (ValueId id : ids) {
    const std::string& name = plan.value(id).name;
    names.push_back(name.starts_with(prefix) ? name.substr(prefix.size()) : name);
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(Plan, AGatedDeltaNetLayerIsFiveStages) {
  const Plan plan = build_plan(full_config(4), 248'077);
  const auto ops = [&](Names names) { return ops_named(plan, 1, std::move(names)); };
  std::vector<FusedForm> stages = {
      {"gdn_core",
       ops({"input_layernorm", "linear_attn.in_proj_qkv", "linear_attn.in_proj_z", "linear_attn.in_proj_b",
            "linear_attn.in_proj_a", "linear_attn.conv1d", "linear_attn.gates", "linear_attn.recurrence",
            "linear_attn.norm"}),
       {}},
      {"out_proj", ops({"linear_attn.out_proj", "mixer_residual"}), {}},
  };
  for (FusedForm& stage : moe_stages(plan, 1))
    stages.push_back(std::move(stage));

  EXPECT_TRUE(forms_are_executable(plan, stages));
  const auto reads = [&](size_t i) { return names_of(plan, 1, form_interface(plan, stages, i).reads); };
  const auto writes = [&](size_t i) { return names_of(plan, 1, form_interface(plan, stages, i).writes); };
  EXPECT_EQ(reads(0), Names({"layers.0.out"}));
  EXPECT_EQ(writes(0), Names({"linear_attn.norm"}));
  EXPECT_EQ(writes(1), Names({"mixer_residual"}));
  EXPECT_EQ(reads(2), Names({"mixer_residual"}));
  EXPECT_EQ(writes(2), Names({"mlp.gate", "mlp.shared_expert_gate", "mlp.shared_expert.act"}));
  EXPECT_EQ(reads(3), Names({"mixer_residual", "mlp.gate"}));
  EXPECT_EQ(writes(3), Names({"mlp.switch_mlp.act"}));
  EXPECT_EQ(writes(4), Names({"out"}));
}

TEST(Plan, AFullAttentionLayerIsFiveStages) {
  const Plan plan = build_plan(full_config(4), 248'077);
  const auto ops = [&](Names names) { return ops_named(plan, 3, std::move(names)); };
  std::vector<FusedForm> stages = {
      {"attention_core",
       ops({"input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.q_norm",
            "self_attn.k_norm", "self_attn.append", "self_attn.attend", "self_attn.gate"}),
       {}},
      {"o_proj", ops({"self_attn.o_proj", "mixer_residual"}), {}},
  };
  for (FusedForm& stage : moe_stages(plan, 3))
    stages.push_back(std::move(stage));

  EXPECT_TRUE(forms_are_executable(plan, stages));
  EXPECT_EQ(names_of(plan, 3, form_interface(plan, stages, 0).reads), Names({"layers.2.out"}));
  EXPECT_EQ(names_of(plan, 3, form_interface(plan, stages, 0).writes), Names({"self_attn.gate"}));
  EXPECT_EQ(names_of(plan, 3, form_interface(plan, stages, 4).writes), Names({"out"}));
}

TEST(Plan, FormsThatReadWhatIsNotThereYetAreNotExecutable) {
  const Plan plan = build_plan(full_config(4), 248'077);
  const std::vector<FusedForm> moe = moe_stages(plan, 1);
  const std::vector<FusedForm> wrong_order = {moe[2], moe[0], moe[1]};
  EXPECT_FALSE(forms_are_executable(plan, wrong_order));

  std::vector<FusedForm> twice = moe;
  twice[1].ops.push_back(moe[0].ops[0]);
  EXPECT_FALSE(forms_are_executable(plan, twice));

  std::vector<FusedForm> state_twice = moe;
  state_twice[0].recomputed.push_back(ops_named(plan, 1, {"linear_attn.recurrence"})[0]);
  EXPECT_FALSE(forms_are_executable(plan, state_twice));
}

}  // namespace
}  // namespace lirio
