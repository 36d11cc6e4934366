// What    the gated delta rule (Yang, Kautz, Hatamizadeh, 2024) per value head, state S [128 (k), 128 (v)]:
//           S = e^g S;  v' = beta (v - k S);  S = S + k (x) v';  o = q S
//         with k / sqrt(|k|^2 + 1e-6), q / sqrt(|q|^2 + 1e-6) / sqrt(128); value head h uses key head h / (Hv
//         / Hk). State: S at the last multiple of 64 tokens, and a log of (k, v', gamma) since; gamma is the
//         sum of g. Plain form: S is rebuilt from the log when a step starts, then updated with every token.
//         Log form (docs/decisions.md, D11): S stays as it is inside a chunk,
//           v'_t = beta_t (v_t - e^gamma_t (k_t S) - sum_{j<t} e^(gamma_t - gamma_j) (k_t . k_j) v'_j)
//           o_t  = e^gamma_t (q_t S) + sum_{j<=t} e^(gamma_t - gamma_j) (q_t . k_j) v'_j
//           at 64: S = e^gamma_63 S + sum_j e^(gamma_63 - gamma_j) k_j (x) v'_j
// Layout  qkv [rows, q (Hk 128) | k (Hk 128) | v (Hv 128)]; decay, beta [rows, Hv]; matrices [Hv, 128, 128]
// Map     one key head with its value heads an item; tokens of a sequence in order
// Round   k, v' and the matrices to fp32, being state; out to fp32; gamma and all sums in float64
// Moves   the matrix twice per 64 tokens; 64 KB a value head and token in the log form's two products
#include <algorithm>
#include <memory>

#include "base/check.h"
#include "kernels/ref/kernels.h"
#include "kernels/ref/math.h"

namespace lirio::ref {
namespace {

constexpr int kDim = kGdnHeadDim;
constexpr double kNormEpsilon = 1e-6;

/// out = a row of `width` scaled to unit length.
void normalize(const float* x, double scale, double* out) {
  double sum = 0;
  for (int i = 0; i < kDim; ++i)
    sum += double{x[i]} * x[i];
  const double factor = scale / std::sqrt(sum + kNormEpsilon);
  for (int i = 0; i < kDim; ++i)
    out[i] = x[i] * factor;
}

/// out = x S, for S stored as T.
template <typename T>
void vector_matrix(const double* x, const T* matrix, double* out) {
  std::fill_n(out, kDim, 0.0);
  for (int i = 0; i < kDim; ++i) {
    for (int j = 0; j < kDim; ++j)
      out[j] += x[i] * static_cast<double>(matrix[i * kDim + j]);
  }
}

/// One value head's state inside a chunk: the matrix at its start and the log so far.
struct Head {
  float matrix[kDim * kDim];
  double running[kDim * kDim];  // plain form: S after the last token of the log
  double gamma[kGdnChunk];
  float v[kGdnChunk][kDim];
};

struct Token {
  const double *q, *k;  // normalised; k as the log stores it
  const float* v;
  double beta;
};

class LogForm {
 public:
  static void resume(Head&, const float (*)[kDim], int) {}

  static void token(Head& head, const float (*keys)[kDim], int t, const Token& token, double* out) {
    double from_matrix[kDim];
    const double decay = std::exp(head.gamma[t]);
    vector_matrix(token.k, head.matrix, from_matrix);
    double sum[kDim];
    for (int i = 0; i < kDim; ++i)
      sum[i] = token.v[i] - decay * from_matrix[i];
    for (int j = 0; j < t; ++j) {
      const double weight = std::exp(head.gamma[t] - head.gamma[j]) * dot(token.k, keys[j], kDim);
      for (int i = 0; i < kDim; ++i)
        sum[i] -= weight * head.v[j][i];
    }
    for (int i = 0; i < kDim; ++i)
      head.v[t][i] = static_cast<float>(token.beta * sum[i]);

    vector_matrix(token.q, head.matrix, out);
    for (int i = 0; i < kDim; ++i)
      out[i] *= decay;
    for (int j = 0; j <= t; ++j) {
      const double weight = std::exp(head.gamma[t] - head.gamma[j]) * dot(token.q, keys[j], kDim);
      for (int i = 0; i < kDim; ++i)
        out[i] += weight * head.v[j][i];
    }
  }

