#include "backend/ref/ref_backend.h"

#include <algorithm>
#include <deque>

#include "backend/ref/host_state_storage.h"
#include "base/check.h"
#include "base/thread_pool.h"
#include "kernels/ref/kernels.h"

namespace lirio {
namespace {

constexpr int64_t kElementBytes = 4;  // of every value, float or integer

class RefBackend final : public Backend, private StepValues {
 public:
  RefBackend(const Plan& plan, const Weights& weights, int threads, GdnForm gdn_form)
      : plan_(plan), weights_(weights), storage_(plan.config), pool_(threads), gdn_form_(gdn_form) {}

  std::string name() const override { return gdn_form_ == GdnForm::kLog ? "ref" : "ref:plain"; }
  const Plan& plan() const override { return plan_; }
  StateStorage& state_storage() override { return storage_; }
  int64_t workspace_bytes(int64_t rows, int64_t logit_rows) const override {
    return kElementBytes * (rows * plan_.row_elements + logit_rows * plan_.logit_row_elements);
  }

  std::vector<int32_t> run(const StepInputs& inputs, StepObserver* observer) override;

  std::vector<float> read_logits() override { return read(plan_.logits); }
  std::vector<float> read_final_hidden() override { return read(plan_.final_hidden); }

  // StepValues
  bool holds(ValueId id) const override {
    const Value& value = plan_.value(id);
    return value.first_op <= current_op_ && current_op_ <= value.last_op;
  }
  std::vector<float> read(ValueId id) override;
  void write(ValueId id, std::span<const float> elements) override;

 private:
  void prepare(const StepInputs& inputs);
  void check(const StepInputs& inputs) const;

  // One per op kind: fills the kernel's arguments and shares out its items.
  void execute(const Embed& op);
  void execute(const RmsNorm& op);
  void execute(const Project& op);
  void execute(const CausalConv& op);
  void execute(const GdnGates& op);
  void execute(const GdnRecurrence& op);
  void execute(const GatedRmsNorm& op);
  void execute(const HeadNormRope& op);
  void execute(const KvAppend& op);
  void execute(const Attend& op);
  void execute(const SigmoidGate& op);
  void execute(const Route& op);
  void execute(const ExpertsGateUp& op);
  void execute(const ExpertsDown& op);
  void execute(const SwiGlu& op);
  void execute(const AddResidual& op);
  void execute(const AddExperts& op);
  void execute(const LogitsHead& op);
  void execute(const Sample& op);

  template <typename Args>
  void share_out(int64_t items, int64_t grain, void (*kernel)(const Args&, int64_t, int64_t),
                 const Args& args) {
    pool_.run(items, grain, [&](int64_t begin, int64_t end) { kernel(args, begin, end); });
  }

  int64_t rows_of(const Value& value) const { return value.rows == RowSet::kAll ? rows_ : logit_rows_; }
  int64_t width(ValueId id) const { return plan_.value(id).width; }
  float epsilon() const { return static_cast<float>(plan_.config.rms_norm_eps); }
  /// Address of a value in its arena; rows follow each other without padding.
  std::byte* address(ValueId id) {
    const Value& value = plan_.value(id);
    return (value.rows == RowSet::kAll ? arena_ : logit_arena_).data() +
           kElementBytes * value.offset * rows_of(value);
  }
  float* at(ValueId id) { return reinterpret_cast<float*>(address(id)); }
  int32_t* ints_at(ValueId id) { return reinterpret_cast<int32_t*>(address(id)); }

  RowSpan span_of(const StepSequence& sequence) const {
    return {sequence.first_row, sequence.rows, sequence.state.length};
  }
  template <typename T, typename Lookup>
  BlockPointers<T> resolve(const BlockTable& table, std::vector<std::vector<T*>>& owner,
                           Lookup lookup) const {
    std::vector<T*>& pointers = owner.emplace_back();
    for (BlockId id : table.ids)
      pointers.push_back(lookup(id));
    return {table.first, pointers};
  }
  std::vector<KvSequence> kv_sequences(int layer, std::vector<std::vector<float*>>& owner) const;

