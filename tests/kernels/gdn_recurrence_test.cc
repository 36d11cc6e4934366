// gdn_recurrence: both forms against the recurrence as the model states it (spec 4.3), step by step in long
// double.
//
// Tolerance. The state is fp32: keys and corrected values v' are rounded when they enter the log, the matrix
// at each multiple of 64 tokens; sums are float64, whose roundings are lost in these. Let u = 2^-24 and e
// bound the distance of one column of the stored matrix from the exact one (columns do not mix; |k| <= 1 and
// 0 <= beta <= 1). A token gives
//   S' - exact = (I - beta k k^T) (S - exact) + terms in the roundings of k and v',
// where the first factor's norm is at most 1 and the terms' is at most u (beta |S| + 2 |v'|), so that
//   e <- e^g e + u (beta |S| + 2 |v'|),   at a fold   e <- e + u |S|,   |out - exact| <= |q| e,
// and v' is off by beta (e + u |S|) before it is rounded itself. The bound is the worst case and needs no
// tuning.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/ref/kernels.h"
#include "support/guarded.h"
#include "support/naive.h"
#include "support/random.h"

namespace lirio {
namespace {

using testing::Exact;
using testing::Guarded;
using testing::kFp32Rounding;
using testing::Random;
using testing::rounds_to;

constexpr int64_t kDim = 128, kChunk = 64;

/// The inputs of one sequence, from its start.
struct Stream {
  Stream(int64_t k_heads, int64_t v_heads, int64_t count)
      : key_heads(k_heads),
        value_heads(v_heads),
        tokens(count),
        qkv(static_cast<size_t>(count * width())),
        decay(static_cast<size_t>(count * v_heads)),
        beta(decay.size()) {}
  int64_t width() const { return (2 * key_heads + value_heads) * kDim; }
  float* q(int64_t t, int64_t head) { return qkv.data() + t * width() + head * kDim; }
  float* k(int64_t t, int64_t head) { return q(t, key_heads + head); }
  float* v(int64_t t, int64_t head) { return q(t, 2 * key_heads + head); }

  int64_t key_heads, value_heads, tokens;
  std::vector<float> qkv, decay, beta;
};

/// Decays from e^-0.001 to e^-2 a token; keys and values of the size that the model's are.
Stream random_stream(int64_t key_heads, int64_t value_heads, int64_t tokens, uint64_t seed) {
  Random random(seed);
  Stream stream(key_heads, value_heads, tokens);
  for (float& x : stream.qkv)
    x = static_cast<float>(random.normal());
  for (float& g : stream.decay)
    g = static_cast<float>(-std::exp(random.uniform(std::log(0.001), std::log(2.0))));
  for (float& b : stream.beta)
    b = static_cast<float>(random.uniform(0, 1));
  return stream;
}

/// What the recurrence yields: outputs, and what the state is to hold.
struct Naive {
  std::vector<Exact> out, v;                 ///< [tokens, Hv, 128]
  std::vector<long double> k;                ///< [tokens, Hk, 128], unit length
  std::vector<long double> gamma;            ///< [tokens, Hv], since the last multiple of 64
  std::vector<std::vector<Exact>> matrices;  ///< number c: S at token 64 c, [Hv, 128 (k), 128 (v)]
};

std::vector<long double> unit(const float* x) {
  long double squares = 0;
  for (int64_t i = 0; i < kDim; ++i)
    squares += static_cast<long double>(x[i]) * x[i];
  std::vector<long double> out(x, x + kDim);
  for (long double& value : out)
    value /= std::sqrt(squares + 1e-6L);
  return out;
}

/// One value head's matrix and the errors of its columns.
class NaiveHead {
 public:
  struct Result {
    Exact v, out;
  };

  void decay(long double g) {
    for (long double& s : s_)
      s *= std::exp(g);
    for (long double& e : error_)
      e *= std::exp(g);
  }

