#include "model/plan.h"

#include <utility>

#include "base/check.h"
#include "model/liveness.h"
#include "model/shapes.h"

namespace lirio {
namespace {

/// Emits ops in order; a method per op kind declares its weights and returns the values it writes.
class PlanBuilder {
 public:
  PlanBuilder(const Config& config, int32_t vocabulary) : vocabulary_(vocabulary) { plan_.config = config; }
  Plan build() &&;

 private:
  ValueId layer(int index, ValueId x);
  ValueId gdn_mixer(ValueId x);
  ValueId attention_mixer(ValueId x);
  ValueId mixture_of_experts(ValueId x);

  ValueId rms_norm(ValueId x, const std::string& module);
  ValueId project(ValueId x, const std::string& module, int64_t rows,
                  ActivationUse activations = ActivationUse::kQuantizable);
  ValueId head_norm_rope(ValueId x, const std::string& module, int64_t heads, int head_stride);

  std::string path(const std::string& module) const {
    return (layer_ < 0 ? std::string() : "layers." + std::to_string(layer_) + ".") + module;
  }
  MatrixId matrix(const std::string& module, int64_t rows, int64_t columns, int64_t matrices = 1) {
    plan_.matrices.push_back({path(module), matrices, rows, columns});
    return static_cast<MatrixId>(plan_.matrices.size() - 1);
  }
  VectorId vector(const std::string& name, int64_t size, VectorKind kind = VectorKind::kPlain) {
    plan_.vectors.push_back({path(name), size, kind});
    return static_cast<VectorId>(plan_.vectors.size() - 1);
  }
  ValueId value(const std::string& name, int64_t width, ValueType type = ValueType::kFloat32,
                RowSet rows = RowSet::kAll) {
    plan_.values.push_back({path(name), layer_, static_cast<int32_t>(width), type, rows, -1, -1, 0});
    return static_cast<ValueId>(plan_.values.size() - 1);
  }
  void emit(const std::string& name, Op op) {
    Operands values = operands(op);
    plan_.instructions.push_back({std::move(op), path(name), layer_, std::move(values)});
  }