  const Plan& plan_;
  const Weights& weights_;
  HostStateStorage storage_;
  ThreadPool pool_;
  const GdnForm gdn_form_;

  // The step in progress, and what may be read after it.
  const StepInputs* inputs_ = nullptr;
  int current_op_ = 0;
  int64_t rows_ = 0, logit_rows_ = 0;
  std::vector<std::byte> arena_, logit_arena_;
  std::vector<int32_t> tokens_, logit_row_indices_;
  std::vector<std::array<int32_t, 3>> positions_;
  std::vector<SampleRow> sample_rows_;
};

std::vector<int32_t> RefBackend::run(const StepInputs& inputs, StepObserver* observer) {
  check(inputs);
  prepare(inputs);
  const int count = static_cast<int>(plan_.instructions.size());
  for (current_op_ = 0; current_op_ < count; ++current_op_) {
    std::visit([this](const auto& op) { execute(op); },
               plan_.instructions[static_cast<size_t>(current_op_)].op);
    if (observer != nullptr) observer->after_op(current_op_, *this);
  }
  inputs_ = nullptr;
  const int32_t* tokens = ints_at(plan_.token);
  return {tokens, tokens + logit_rows_};
}

void RefBackend::check(const StepInputs& inputs) const {
  CHECK(!inputs.rows.empty());
  int64_t covered = 0;
  for (const StepSequence& sequence : inputs.sequences) {
    CHECK(sequence.first_row == covered && sequence.rows > 0);
    covered += sequence.rows;
  }
  CHECK(covered == static_cast<int64_t>(inputs.rows.size()));
  for (const StepRow& row : inputs.rows) {
    CHECK(row.embedding >= 0 ? (row.embedding + 1) * plan_.config.hidden_size <=
                                   static_cast<int64_t>(inputs.embeddings.size())
                             : row.token >= 0 && row.token < plan_.config.vocab_size);
  }
  for (const LogitRow& row : inputs.logit_rows)
    CHECK(row.row >= 0 && row.row < covered);
}

void RefBackend::prepare(const StepInputs& inputs) {
  inputs_ = &inputs;
  rows_ = static_cast<int64_t>(inputs.rows.size());
  logit_rows_ = static_cast<int64_t>(inputs.logit_rows.size());
  const auto grow = [](std::vector<std::byte>& arena, int64_t elements) {
    arena.resize(std::max(arena.size(), static_cast<size_t>(kElementBytes * elements)));
  };
  grow(arena_, rows_ * plan_.row_elements);
  grow(logit_arena_, logit_rows_ * plan_.logit_row_elements);

  tokens_.clear();
  positions_.clear();
  for (const StepRow& row : inputs.rows) {
    tokens_.push_back(row.embedding >= 0 ? -1 - row.embedding : row.token);
    positions_.push_back(row.position);
  }
  std::vector<int64_t> index_in_sequence;
  for (const StepSequence& sequence : inputs.sequences) {
    for (int64_t i = 0; i < sequence.rows; ++i)
      index_in_sequence.push_back(sequence.state.length + i);
  }
  logit_row_indices_.clear();
  sample_rows_.clear();
  for (const LogitRow& row : inputs.logit_rows) {
    const SampleParams& params = row.sampling;
    logit_row_indices_.push_back(row.row);
    sample_rows_.push_back({params.temperature, params.top_k, params.top_p, params.seed,
                            index_in_sequence[static_cast<size_t>(row.row)]});
  }
}

std::vector<float> RefBackend::read(ValueId id) {
  const Value& value = plan_.value(id);
  const int64_t count = rows_of(value) * value.width;
  if (value.type == ValueType::kInt32) return {ints_at(id), ints_at(id) + count};
  return {at(id), at(id) + count};
}

void RefBackend::write(ValueId id, std::span<const float> elements) {
  const Value& value = plan_.value(id);
  CHECK(static_cast<int64_t>(elements.size()) == rows_of(value) * value.width);
  if (value.type == ValueType::kInt32) {
    std::transform(elements.begin(), elements.end(), ints_at(id),
                   [](float v) { return static_cast<int32_t>(v); });
  } else {
    std::copy(elements.begin(), elements.end(), at(id));
  }
}

void RefBackend::execute(const Embed& op) {
  const EmbedArgs args{weights_.matrix(op.embed_tokens), tokens_, inputs_->embeddings.data(), at(op.out)};
  share_out(rows_, 16, ref::embed, args);
}

void RefBackend::execute(const RmsNorm& op) {
  const RmsNormArgs args{at(op.x), weights_.vector(op.weight), epsilon(), rows_, width(op.x), at(op.out)};
  share_out(rows_, 16, ref::rms_norm, args);
}

void RefBackend::execute(const Project& op) {
  const ProjectArgs args{at(op.x), weights_.matrix(op.weight), rows_, at(op.out)};
  share_out(args.weight.rows, 64, ref::project, args);
}

void RefBackend::execute(const CausalConv& op) {
  std::vector<std::vector<float*>> owner;
  std::vector<ConvSequence> sequences;
  for (const StepSequence& sequence : inputs_->sequences) {
    sequences.push_back({span_of(sequence), resolve(sequence.state.conv_rows, owner, [&](BlockId id) {
                           return storage_.conv_rows(id, op.gdn_layer);
                         })});
  }
  const CausalConvArgs args{at(op.u), weights_.vector(op.weight), width(op.u), sequences, at(op.out)};
  share_out(args.channels, 512, ref::causal_conv, args);
}

void RefBackend::execute(const GdnGates& op) {
  const GdnGatesArgs args{
      at(op.a),     at(op.b),   weights_.vector(op.a_log), weights_.vector(op.dt_bias), rows_, width(op.a),
      at(op.decay), at(op.beta)};
  share_out(rows_, 16, ref::gdn_gates, args);
}

void RefBackend::execute(const GdnRecurrence& op) {
  std::vector<std::vector<float*>> matrices;
  std::vector<std::vector<const GdnLog*>> logs;
  std::deque<GdnLog> log_views;
  std::vector<GdnSequence> sequences;
  for (const StepSequence& sequence : inputs_->sequences) {
    const StateView& state = sequence.state;
    sequences.push_back({span_of(sequence),
                         resolve(state.gdn_matrices, matrices,
                                 [&](BlockId id) { return storage_.gdn_matrix(id, op.gdn_layer); }),
                         resolve(state.gdn_logs, logs, [&](BlockId id) -> const GdnLog* {
                           return id == kNoBlock
                                      ? nullptr
                                      : &log_views.emplace_back(storage_.gdn_log(id, op.gdn_layer));
                         })});
  }
  const GdnRecurrenceArgs args{at(op.qkv),
                               at(op.decay),
                               at(op.beta),
                               plan_.config.linear_num_key_heads,
                               plan_.config.linear_num_value_heads,
                               sequences,
                               at(op.out)};
  share_out(args.key_heads, 1,
            gdn_form_ == GdnForm::kLog ? ref::gdn_recurrence_log : ref::gdn_recurrence_plain, args);
}

void RefBackend::execute(const GatedRmsNorm& op) {
  const GatedRmsNormArgs args{at(op.x),  at(op.z), weights_.vector(op.weight),
                              epsilon(), rows_,    width(op.x) / kGdnHeadDim,
                              at(op.out)};
  share_out(rows_, 4, ref::gated_rms_norm, args);
}

void RefBackend::execute(const HeadNormRope& op) {
  const HeadNormRopeArgs args{at(op.x),
                              rows_,
                              op.heads,
                              op.head_stride,
                              weights_.vector(op.weight),
                              epsilon(),
                              plan_.config.rope_theta,
                              positions_,
                              at(op.out)};
  share_out(rows_, 4, ref::head_norm_rope, args);
}

std::vector<KvSequence> RefBackend::kv_sequences(int layer, std::vector<std::vector<float*>>& owner) const {
  std::vector<KvSequence> sequences;
  for (const StepSequence& sequence : inputs_->sequences) {
    sequences.push_back({span_of(sequence), resolve(sequence.state.kv_pages, owner, [&](BlockId id) {
                           return storage_.kv_page(id, layer);
                         })});
  }
  return sequences;
}

void RefBackend::execute(const KvAppend& op) {
  std::vector<std::vector<float*>> owner;
  const std::vector<KvSequence> sequences = kv_sequences(op.attention_layer, owner);
  const KvAppendArgs args{at(op.k), at(op.v), plan_.config.num_key_value_heads, sequences};
  share_out(static_cast<int64_t>(sequences.size()), 1, ref::kv_append, args);
}

void RefBackend::execute(const Attend& op) {
  std::vector<std::vector<float*>> owner;
  const std::vector<KvSequence> sequences = kv_sequences(op.attention_layer, owner);
  const AttendArgs args{at(op.q), plan_.config.num_attention_heads, plan_.config.num_key_value_heads,
                        sequences, at(op.out)};
  share_out(args.heads, 1, ref::attend, args);
}

void RefBackend::execute(const SigmoidGate& op) {
  const SigmoidGateArgs args{at(op.x), at(op.q_gate), rows_, plan_.config.num_attention_heads, at(op.out)};
  share_out(rows_, 4, ref::sigmoid_gate, args);
}

void RefBackend::execute(const Route& op) {
  const RouteArgs args{at(op.router_logits), rows_, width(op.router_logits), ints_at(op.experts),
                       at(op.weights)};
  share_out(rows_, 16, ref::route, args);
}

void RefBackend::execute(const ExpertsGateUp& op) {
  const ExpertsGateUpArgs args{
      at(op.x), ints_at(op.experts), weights_.matrix(op.gate_proj), weights_.matrix(op.up_proj),
      rows_,    at(op.out)};
  share_out(args.gate_proj.matrices, 1, ref::experts_gate_up, args);
}

void RefBackend::execute(const ExpertsDown& op) {
  const ExpertsDownArgs args{at(op.x), ints_at(op.experts), at(op.weights), weights_.matrix(op.down_proj),
                             rows_,    at(op.out)};
  share_out(args.down_proj.rows, 32, ref::experts_down, args);
}

void RefBackend::execute(const SwiGlu& op) {
  const SwiGluArgs args{at(op.gate), at(op.up), rows_, width(op.gate), at(op.out)};
  share_out(rows_, 16, ref::swiglu, args);
}

void RefBackend::execute(const AddResidual& op) {
  const AddResidualArgs args{at(op.x), at(op.y), rows_, width(op.x), at(op.out)};
  share_out(rows_, 16, ref::add_residual, args);
}

void RefBackend::execute(const AddExperts& op) {
  const AddExpertsArgs args{at(op.x), at(op.routed), at(op.shared), at(op.shared_gate),
                            rows_,    width(op.x),   at(op.out)};
  share_out(rows_, 16, ref::add_experts, args);
}

void RefBackend::execute(const LogitsHead& op) {
  const LogitsHeadArgs args{at(op.x), logit_row_indices_, weights_.matrix(op.lm_head), at(op.out)};
  if (logit_rows_ > 0) share_out(args.lm_head.rows, 64, ref::logits_head, args);
}

void RefBackend::execute(const Sample& op) {
  const SampleArgs args{at(op.logits), width(op.logits), op.vocabulary, sample_rows_, ints_at(op.token)};
  share_out(logit_rows_, 1, ref::sample, args);
}

}  // namespace

std::unique_ptr<Backend> make_ref_backend(const Plan& plan, const Weights& weights, int threads,
                                          GdnForm gdn_form) {
  return std::make_unique<RefBackend>(plan, weights, threads, gdn_form);
}

}  // namespace lirio