  /// After decay: the rest of a token.
  std::vector<Result> token(const std::vector<long double>& q, const std::vector<long double>& k,
                            const float* v, long double beta) {
    std::vector<Result> results(kDim);
    std::vector<long double> predicted(kDim), squares(kDim), out(kDim);
    for (size_t i = 0; i < kDim; ++i) {
      for (size_t j = 0; j < kDim; ++j) {
        predicted[j] += k[i] * s(i, j);
        squares[j] += s(i, j) * s(i, j);
      }
    }
    for (size_t j = 0; j < kDim; ++j) {
      const long double size = std::sqrt(squares[j]), delta = beta * (v[j] - predicted[j]);
      results[j].v = {delta, beta * (error_[j] + kFp32Rounding * size) + testing::elementwise(delta).error};
      error_[j] += kFp32Rounding * (beta * size + 2 * std::fabs(delta));
      results[j].out.error = 1.01L * error_[j] / std::sqrt(static_cast<long double>(kDim));
    }
    for (size_t i = 0; i < kDim; ++i) {
      for (size_t j = 0; j < kDim; ++j)
        out[j] += q[i] * (s(i, j) += k[i] * results[j].v.value);
    }
    for (size_t j = 0; j < kDim; ++j)
      results[j].out.value = out[j];
    return results;
  }

  /// Appends the matrix, [128, 128], as it is stored at a fold.
  void fold(std::vector<Exact>& matrix) {
    for (size_t i = 0; i < kDim; ++i) {
      for (size_t j = 0; j < kDim; ++j)
        matrix.push_back({s(i, j), 1.01L * error_[j]});
    }
    for (size_t j = 0; j < kDim; ++j) {
      long double squares = 0;
      for (size_t i = 0; i < kDim; ++i)
        squares += s(i, j) * s(i, j);
      error_[j] += kFp32Rounding * std::sqrt(squares) + kDim * 0x1p-150L;  // fp32 numbers may be subnormal
    }
  }

 private:
  long double& s(size_t i, size_t j) { return s_[i * kDim + j]; }
  std::vector<long double> s_ = std::vector<long double>(kDim * kDim);
  std::array<long double, kDim> error_{};
};

Naive naive_recurrence(Stream stream) {
  Naive naive;
  naive.matrices.resize(static_cast<size_t>(stream.tokens / kChunk) + 1);
  std::vector<NaiveHead> heads(static_cast<size_t>(stream.value_heads));
  std::vector<long double> gamma(heads.size());
  for (int64_t t = 0; t < stream.tokens; ++t) {
    std::vector<std::vector<long double>> q, k;
    for (int64_t head = 0; head < stream.key_heads; ++head) {
      q.push_back(unit(stream.q(t, head)));
      for (long double& x : q.back())
        x /= std::sqrt(static_cast<long double>(kDim));
      k.push_back(unit(stream.k(t, head)));
      naive.k.insert(naive.k.end(), k.back().begin(), k.back().end());
    }
    if (t % kChunk == 0) std::fill(gamma.begin(), gamma.end(), 0);
    for (size_t head = 0; head < heads.size(); ++head) {
      const size_t index = static_cast<size_t>(t) * heads.size() + head;
      const auto key_head =
          static_cast<size_t>(static_cast<int64_t>(head) * stream.key_heads / stream.value_heads);
      naive.gamma.push_back(gamma[head] += stream.decay[index]);
      heads[head].decay(stream.decay[index]);
      for (const auto& result : heads[head].token(
               q[key_head], k[key_head], stream.v(t, static_cast<int64_t>(head)), stream.beta[index])) {
        naive.v.push_back(result.v);
        naive.out.push_back(result.out);
      }
      if (t % kChunk == kChunk - 1) heads[head].fold(naive.matrices[static_cast<size_t>(t / kChunk) + 1]);
    }
  }
  return naive;
}

/// The state of one sequence: room for every matrix and log, all or some of which a step may be given.
class State {
 public:
  State(int64_t key_heads, int64_t value_heads, int64_t tokens) {
    for (int64_t chunk = 0; chunk <= tokens / kChunk; ++chunk) {
      matrices_.emplace_back(value_heads * kDim * kDim);
      gammas_.emplace_back(kChunk * value_heads);
      keys_.emplace_back(kChunk * key_heads * kDim);
      values_.emplace_back(kChunk * value_heads * kDim);
      logs_.push_back({gammas_.back().data(), keys_.back().data(), values_.back().data()});
    }
    set_kept([](int64_t) { return true; });
  }

