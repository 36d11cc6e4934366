// The arguments of every kernel, one struct per op (model/ops.h says what each computes). A backend fills
// them from the plan, the weights and the step; kernels see this header and nothing else of the engine.
// Activations are row-major fp32, [rows, width] without padding. Pointers never alias unless a comment says
// so.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/affine_matrix.h"
#include "model/shapes.h"

namespace lirio {

/// Blocks of a sequence's state by number (position / tokens per block), as addresses; null where nothing is
/// kept.
template <typename T>
struct BlockPointers {
  int64_t first = 0;
  std::span<T* const> pointers;

  T* at(int64_t number) const {
    const int64_t i = number - first;
    return i >= 0 && i < static_cast<int64_t>(pointers.size()) ? pointers[static_cast<size_t>(i)] : nullptr;
  }
};

/// Rows first_row .. first_row + rows - 1 of the step are positions start .. of one sequence.
struct RowSpan {
  int32_t first_row = 0;
  int32_t rows = 0;
  int64_t start = 0;
};

struct EmbedArgs {
  AffineMatrix embed_tokens;        ///< [V, D]
  std::span<const int32_t> tokens;  ///< [rows], below V; -1 - i for row i of `embeddings`
  const float* embeddings;          ///< [n, D]
  float* out;                       ///< [rows, D]
};

struct RmsNormArgs {
  const float* x;       ///< [rows, width]
  const float* weight;  ///< [width]
  float epsilon;
  int64_t rows, width;
  float* out;  ///< [rows, width]
};

struct ProjectArgs {
  const float* x;       ///< [rows, columns]
  AffineMatrix weight;  ///< [N, columns]
  int64_t rows;
  float* out;  ///< [rows, N]
};

/// A conv block of one layer: [kConvBlockTokens, channels], row position % kConvBlockTokens.
struct ConvSequence {
  RowSpan span;
  BlockPointers<float> blocks;
};

struct CausalConvArgs {
  const float* u;       ///< [rows, channels]
  const float* weight;  ///< [channels, 4], tap 3 on the current row
  int64_t channels;
  std::span<const ConvSequence> sequences;
  float* out;  ///< [rows, channels]
};

struct GdnGatesArgs {
  const float *a, *b;            ///< [rows, Hv]
  const float *a_log, *dt_bias;  ///< [Hv]
  int64_t rows, value_heads;
  float *decay, *beta;  ///< [rows, Hv]
};

/// The log of one layer and one chunk; entry j is the chunk's token j.
struct GdnLog {
  double* gamma = nullptr;  ///< [64, Hv] cumulative log decay since the chunk's start, inclusive
  float* k = nullptr;       ///< [64, Hk, 128] normalised keys
  float* v = nullptr;       ///< [64, Hv, 128] corrected values v'
};

struct GdnSequence {
  RowSpan span;
  BlockPointers<float> matrices;  ///< number c: S at token 64 c, [Hv, 128 (k), 128 (v)]; none: zero at c = 0
  BlockPointers<const GdnLog> logs;  ///< number c: tokens 64 c to 64 c + 63
};

struct GdnRecurrenceArgs {
  const float* qkv;           ///< [rows, (2 Hk + Hv) * 128]
  const float *decay, *beta;  ///< [rows, Hv]
  int64_t key_heads, value_heads;
  std::span<const GdnSequence> sequences;
  float* out;  ///< [rows, Hv * 128]
};

struct GatedRmsNormArgs {
  const float *x, *z;   ///< [rows, heads * 128]
  const float* weight;  ///< [128]
  float epsilon;
  int64_t rows, heads;
  float* out;  ///< [rows, heads * 128]
};

struct HeadNormRopeArgs {
  const float* x;  ///< [rows, heads * head_stride]; the first 256 elements of each stride are the head
  int64_t rows, heads, head_stride;
  const float* weight;  ///< [256]
  float epsilon;
  double theta;
  std::span<const std::array<int32_t, 3>> positions;  ///< [rows] (time, height, width)
  float* out;                                         ///< [rows, heads * 256]
};

/// A page of one attention layer: keys [kv_heads, 64, 256], then values of the same shape.
struct KvSequence {
  RowSpan span;
  BlockPointers<float> pages;
};

struct KvAppendArgs {
  const float *k, *v;  ///< [rows, kv_heads * 256]
  int64_t kv_heads;
  std::span<const KvSequence> sequences;
};

struct AttendArgs {
  const float* q;  ///< [rows, heads * 256]
  int64_t heads, kv_heads;
  std::span<const KvSequence> sequences;
  float* out;  ///< [rows, heads * 256]
};

struct SigmoidGateArgs {
  const float* x;       ///< [rows, heads * 256]
  const float* q_gate;  ///< [rows, heads * 512]
  int64_t rows, heads;
  float* out;  ///< [rows, heads * 256]
};

struct RouteArgs {
  const float* router_logits;  ///< [rows, experts]
  int64_t rows, expert_count;
  int32_t* experts;  ///< [rows, 8]
  float* weights;    ///< [rows, 8]
};

struct ExpertsGateUpArgs {
  const float* x;                   ///< [rows, D]
  const int32_t* experts;           ///< [rows, 8]
  AffineMatrix gate_proj, up_proj;  ///< E matrices [F, D]
  int64_t rows;
  float* out;  ///< [rows, 8, F]
};

struct ExpertsDownArgs {
  const float* x;          ///< [rows, 8, F]
  const int32_t* experts;  ///< [rows, 8]
  const float* weights;    ///< [rows, 8]
  AffineMatrix down_proj;  ///< E matrices [D, F]
  int64_t rows;
  float* out;  ///< [rows, D]
};

struct SwiGluArgs {
  const float *gate, *up;  ///< [rows, width]
  int64_t rows, width;
  float* out;  ///< [rows, width]
};

struct AddResidualArgs {
  const float *x, *y;  ///< [rows, width]
  int64_t rows, width;
  float* out;  ///< [rows, width]
};

struct AddExpertsArgs {
  const float *x, *routed, *shared;  ///< [rows, width]
  const float* shared_gate;          ///< [rows]
  int64_t rows, width;
  float* out;  ///< [rows, width]
};

struct LogitsHeadArgs {
  const float* x;                       ///< [rows of the step, D]
  std::span<const int32_t> logit_rows;  ///< indices into the rows of x
  AffineMatrix lm_head;                 ///< [V, D]
  float* out;                           ///< [logit rows, V]
};

/// One row's sampling (docs/numerics.md, "Sampling").
struct SampleRow {
  float temperature;  ///< 0: greedy
  int32_t top_k;      ///< 0: all
  float top_p;
  uint64_t seed;
  int64_t position;  ///< of the row in its sequence; with the seed it determines the draw
};

struct SampleArgs {
  const float* logits;  ///< [logit rows, V]
  int64_t vocab_size;   ///< V, the stride
  int32_t vocabulary;   ///< ids from here on are padding
  std::span<const SampleRow> rows;
  int32_t* tokens;  ///< [logit rows]
};

}  // namespace lirio
