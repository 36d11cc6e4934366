// causal_conv: four taps over a sequence that arrives in steps of any size, its recent rows kept in blocks of
// four.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <vector>

#include "kernels/ref/kernels.h"
#include "support/guarded.h"
#include "support/naive.h"
#include "support/random.h"

namespace lirio {
namespace {

using testing::Guarded;
using testing::Random;
using testing::rounds_to;
using testing::Sum;

constexpr int64_t kChannels = 5;

/// Rows of one sequence and the blocks its state keeps.
struct Sequence {
  explicit Sequence(std::vector<float> rows) : u(std::move(rows)) {
    for (int64_t block = 0; block <= tokens() / 4; ++block)
      blocks.emplace_back(4 * kChannels);
  }
  int64_t tokens() const { return static_cast<int64_t>(u.size()) / kChannels; }

  /// Blocks [first, last]; those below `keep_from` are not kept.
  BlockPointers<float> pointers(int64_t first, int64_t last, int64_t keep_from = 0) {
    addresses.clear();
    for (int64_t block = first; block <= last; ++block) {
      addresses.push_back(block < keep_from ? nullptr : blocks[static_cast<size_t>(block)].data());
    }
    return {first, addresses};
  }

  std::vector<float> u;
  std::deque<Guarded<float>> blocks;
  std::vector<float*> addresses;
};

Sequence random_sequence(int64_t tokens, uint64_t seed) {
  Random random(seed);
  return Sequence(random.normals(tokens * kChannels));
}

std::vector<float> random_weight() {
  Random random(99);
  return random.normals(kChannels * 4);
}

/// Runs rows [start, end), given alone as a step; everything the state may keep is kept. Returns their
/// outputs.
std::vector<float> step(Sequence& sequence, const std::vector<float>& weight, int64_t start, int64_t end) {
  Guarded<float> out((end - start) * kChannels);
  const std::vector<ConvSequence> sequences{
      {{0, static_cast<int32_t>(end - start), start},
       sequence.pointers(std::max<int64_t>(0, start - 3) / 4, (end - 1) / 4)}};
  ref::causal_conv({sequence.u.data() + start * kChannels, weight.data(), kChannels, sequences, out.data()},
                   0, kChannels);
  return {out.span().begin(), out.span().end()};
}

void expect_convolution(const Sequence& sequence, const std::vector<float>& weight, const float* out,
                        int64_t start, int64_t end) {
  for (int64_t t = start; t < end; ++t) {
    for (int64_t channel = 0; channel < kChannels; ++channel) {
      Sum sum;
      for (int64_t tap = 0; tap < 4; ++tap) {
        if (t - 3 + tap < 0) continue;
        sum.add(static_cast<long double>(weight[static_cast<size_t>(channel * 4 + tap)]) *
                sequence.u[static_cast<size_t>((t - 3 + tap) * kChannels + channel)]);
      }
      const long double value = testing::silu(sum.value);
      const long double error =
          1.1L * sum.error() + testing::elementwise(value).error;  // |silu'| is at most 1.1
      ASSERT_TRUE(rounds_to(out[(t - start) * kChannels + channel], {value, error})) << t << " " << channel;
    }
  }
}

TEST(CausalConv, TapThreeIsTheCurrentRowAndTapZeroTheThirdBefore) {
  Sequence sequence(std::vector<float>(8 * kChannels, 0.0f));
  for (int64_t channel = 0; channel < kChannels; ++channel)
    sequence.u[static_cast<size_t>(2 * kChannels + channel)] = 1;
  std::vector<float> weight;
  for (int64_t channel = 0; channel < kChannels; ++channel)
    weight.insert(weight.end(), {1, 2, 3, 4});
  const std::vector<float> out = step(sequence, weight, 0, 8);
  const std::array<int, 8> taps{0, 0, 4, 3, 2, 1, 0, 0};
  for (size_t t = 0; t < 8; ++t) {
    for (size_t channel = 0; channel < kChannels; ++channel) {
      EXPECT_TRUE(rounds_to(out[t * kChannels + channel], testing::silu(taps[t]))) << t;
    }
  }
}

TEST(CausalConv, RowsBeforeTheStartAreZero) {
  Sequence sequence = random_sequence(3, 1);
  const std::vector<float> weight = random_weight();
  expect_convolution(sequence, weight, step(sequence, weight, 0, 3).data(), 0, 3);
}

TEST(CausalConv, AnyCutIntoStepsGivesTheSameBits) {
  constexpr int64_t kTokens = 23;
  Sequence whole = random_sequence(kTokens, 2);
  const std::vector<float> weight = random_weight();
  const std::vector<float> expected = step(whole, weight, 0, kTokens);
  expect_convolution(whole, weight, expected.data(), 0, kTokens);
  for (int64_t first = 1; first <= 9; ++first) {
    for (int64_t size = 1; size <= 9; ++size) {
      Sequence sequence = random_sequence(kTokens, 2);
      std::vector<float> out = step(sequence, weight, 0, first);
      for (int64_t start = first; start < kTokens; start += size) {
        const std::vector<float> rows = step(sequence, weight, start, std::min(kTokens, start + size));
        out.insert(out.end(), rows.begin(), rows.end());
      }
      ASSERT_TRUE(testing::same_elements<float>(out, expected)) << "first " << first << " then " << size;
    }
  }
}

TEST(CausalConv, BlocksHoldTheRowsBeforeTheConvolution) {
  Sequence sequence = random_sequence(10, 3);
  const std::vector<float> weight = random_weight();
  step(sequence, weight, 0, 6);
  for (int64_t t = 0; t < 12; ++t) {
    for (int64_t channel = 0; channel < kChannels; ++channel) {
      const Guarded<float>& block = sequence.blocks[static_cast<size_t>(t / 4)];
      const int64_t i = t % 4 * kChannels + channel;
      if (t < 6) {
        EXPECT_EQ(block[i], sequence.u[static_cast<size_t>(t * kChannels + channel)]);
      } else {
        EXPECT_TRUE(block.untouched(i)) << t;
      }
    }
  }
}

TEST(CausalConv, AStepRewritesNoRowBeforeIt) {
  Sequence sequence = random_sequence(10, 4);
  const std::vector<float> weight = random_weight();
  step(sequence, weight, 0, 6);
  Guarded<float> before(4 * kChannels);
  std::copy_n(sequence.blocks[1].data(), 4 * kChannels, before.data());
  const std::vector<float> kept = sequence.u;
  std::fill_n(sequence.u.begin(), 6 * kChannels,
              std::numeric_limits<float>::quiet_NaN());  // gone with its step
  const std::vector<float> out = step(sequence, weight, 6, 10);
  for (int64_t i = 0; i < 2 * kChannels; ++i)
    EXPECT_EQ(sequence.blocks[1][i], before[i]);
  sequence.u = kept;
  expect_convolution(sequence, weight, out.data(), 6, 10);
}

TEST(CausalConv, BlocksThatAreNotKeptAreSkipped) {
  constexpr int64_t kTokens = 15;
  Sequence sequence = random_sequence(kTokens, 5);
  const std::vector<float> weight = random_weight();
  Guarded<float> out(kTokens * kChannels);
  const auto run = [&](int64_t start, BlockPointers<float> blocks) {
    const std::vector<ConvSequence> sequences{{{0, static_cast<int32_t>(kTokens - start), start}, blocks}};
    ref::causal_conv({sequence.u.data() + start * kChannels, weight.data(), kChannels, sequences,
                      out.data() + start * kChannels},
                     0, kChannels);
  };
  run(0, sequence.pointers(0, 3, 2));  // blocks 0 and 1 as null pointers
  expect_convolution(sequence, weight, out.data(), 0, kTokens);
  for (size_t block : {0, 1})
    EXPECT_TRUE(sequence.blocks[block].untouched(0, 4 * kChannels));
  EXPECT_FALSE(sequence.blocks[2].untouched(0));
  out.poison();
  run(0, sequence.pointers(3, 3));  // the list of blocks starts late
  expect_convolution(sequence, weight, out.data(), 0, kTokens);
  run(0, {});  // nothing is kept at all
  expect_convolution(sequence, weight, out.data(), 0, kTokens);
}

TEST(CausalConv, SeveralSequencesShareAStep) {
  const std::vector<float> weight = random_weight();
  Sequence a = random_sequence(12, 6), b = random_sequence(12, 7), c = random_sequence(12, 8);
  step(a, weight, 0, 5);
  step(b, weight, 0, 2);
  std::vector<float> u;  // c from its start, then one row of a, then four of b
  u.insert(u.end(), c.u.begin(), c.u.begin() + 6 * kChannels);
  u.insert(u.end(), a.u.begin() + 5 * kChannels, a.u.begin() + 6 * kChannels);
  u.insert(u.end(), b.u.begin() + 2 * kChannels, b.u.begin() + 6 * kChannels);
  const std::vector<ConvSequence> sequences{
      {{6, 1, 5}, a.pointers(0, 1)}, {{7, 4, 2}, b.pointers(0, 1)}, {{0, 6, 0}, c.pointers(0, 1)}};
  Guarded<float> out(11 * kChannels);
  ref::causal_conv({u.data(), weight.data(), kChannels, sequences, out.data()}, 0, kChannels);
  expect_convolution(c, weight, out.data(), 0, 6);
  expect_convolution(a, weight, out.data() + 6 * kChannels, 5, 6);
  expect_convolution(b, weight, out.data() + 7 * kChannels, 2, 6);
}

TEST(CausalConv, ARangeWritesItsOwnChannelsOnly) {
  Sequence sequence = random_sequence(7, 9);
  const std::vector<float> weight = random_weight();
  Guarded<float> out(7 * kChannels);
  const std::vector<ConvSequence> sequences{{{0, 7, 0}, sequence.pointers(0, 1)}};
  const CausalConvArgs args{sequence.u.data(), weight.data(), kChannels, sequences, out.data()};
  ref::causal_conv(args, 1, 3);
  for (int64_t i = 0; i < out.size(); ++i) {
    const bool own = i % kChannels == 1 || i % kChannels == 2;
    EXPECT_EQ(out.untouched(i), !own) << i;
  }
  for (int64_t i = 0; i < 4 * kChannels; ++i) {
    EXPECT_EQ(sequence.blocks[0].untouched(i), i % kChannels != 1 && i % kChannels != 2) << i;
  }
  ref::causal_conv(args, 0, 1);
  ref::causal_conv(args, 3, kChannels);
  expect_convolution(sequence, weight, out.data(), 0, 7);
}

}  // namespace
}  // namespace lirio