  int64_t chunks() const { return static_cast<int64_t>(logs_.size()); }
  const Guarded<float>& matrix(int64_t chunk) const { return matrices_[static_cast<size_t>(chunk)]; }
  const Guarded<double>& gamma(int64_t chunk) const { return gammas_[static_cast<size_t>(chunk)]; }
  const Guarded<float>& keys(int64_t chunk) const { return keys_[static_cast<size_t>(chunk)]; }
  const Guarded<float>& values(int64_t chunk) const { return values_[static_cast<size_t>(chunk)]; }

  /// Which chunks' matrices and logs steps get from now on. Matrix 0 is never there: it is zero.
  void set_kept(const std::function<bool(int64_t)>& kept) {
    matrix_pointers_.clear();
    log_pointers_.clear();
    for (int64_t chunk = 0; chunk < chunks(); ++chunk) {
      matrix_pointers_.push_back(kept(chunk) && chunk > 0 ? matrices_[static_cast<size_t>(chunk)].data()
                                                          : nullptr);
      log_pointers_.push_back(kept(chunk) ? &logs_[static_cast<size_t>(chunk)] : nullptr);
    }
  }

  GdnSequence sequence(RowSpan span, int64_t first_chunk = 0) const {
    const auto skip = static_cast<size_t>(first_chunk);
    return {span,
            {first_chunk, std::span(matrix_pointers_).subspan(skip)},
            {first_chunk, std::span(log_pointers_).subspan(skip)}};
  }