  Plan plan_;
  int32_t vocabulary_;
  int layer_ = -1;
  int gdn_layers_ = 0;
  int attention_layers_ = 0;
};

Plan PlanBuilder::build() && {
  const Config& config = plan_.config;
  const MatrixId embed_tokens = matrix("embed_tokens", config.vocab_size, config.hidden_size);
  ValueId x = value("embed_tokens", config.hidden_size);
  emit("embed_tokens", Embed{embed_tokens, x});

  for (size_t index = 0; index < config.layer_types.size(); ++index)
    x = layer(static_cast<int>(index), x);

  plan_.final_hidden = rms_norm(x, "norm");
  const MatrixId lm_head = matrix("lm_head", config.vocab_size, config.hidden_size);
  plan_.logits = value("lm_head", config.vocab_size, ValueType::kFloat32, RowSet::kLogits);
  emit("lm_head", LogitsHead{plan_.final_hidden, lm_head, plan_.logits});
  plan_.token = value("sample", 1, ValueType::kInt32, RowSet::kLogits);
  emit("sample", Sample{plan_.logits, vocabulary_, plan_.token});

  assign_lifetimes(plan_);
  return std::move(plan_);
}

ValueId PlanBuilder::layer(int index, ValueId x) {
  layer_ = index;
  const int64_t hidden = plan_.config.hidden_size;
  const bool full = plan_.config.layer_types[static_cast<size_t>(index)] == LayerType::kFullAttention;

  const ValueId n = rms_norm(x, "input_layernorm");
  const ValueId mixed = full ? attention_mixer(n) : gdn_mixer(n);
  const ValueId h = value("mixer_residual", hidden);
  emit("mixer_residual", AddResidual{x, mixed, h});
  const ValueId out = mixture_of_experts(h);

  layer_ = -1;
  return out;
}

ValueId PlanBuilder::gdn_mixer(ValueId x) {
  const Config& config = plan_.config;
  const int64_t value_heads = config.linear_num_value_heads;
  const int64_t value_width = config.gdn_value_width();
  const int64_t channels = config.conv_channels();
  const int gdn_layer = gdn_layers_++;

  const ValueId u = project(x, "linear_attn.in_proj_qkv", channels);
  const ValueId z = project(x, "linear_attn.in_proj_z", value_width);
  const ValueId b = project(x, "linear_attn.in_proj_b", value_heads, ActivationUse::kExact);
  const ValueId a = project(x, "linear_attn.in_proj_a", value_heads, ActivationUse::kExact);

  const VectorId taps = vector("linear_attn.conv1d.weight", channels * kConvWidth, VectorKind::kConv);
  const ValueId qkv = value("linear_attn.conv1d", channels);
  emit("linear_attn.conv1d", CausalConv{gdn_layer, u, taps, qkv});

  const VectorId a_log = vector("linear_attn.A_log", value_heads);
  const VectorId dt_bias = vector("linear_attn.dt_bias", value_heads);
  const ValueId decay = value("linear_attn.decay", value_heads);
  const ValueId beta = value("linear_attn.beta", value_heads);
  emit("linear_attn.gates", GdnGates{a, b, a_log, dt_bias, decay, beta});

  const ValueId o = value("linear_attn.recurrence", value_width);
  emit("linear_attn.recurrence", GdnRecurrence{gdn_layer, qkv, decay, beta, o});

  const VectorId weight = vector("linear_attn.norm.weight", kGdnHeadDim);
  const ValueId y = value("linear_attn.norm", value_width);
  emit("linear_attn.norm", GatedRmsNorm{o, z, weight, y});
  return project(y, "linear_attn.out_proj", config.hidden_size);
}

ValueId PlanBuilder::attention_mixer(ValueId x) {
  const Config& config = plan_.config;
  const int64_t width = config.attention_width();
  const int64_t kv_width = config.key_value_width();
  const int attention_layer = attention_layers_++;

  const ValueId q_gate = project(x, "self_attn.q_proj", 2 * width);
  const ValueId k_raw = project(x, "self_attn.k_proj", kv_width);
  const ValueId v = project(x, "self_attn.v_proj", kv_width);
  const ValueId q = head_norm_rope(q_gate, "self_attn.q_norm", config.num_attention_heads, 2 * kHeadDim);
  const ValueId k = head_norm_rope(k_raw, "self_attn.k_norm", config.num_key_value_heads, kHeadDim);
  emit("self_attn.append", KvAppend{attention_layer, k, v});

  const ValueId attended = value("self_attn.attend", width);
  emit("self_attn.attend", Attend{attention_layer, q, attended});
  const ValueId gated = value("self_attn.gate", width);
  emit("self_attn.gate", SigmoidGate{attended, q_gate, gated});
  return project(gated, "self_attn.o_proj", config.hidden_size);
}

ValueId PlanBuilder::mixture_of_experts(ValueId x) {
  const Config& config = plan_.config;
  const int64_t hidden = config.hidden_size;
  const int64_t expert_count = config.num_experts;
  const int64_t width = config.moe_intermediate_size;
  const int64_t shared_width = config.shared_expert_intermediate_size;

  const ValueId n = rms_norm(x, "post_attention_layernorm");
  const ValueId router_logits = project(n, "mlp.gate", expert_count, ActivationUse::kExact);
  const ValueId experts = value("mlp.experts", kTopK, ValueType::kInt32);
  const ValueId weights = value("mlp.expert_weights", kTopK);
  emit("mlp.route", Route{router_logits, experts, weights});

  const ValueId shared_gate = project(n, "mlp.shared_expert_gate", 1, ActivationUse::kExact);
  const ValueId gate = project(n, "mlp.shared_expert.gate_proj", shared_width);
  const ValueId up = project(n, "mlp.shared_expert.up_proj", shared_width);
  const ValueId shared_act = value("mlp.shared_expert.act", shared_width);
  emit("mlp.shared_expert.act", SwiGlu{gate, up, shared_act});

  const MatrixId gate_proj = matrix("mlp.switch_mlp.gate_proj", width, hidden, expert_count);
  const MatrixId up_proj = matrix("mlp.switch_mlp.up_proj", width, hidden, expert_count);
  const ValueId act = value("mlp.switch_mlp.act", kTopK * width);
  emit("mlp.switch_mlp.gate_up", ExpertsGateUp{n, experts, gate_proj, up_proj, act});

  const MatrixId down_proj = matrix("mlp.switch_mlp.down_proj", hidden, width, expert_count);
  const ValueId routed = value("mlp.switch_mlp.down_proj", hidden);
  emit("mlp.switch_mlp.down_proj", ExpertsDown{act, experts, weights, down_proj, routed});

  const ValueId shared = project(shared_act, "mlp.shared_expert.down_proj", hidden);
  const ValueId out = value("out", hidden);
  emit("out", AddExperts{x, routed, shared, shared_gate, out});
  return out;
}

ValueId PlanBuilder::rms_norm(ValueId x, const std::string& module) {
  const VectorId weight = vector(module + ".weight", plan_.config.hidden_size, VectorKind::kNorm);
  const ValueId out = value(module, plan_.config.hidden_size);
  emit(module, RmsNorm{x, weight, out});
  return out;
}

ValueId PlanBuilder::project(ValueId x, const std::string& module, int64_t rows, ActivationUse activations) {
  const MatrixId weight = matrix(module, rows, plan_.value(x).width);
  const ValueId out = value(module, rows);
  emit(module, Project{x, weight, activations, out});
  return out;
}

ValueId PlanBuilder::head_norm_rope(ValueId x, const std::string& module, int64_t heads, int head_stride) {
  const VectorId weight = vector(module + ".weight", kHeadDim, VectorKind::kNorm);
  const ValueId out = value(module, heads * kHeadDim);
  emit(module, HeadNormRope{x, static_cast<int32_t>(heads), head_stride, weight, out});
  return out;
}

}  // namespace

Plan build_plan(const Config& config, int32_t vocabulary) {
  CHECK(vocabulary > 0 && vocabulary <= config.vocab_size);
  return PlanBuilder(config, vocabulary).build();
}

}  // namespace lirio