  static void fold(Head& head, const float (*keys)[kDim]) {
    constexpr int kLast = kGdnChunk - 1;
    const double decay = std::exp(head.gamma[kLast]);
    for (int i = 0; i < kDim; ++i) {
      double sum[kDim];
      for (int c = 0; c < kDim; ++c)
        sum[c] = decay * head.matrix[i * kDim + c];
      for (int j = 0; j < kGdnChunk; ++j) {
        const double weight = std::exp(head.gamma[kLast] - head.gamma[j]) * keys[j][i];
        for (int c = 0; c < kDim; ++c)
          sum[c] += weight * head.v[j][c];
      }
      std::transform(sum, sum + kDim, head.matrix + i * kDim, [](double s) { return static_cast<float>(s); });
    }
  }
};

class PlainForm {
 public:
  static void resume(Head& head, const float (*keys)[kDim], int tokens) {
    std::copy_n(head.matrix, kDim * kDim, head.running);
    for (int t = 0; t < tokens; ++t) {
      decay(head, t);
      double k[kDim];
      std::copy_n(keys[t], kDim, k);
      update(head, t, k);
    }
  }

  static void token(Head& head, const float (*)[kDim], int t, const Token& token, double* out) {
    decay(head, t);
    double predicted[kDim];
    vector_matrix(token.k, head.running, predicted);
    for (int i = 0; i < kDim; ++i)
      head.v[t][i] = static_cast<float>(token.beta * (token.v[i] - predicted[i]));
    update(head, t, token.k);
    vector_matrix(token.q, head.running, out);
  }

  static void fold(Head& head, const float (*)[kDim]) {
    std::transform(head.running, head.running + kDim * kDim, head.matrix,
                   [](double s) { return static_cast<float>(s); });
    std::copy_n(head.matrix, kDim * kDim, head.running);
  }

 private:
  static void decay(Head& head, int t) {
    const double factor = std::exp(head.gamma[t] - (t == 0 ? 0.0 : head.gamma[t - 1]));
    for (double& s : head.running)
      s *= factor;
  }

  static void update(Head& head, int t, const double* k) {
    for (int i = 0; i < kDim; ++i) {
      for (int j = 0; j < kDim; ++j)
        head.running[i * kDim + j] += k[i] * head.v[t][j];
    }
  }
};

/// Walks one key head and its value heads through the rows of one sequence.
template <typename Form>
class KeyHeadWalk {
 public:
  KeyHeadWalk(const GdnRecurrenceArgs& args, int64_t key_head)
      : args_(args),
        key_head_(key_head),
        group_(args.value_heads / args.key_heads),
        heads_(std::make_unique<Head[]>(static_cast<size_t>(group_))) {}

  void run(const GdnSequence& sequence) {
    const RowSpan& span = sequence.span;
    resume(sequence, span.start);
    for (int64_t i = 0; i < span.rows; ++i) {
      const int64_t position = span.start + i;
      const int t = static_cast<int>(position % kGdnChunk);
      token(sequence, span.first_row + i, position / kGdnChunk, t);
      if (t == kGdnChunk - 1) fold(sequence, position / kGdnChunk + 1);
    }
  }

 private:
  Head& head(int64_t g) { return heads_[static_cast<size_t>(g)]; }
  int64_t value_head(int64_t g) const { return key_head_ * group_ + g; }