 private:
  std::deque<Guarded<float>> matrices_, keys_, values_;
  std::deque<Guarded<double>> gammas_;
  std::vector<GdnLog> logs_;
  std::vector<float*> matrix_pointers_;
  std::vector<const GdnLog*> log_pointers_;
};

using Kernel = void (*)(const GdnRecurrenceArgs&, int64_t, int64_t);

/// Rows [start, end) of a stream as a step of their own. Returns their outputs.
std::vector<float> step(Kernel kernel, const Stream& stream, const GdnSequence& sequence) {
  const RowSpan& span = sequence.span;
  Guarded<float> out(span.rows * stream.value_heads * kDim);
  kernel(
      {stream.qkv.data() + span.start * stream.width(), stream.decay.data() + span.start * stream.value_heads,
       stream.beta.data() + span.start * stream.value_heads, stream.key_heads, stream.value_heads,
       std::span(&sequence, 1), out.data()},
      0, stream.key_heads);
  return {out.span().begin(), out.span().end()};
}

/// Steps of the given lengths, one after the other.
std::vector<float> steps(Kernel kernel, const Stream& stream, State& state,
                         const std::vector<int64_t>& lengths) {
  std::vector<float> out;
  int64_t start = 0;
  for (const int64_t length : lengths) {
    const std::vector<float> rows =
        step(kernel, stream, state.sequence({0, static_cast<int32_t>(length), start}));
    out.insert(out.end(), rows.begin(), rows.end());
    start += length;
  }
  return out;
}

void expect_outputs(const std::vector<float>& out, const Naive& naive, int64_t value_heads) {
  ASSERT_LE(out.size(), naive.out.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    ASSERT_TRUE(rounds_to(out[i], naive.out[i])) << "token " << index / kDim / value_heads << " head "
                                                 << index / kDim % value_heads << " dim " << index % kDim;
  }
}

/// The logs hold the first `tokens` tokens and the matrices their multiples of 64; nothing else is written.
void expect_state(const State& state, const Naive& naive, const Stream& stream, int64_t tokens) {
  const int64_t key_width = stream.key_heads * kDim, value_width = stream.value_heads * kDim;
  for (int64_t chunk = 0; chunk < state.chunks(); ++chunk) {
    const int64_t first = chunk * kChunk, used = std::clamp<int64_t>(tokens - first, 0, kChunk);
    for (int64_t i = 0; i < used * key_width; ++i) {
      ASSERT_TRUE(rounds_to(state.keys(chunk)[i], naive.k[static_cast<size_t>(first * key_width + i)])) << i;
    }
    for (int64_t i = 0; i < used * value_width; ++i) {
      ASSERT_TRUE(rounds_to(state.values(chunk)[i], naive.v[static_cast<size_t>(first * value_width + i)]))
          << i;
    }
    for (int64_t i = 0; i < used * stream.value_heads; ++i) {
      const auto expected =
          static_cast<double>(naive.gamma[static_cast<size_t>(first * stream.value_heads + i)]);
      ASSERT_NEAR(state.gamma(chunk)[i], expected, 64 * 0x1p-53 * std::fabs(expected)) << i;
    }
    EXPECT_TRUE(state.keys(chunk).untouched(used * key_width, kChunk * key_width)) << chunk;
    EXPECT_TRUE(state.values(chunk).untouched(used * value_width, kChunk * value_width)) << chunk;
    EXPECT_TRUE(state.gamma(chunk).untouched(used * stream.value_heads, kChunk * stream.value_heads))
        << chunk;
    if (chunk == 0 || first > tokens) {
      EXPECT_TRUE(state.matrix(chunk).untouched(0, state.matrix(chunk).size())) << chunk;
      continue;
    }
    const std::vector<Exact>& matrix = naive.matrices[static_cast<size_t>(chunk)];
    for (int64_t i = 0; i < state.matrix(chunk).size(); ++i) {
      ASSERT_TRUE(rounds_to(state.matrix(chunk)[i], matrix[static_cast<size_t>(i)]))
          << "chunk " << chunk << " " << i;
    }
  }
}

struct Form {
  const char* name;
  Kernel kernel;
};

class GdnRecurrence : public ::testing::TestWithParam<Form> {
 protected:
  static constexpr int64_t kTokens = 130;
  /// Three value heads to a key head, so that no other map of heads fits.
  static const Stream& stream() {
    static const Stream stream = random_stream(2, 6, kTokens, 1);
    return stream;
  }
  static const Naive& naive() {
    static const Naive naive = naive_recurrence(stream());
    return naive;
  }
  static void expect_recurrence(const Stream& inputs) {
    State state(inputs.key_heads, inputs.value_heads, inputs.tokens);
    const Naive expected = naive_recurrence(inputs);
    expect_outputs(steps(kernel(), inputs, state, {inputs.tokens}), expected, inputs.value_heads);
    expect_state(state, expected, inputs, inputs.tokens);
  }
  static Kernel kernel() { return GetParam().kernel; }
};

TEST_P(GdnRecurrence, IsTheRecurrenceAtEveryLength) {
  for (const int64_t length : {1, 63, 64, 65, 130}) {
    State state(2, 6, kTokens);
    expect_outputs(steps(kernel(), stream(), state, {length}), naive(), 6);
    expect_state(state, naive(), stream(), length);
  }
}

TEST_P(GdnRecurrence, AnyCutIntoStepsGivesTheSameBits) {
  State whole(2, 6, kTokens);
  const std::vector<float> expected = steps(kernel(), stream(), whole, {kTokens});
  std::vector<int64_t> ones_across_a_fold{59};
  ones_across_a_fold.insert(ones_across_a_fold.end(), 10, 1);
  ones_across_a_fold.push_back(kTokens - 69);
  for (const std::vector<int64_t>& lengths : {std::vector<int64_t>{64, 64, 2},
                                              {63, 1, 1, 65},
                                              {65, 65},
                                              {1, 128, 1},
                                              {60, 10, 60},
                                              ones_across_a_fold}) {
    State state(2, 6, kTokens);
    const std::vector<float> out = steps(kernel(), stream(), state, lengths);
    ASSERT_TRUE(testing::same_elements<float>(out, expected)) << "cut after " << lengths[0];
    for (int64_t chunk = 0; chunk < whole.chunks(); ++chunk) {
      EXPECT_TRUE(testing::same_elements(state.matrix(chunk), whole.matrix(chunk))) << chunk;
      EXPECT_TRUE(testing::same_elements(state.keys(chunk), whole.keys(chunk))) << chunk;
      EXPECT_TRUE(testing::same_elements(state.values(chunk), whole.values(chunk))) << chunk;
      EXPECT_TRUE(testing::same_elements(state.gamma(chunk), whole.gamma(chunk))) << chunk;
    }
  }
}

TEST_P(GdnRecurrence, WhatIsNotKeptIsNotWrittenAndNotMissed) {
  State whole(2, 6, kTokens), last(2, 6, kTokens), late(2, 6, kTokens);
  const std::vector<float> expected = steps(kernel(), stream(), whole, {kTokens});
  last.set_kept([](int64_t chunk) { return chunk == 2; });
  EXPECT_TRUE(testing::same_elements<float>(steps(kernel(), stream(), last, {kTokens}), expected));
  // The same with lists that begin at chunk 2.
  EXPECT_TRUE(
      testing::same_elements<float>(step(kernel(), stream(), late.sequence({0, kTokens, 0}, 2)), expected));
  for (const State* state : {&last, &late}) {
    EXPECT_TRUE(testing::same_elements(state->matrix(2), whole.matrix(2)));
    EXPECT_TRUE(testing::same_elements(state->values(2), whole.values(2)));
    for (int64_t chunk = 0; chunk < 2; ++chunk) {
      EXPECT_TRUE(state->matrix(chunk).untouched(0, state->matrix(chunk).size())) << chunk;
      EXPECT_TRUE(state->keys(chunk).untouched(0, state->keys(chunk).size())) << chunk;
      EXPECT_TRUE(state->values(chunk).untouched(0, state->values(chunk).size())) << chunk;
      EXPECT_TRUE(state->gamma(chunk).untouched(0, state->gamma(chunk).size())) << chunk;
    }
  }
}

TEST_P(GdnRecurrence, RewritingTheRowsAfterATruncationGivesTheSameBits) {
  State state(2, 6, kTokens);
  const std::vector<float> once = steps(kernel(), stream(), state, {70});
  for (const int64_t length : {60, 63, 64, 66}) {  // back over the fold, to it, and behind it
    const std::vector<float> again =
        step(kernel(), stream(), state.sequence({0, static_cast<int32_t>(70 - length), length}));
    const std::span<const float> tail = std::span(once).subspan(static_cast<size_t>(length * 6 * kDim));
    EXPECT_TRUE(testing::same_elements<float>(again, tail)) << length;
    expect_state(state, naive(), stream(), 70);
  }
}

TEST_P(GdnRecurrence, SequencesOfAStepDoNotMix) {
  const Stream other = random_stream(2, 6, 9, 2);
  State a(2, 6, 70), b(2, 6, 9), a_alone(2, 6, 70), b_alone(2, 6, 9);
  steps(kernel(), stream(), a, {61});
  std::vector<float> expected = steps(kernel(), stream(), a_alone, {61, 5});
  expected.erase(expected.begin(), expected.begin() + 61 * 6 * kDim);
  const std::vector<float> b_expected = steps(kernel(), other, b_alone, {9});
  expected.insert(expected.end(), b_expected.begin(), b_expected.end());

  Stream both(2, 6, 14);  // five rows of a from row 0 on, nine of b from row 5 on; b is served first
  std::copy_n(stream().qkv.begin() + 61 * both.width(), 5 * both.width(), both.qkv.begin());
  std::copy_n(stream().decay.begin() + 61 * 6, 5 * 6, both.decay.begin());
  std::copy_n(stream().beta.begin() + 61 * 6, 5 * 6, both.beta.begin());
  std::copy(other.qkv.begin(), other.qkv.end(), both.qkv.begin() + 5 * both.width());
  std::copy(other.decay.begin(), other.decay.end(), both.decay.begin() + 5 * 6);
  std::copy(other.beta.begin(), other.beta.end(), both.beta.begin() + 5 * 6);
  const std::array<GdnSequence, 2> sequences{b.sequence({5, 9, 0}), a.sequence({0, 5, 61})};
  Guarded<float> out(14 * 6 * kDim);
  kernel()({both.qkv.data(), both.decay.data(), both.beta.data(), 2, 6, sequences, out.data()}, 0, 2);
  EXPECT_TRUE(testing::same_elements<float>(out.span(), expected));
  EXPECT_TRUE(testing::same_elements(a.matrix(1), a_alone.matrix(1)));
  EXPECT_TRUE(testing::same_elements(b.values(0), b_alone.values(0)));
}

TEST_P(GdnRecurrence, ARangeWritesTheValueHeadsOfItsKeyHeadsOnly) {
  State whole(2, 6, 66), parts(2, 6, 66);
  const std::vector<float> expected = steps(kernel(), stream(), whole, {66});
  const GdnSequence sequence = parts.sequence({0, 66, 0});
  Guarded<float> out(66 * 6 * kDim);
  const GdnRecurrenceArgs args{
      stream().qkv.data(), stream().decay.data(), stream().beta.data(), 2, 6, std::span(&sequence, 1),
      out.data()};
  kernel()(args, 1, 2);
  for (int64_t i = 0; i < out.size(); ++i)
    ASSERT_EQ(out.untouched(i), i / kDim % 6 < 3) << i;
  for (int64_t i = 0; i < kChunk * 2 * kDim; ++i)
    ASSERT_EQ(parts.keys(0).untouched(i), i / kDim % 2 == 0) << i;
  for (int64_t i = 0; i < kChunk * 6; ++i)
    ASSERT_EQ(parts.gamma(0).untouched(i), i % 6 < 3) << i;
  EXPECT_TRUE(parts.matrix(1).untouched(0, 3 * kDim * kDim));
  kernel()(args, 0, 1);
  EXPECT_TRUE(testing::same_elements<float>(out.span(), expected));
  EXPECT_TRUE(testing::same_elements(parts.matrix(1), whole.matrix(1)));
}

TEST_P(GdnRecurrence, NeighbouringValueHeadsShareAKeyHead) {
  Stream inputs = random_stream(2, 4, 3, 3);
  for (int64_t t = 0; t < 3; ++t)
    std::fill_n(inputs.q(t, 1), kDim, 0.0f);
  State state(2, 4, 3);
  const std::vector<float> out = steps(kernel(), inputs, state, {3});
  for (size_t i = 0; i < out.size(); ++i)
    EXPECT_EQ(out[i] == 0.0f, i / kDim % 4 >= 2) << i;
}

TEST_P(GdnRecurrence, ScalesTheQueryAndNotTheKey) {
  Stream inputs(1, 1, 1);
  inputs.q(0, 0)[3] = 5.0f;
  inputs.k(0, 0)[3] = 7.0f;
  inputs.v(0, 0)[11] = 2.0f;
  inputs.beta[0] = 1;
  State state(1, 1, 1);
  const std::vector<float> out = steps(kernel(), inputs, state, {1});
  EXPECT_FLOAT_EQ(state.keys(0)[3], 1.0f);
  for (size_t i = 0; i < kDim; ++i)
    EXPECT_NEAR(out[i], i == 11 ? 2 / std::sqrt(128.0) : 0.0, 1e-7) << i;
}

TEST_P(GdnRecurrence, TinyKeysAreHeldByEpsilonOnTheSumOfSquares) {
  for (const float size : {1e-2f, 1e-3f, 1e-4f, 1e-20f, 0.0f}) {  // at 1e-3 square and epsilon are equal
    Stream inputs = random_stream(1, 2, 4, 4);
    for (int64_t t = 0; t < 4; ++t) {
      std::fill_n(inputs.q(t, 0), 2 * kDim, 0.0f);
      inputs.q(t, 0)[t] = inputs.k(t, 0)[t] = size;
    }
    expect_recurrence(inputs);
    State state(1, 2, 4);
    steps(kernel(), inputs, state, {4});
    EXPECT_FLOAT_EQ(state.keys(0)[0], size / std::sqrt(double{size} * size + 1e-6)) << size;
  }
}

TEST_P(GdnRecurrence, HugeInputsDoNotOverflow) {
  Stream inputs = random_stream(1, 1, 3, 5);
  for (float& x : inputs.qkv)
    x *= 1e35f;
  expect_recurrence(inputs);
}

TEST_P(GdnRecurrence, StrongDecayForgetsWithoutNanOrInfinity) {
  for (const float g : {-50.0f, -3e38f}) {
    Stream inputs = random_stream(1, 1, 66, 6);
    std::fill(inputs.decay.begin(), inputs.decay.end(), g);
    State state(1, 1, 66);
    for (const float value : steps(kernel(), inputs, state, {66}))
      ASSERT_TRUE(std::isfinite(value)) << g;
    for (const float value : state.matrix(1).span())
      ASSERT_TRUE(std::isfinite(value)) << g;
    expect_recurrence(inputs);
  }
}

TEST_P(GdnRecurrence, OneStrongDecayForgetsAllThatWasBeforeIt) {
  Stream inputs = random_stream(1, 1, 70, 7);
  inputs.decay[20] = inputs.decay[66] = -2000.0f;
  expect_recurrence(inputs);
}

TEST_P(GdnRecurrence, WithoutDecayNothingFades) {
  Stream inputs = random_stream(1, 2, 130, 8);
  std::fill(inputs.decay.begin(), inputs.decay.end(), 0.0f);
  expect_recurrence(inputs);
}

TEST_P(GdnRecurrence, BetaZeroLeavesTheStateAsItWas) {
  Stream inputs = random_stream(1, 2, 66, 9);
  std::fill(inputs.beta.begin(), inputs.beta.end(), 0.0f);
  State state(1, 2, 66);
  for (const float value : steps(kernel(), inputs, state, {66}))
    ASSERT_EQ(value, 0.0f);
  for (const float value : state.matrix(1).span())
    ASSERT_EQ(value, 0.0f);
  std::fill_n(inputs.beta.begin(), 2 * 30, 0.7f);  // something to keep, and then nothing more
  expect_recurrence(inputs);
}

TEST_P(GdnRecurrence, BetaOneReplacesWhatAKeyHeld) {
  Stream inputs = random_stream(1, 2, 70, 10);
  std::fill(inputs.beta.begin(), inputs.beta.end(), 1.0f);
  std::fill(inputs.decay.begin(), inputs.decay.end(), 0.0f);
  for (int64_t t = 0; t < 70; ++t) {  // one key for all, of unit length up to epsilon
    std::fill_n(inputs.q(t, 0), 2 * kDim, 1e3f);
  }
  State state(1, 2, 70);
  const std::vector<float> out = steps(kernel(), inputs, state, {70});
  for (int64_t t = 0; t < 70; ++t) {
    for (int64_t i = 0; i < 2 * kDim;
         ++i) {  // reading with the key gives the last value, whatever came before
      ASSERT_NEAR(out[static_cast<size_t>(t * 2 * kDim + i)], inputs.v(t, 0)[i] / std::sqrt(128.0), 1e-5)
          << t;
    }
  }
  expect_recurrence(inputs);
}

TEST_P(GdnRecurrence, GammaStartsAgainWithEveryChunk) {
  Stream inputs = random_stream(1, 1, 66, 11);
  std::fill(inputs.decay.begin(), inputs.decay.end(), -0.125f);
  State state(1, 1, 66);
  steps(kernel(), inputs, state, {40, 26});
  for (int64_t t = 0; t < 66; ++t)
    EXPECT_EQ(state.gamma(t / 64)[t % 64], -0.125 * static_cast<double>(t % 64 + 1)) << t;
}

INSTANTIATE_TEST_SUITE_P(, GdnRecurrence,
                         ::testing::Values(Form{"LogForm", ref::gdn_recurrence_log},
                                           Form{"PlainForm", ref::gdn_recurrence_plain}),
                         [](const auto& form) { return std::string(form.param.name); });

}  // namespace
}  // namespace lirio
