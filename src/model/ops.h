// The op list: every kind of work in a forward pass, as plain structs over named values and weights.
// model/plan writes a model as a list of them; a backend executes the list. What each op means is
// src/kernels/ref, the same name per file. Formulas: x is a row, W a weight, "rows" are the step's rows;
// widths are per row. Immutable data, thread-safe.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

namespace lirio {

/// Index into Plan::values, Plan::matrices and Plan::vectors.
enum class ValueId : int32_t { kNone = -1 };
enum class MatrixId : int32_t { kNone = -1 };
enum class VectorId : int32_t { kNone = -1 };

/// What a backend may do to the input of a projection (docs/numerics.md, "Activations").
enum class ActivationUse : uint8_t {
  kQuantizable,  ///< may be rounded to int8 per (row, group of 64)
  kExact,        ///< small matrices that steer: router, gates, decay; fp32 only
};

/// out[D] = row of the embedding matrix for a token id, or the step's own embedding row.
struct Embed {
  MatrixId embed_tokens;
  ValueId out;
};

/// out[D] = x / sqrt(mean(x^2) + eps) * weight
struct RmsNorm {
  ValueId x;
  VectorId weight;
  ValueId out;
};

/// out[N] = W x
struct Project {
  ValueId x;
  MatrixId weight;
  ActivationUse activations;
  ValueId out;
};

/// out[C] = silu(sum of the last four rows of u, tap 3 on the current one); remembers the rows before.
struct CausalConv {
  int32_t gdn_layer;  ///< index among the Gated DeltaNet layers, the state's
  ValueId u;
  VectorId weight;  ///< [C, 4]
  ValueId out;
};

/// decay[Hv] = -exp(A_log) softplus(a + dt_bias), the log of the decay; beta[Hv] = sigmoid(b)
struct GdnGates {
  ValueId a;
  ValueId b;
  VectorId a_log;
  VectorId dt_bias;
  ValueId decay;
  ValueId beta;
};

/// out[Hv, 128]: normalise q and k per head, then the gated delta rule over the sequence; updates the
/// recurrent state.
struct GdnRecurrence {
  int32_t gdn_layer;
  ValueId qkv;  ///< [Hk, 128] q, [Hk, 128] k, [Hv, 128] v
  ValueId decay;
  ValueId beta;
  ValueId out;
};

/// out[H, 128] = RMS norm of each head of x, times weight, times silu(z)
struct GatedRmsNorm {
  ValueId x;
  ValueId z;
  VectorId weight;  ///< [128]
  ValueId out;
};

/// out[H, 256] = RMS norm of each head of x times weight, then rotary embedding of dims 0..63
struct HeadNormRope {
  ValueId x;
  int32_t heads;
  int32_t
      head_stride;  ///< elements between heads of x: 512 where each query is followed by its gate, else 256
  VectorId weight;  ///< [256]
  ValueId out;
};

/// Appends k and v of each row to the sequence's cache.
struct KvAppend {
  int32_t attention_layer;  ///< index among the full-attention layers, the state's
  ValueId k;
  ValueId v;
};

/// out[H, 256] = softmax(q . k / 16) v over the positions up to the row's own, from the cache
struct Attend {
  int32_t attention_layer;
  ValueId q;
  ValueId out;
};

/// out[H, 256] = x * sigmoid(gate), the gate being the second half of each head of q_gate[H, 512]
struct SigmoidGate {
  ValueId x;
  ValueId q_gate;
  ValueId out;
};

/// The 8 largest of router_logits, ties to the lowest expert, in falling order; weights = their softmax.
struct Route {
  ValueId router_logits;
  ValueId experts;  ///< int32 [8]
  ValueId weights;  ///< [8]
};

/// out[8, F] = silu(gate_e x) * (up_e x) for each slot's expert e
struct ExpertsGateUp {
  ValueId x;
  ValueId experts;
  MatrixId gate_proj;  ///< [E, F, D]
  MatrixId up_proj;    ///< [E, F, D]
  ValueId out;
};

/// out[D] = sum over slots, in slot order, of weight * down_e x[slot]
struct ExpertsDown {
  ValueId x;
  ValueId experts;
  ValueId weights;
  MatrixId down_proj;  ///< [E, D, F]
  ValueId out;
};

/// out[F] = silu(gate) * up
struct SwiGlu {
  ValueId gate;
  ValueId up;
  ValueId out;
};

/// out[D] = x + y
struct AddResidual {
  ValueId x;
  ValueId y;
  ValueId out;
};

/// out[D] = x + (routed + sigmoid(shared_gate) * shared)
struct AddExperts {
  ValueId x;
  ValueId routed;
  ValueId shared;
  ValueId shared_gate;  ///< [1]
  ValueId out;
};

/// out[V] = W x for the rows that need logits
struct LogitsHead {
  ValueId x;
  MatrixId lm_head;
  ValueId out;
};

/// token[1] drawn from logits by the row's sampling parameters; ids at or past `vocabulary` are never drawn.
struct Sample {
  ValueId logits;
  int32_t vocabulary;  ///< ids that stand for something; the rows after them are padding
  ValueId token;       ///< int32 [1]
};

#define LIRIO_OPS(X) \
  X(Embed)           \
  X(RmsNorm)         \
  X(Project)         \
  X(CausalConv)      \
  X(GdnGates)        \
  X(GdnRecurrence)   \
  X(GatedRmsNorm)    \
  X(HeadNormRope)    \
  X(KvAppend)        \
  X(Attend)          \
  X(SigmoidGate)     \
  X(Route)           \
  X(ExpertsGateUp)   \
  X(ExpertsDown)     \
  X(SwiGlu)          \
  X(AddResidual)     \
  X(AddExperts)      \
  X(LogitsHead)      \
  X(Sample)

/// One op of any kind. A backend visits it; a kind it doesn't handle fails to compile.
using Op = std::variant<Embed, RmsNorm, Project, CausalConv, GdnGates, GdnRecurrence, GatedRmsNorm,
                        HeadNormRope, KvAppend, Attend, SigmoidGate, Route, ExpertsGateUp, ExpertsDown,
                        SwiGlu, AddResidual, AddExperts, LogitsHead, Sample>;

/// "RmsNorm", for traces and messages.
const char* op_kind(const Op& op);

/// The values an op reads and writes. State (cache, recurrent state) is not a value.
struct Operands {
  std::vector<ValueId> reads;
  std::vector<ValueId> writes;
};
Operands operands(const Op& op);

}  // namespace lirio