  void resume(const GdnSequence& sequence, int64_t start) {
    const int64_t chunk = start / kGdnChunk;
    const int tokens = static_cast<int>(start % kGdnChunk);
    const float* matrix = sequence.matrices.at(chunk);
    const GdnLog* log = sequence.logs.at(chunk);
    CHECK((matrix != nullptr || chunk == 0) && (log != nullptr || tokens == 0));
    for (int t = 0; t < tokens; ++t)
      std::copy_n(log->k + (t * args_.key_heads + key_head_) * kDim, kDim, keys_[t]);
    for (int64_t g = 0; g < group_; ++g) {
      Head& h = head(g);
      if (matrix != nullptr) {
        std::copy_n(matrix + value_head(g) * kDim * kDim, kDim * kDim, h.matrix);
      } else {
        std::fill_n(h.matrix, kDim * kDim, 0.0f);
      }
      for (int t = 0; t < tokens; ++t) {
        h.gamma[t] = log->gamma[t * args_.value_heads + value_head(g)];
        std::copy_n(log->v + (t * args_.value_heads + value_head(g)) * kDim, kDim, h.v[t]);
      }
      Form::resume(h, keys_, tokens);
    }
  }

  void token(const GdnSequence& sequence, int64_t row, int64_t chunk, int t) {
    const int64_t width = (2 * args_.key_heads + args_.value_heads) * kDim;
    const float* qkv = args_.qkv + row * width;
    double q[kDim], k[kDim];
    normalize(qkv + key_head_ * kDim, 1.0 / std::sqrt(double{kDim}), q);
    normalize(qkv + (args_.key_heads + key_head_) * kDim, 1.0, k);
    for (int i = 0; i < kDim; ++i)
      k[i] = keys_[t][i] = static_cast<float>(k[i]);

    for (int64_t g = 0; g < group_; ++g) {
      const int64_t index = row * args_.value_heads + value_head(g);
      Head& h = head(g);
      h.gamma[t] = (t == 0 ? 0.0 : h.gamma[t - 1]) + args_.decay[index];
      double out[kDim];
      Form::token(h, keys_, t, {q, k, qkv + (2 * args_.key_heads + value_head(g)) * kDim, args_.beta[index]},
                  out);
      std::transform(out, out + kDim, args_.out + index * kDim,
                     [](double o) { return static_cast<float>(o); });
    }
    if (const GdnLog* log = sequence.logs.at(chunk)) store(*log, t);
  }

  void store(const GdnLog& log, int t) {
    std::copy_n(keys_[t], kDim, log.k + (t * args_.key_heads + key_head_) * kDim);
    for (int64_t g = 0; g < group_; ++g) {
      log.gamma[t * args_.value_heads + value_head(g)] = head(g).gamma[t];
      std::copy_n(head(g).v[t], kDim, log.v + (t * args_.value_heads + value_head(g)) * kDim);
    }
  }

  void fold(const GdnSequence& sequence, int64_t next_chunk) {
    float* kept = sequence.matrices.at(next_chunk);
    for (int64_t g = 0; g < group_; ++g) {
      Form::fold(head(g), keys_);
      if (kept != nullptr) std::copy_n(head(g).matrix, kDim * kDim, kept + value_head(g) * kDim * kDim);
    }
  }

  const GdnRecurrenceArgs& args_;
  const int64_t key_head_;
  const int64_t group_;
  std::unique_ptr<Head[]> heads_;
  float keys_[kGdnChunk][kDim];
};

template <typename Form>
void run(const GdnRecurrenceArgs& args, int64_t begin, int64_t end) {
  for (int64_t key_head = begin; key_head < end; ++key_head) {
    KeyHeadWalk<Form> walk(args, key_head);
    for (const GdnSequence& sequence : args.sequences)
      walk.run(sequence);
  }
}

}  // namespace

void gdn_recurrence_log(const GdnRecurrenceArgs& args, int64_t begin, int64_t end) {
  run<LogForm>(args, begin, end);
}

void gdn_recurrence_plain(const GdnRecurrenceArgs& args, int64_t begin, int64_t end) {
  run<PlainForm>(args, begin, end);
}

}  // namespace lirio::ref
