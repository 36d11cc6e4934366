// sample: what may be drawn, in which order the limits apply, and that the draws follow the distribution.
// Seeds are fixed, so the statistical tests are deterministic: their bounds only say how unlikely a correct
// sampler is to fail them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "kernels/ref/kernels.h"
#include "support/guarded.h"
#include "support/random.h"

namespace lirio {
namespace {

using testing::Guarded;
using testing::Random;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int kDraws = 20'000;

constexpr SampleRow kGreedy{.temperature = 0, .top_k = 0, .top_p = 1, .seed = 1, .position = 0};
constexpr SampleRow kFree{.temperature = 1, .top_k = 0, .top_p = 1, .seed = 1, .position = 0};

SampleRow at(SampleRow row, int64_t position) {
  row.position = position;
  return row;
}

/// One row's token; by default every id may be drawn.
int32_t sample(const std::vector<float>& logits, const SampleRow& row, int32_t vocabulary = -1) {
  Guarded<int32_t> token(1);
  const auto width = static_cast<int64_t>(logits.size());
  const int32_t ids = vocabulary < 0 ? static_cast<int32_t>(width) : vocabulary;
  ref::sample({logits.data(), width, ids, std::span(&row, 1), token.data()}, 0, 1);
  return token[0];
}

/// How often each id is drawn over positions 0 .. count - 1.
std::map<int32_t, int> count_draws(const std::vector<float>& logits, const SampleRow& row, int count = kDraws,
                                   int32_t vocabulary = -1) {
  std::map<int32_t, int> counts;
  for (int position = 0; position < count; ++position)
    ++counts[sample(logits, at(row, position), vocabulary)];
  return counts;
}

std::vector<double> softmax(const std::vector<float>& logits, double temperature) {
  const double highest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> p;
  for (const float logit : logits)
    p.push_back(std::exp((logit - highest) / temperature));
  const double total = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& probability : p)
    probability /= total;
  return p;
}

/// Pearson's statistic of counts over ids of probability p; ids of probability 0 must not occur.
double chi_square(const std::map<int32_t, int>& counts, const std::vector<double>& p) {
  int draws = 0;
  for (const auto& [id, count] : counts)
    draws += count;
  double sum = 0;
  for (size_t id = 0; id < p.size(); ++id) {
    const auto found = counts.find(static_cast<int32_t>(id));
    const int count = found == counts.end() ? 0 : found->second;
    if (p[id] == 0) {
      EXPECT_EQ(count, 0) << "id " << id << " cannot be drawn";
      continue;
    }
    const double expected = p[id] * draws;
    EXPECT_GT(expected, 5) << "too rare for the statistic";
    sum += (count - expected) * (count - expected) / expected;
  }
  return sum;
}

/// A correct sampler exceeds these with probability 1e-4, by degrees of freedom (the chi-square
/// distribution's table).
constexpr double kChiSquareLimit[] = {0, 15.14, 18.42, 21.11, 23.51, 25.74, 27.86, 29.88, 31.83, 33.72};

/// A generator of its own, as Steele, Lea and Flood (2014) give SplitMix64.
class SplitMix64 {
 public:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;
  explicit SplitMix64(uint64_t state) : state_(state) {}
  uint64_t next() {
    uint64_t z = state_ += kStep;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

const std::vector<float>& ten_logits() {
  static const std::vector<float> logits{0.3f, 2.0f, -1.0f, 1.5f, 0.0f, 2.5f, -0.5f, 1.0f, 0.9f, -2.0f};
  return logits;
}

TEST(Sample, GreedyTakesTheHighestLogit) {
  EXPECT_EQ(sample(ten_logits(), kGreedy), 5);
  EXPECT_EQ(sample({-3.0f}, kGreedy), 0);
  EXPECT_EQ(sample({-kInfinity, -3e38f, -kInfinity}, kGreedy), 1);
  EXPECT_EQ(sample({1.0f, kInfinity, 3e38f}, kGreedy), 1);
}

TEST(Sample, GreedyTiesGoToTheLowestId) {
  EXPECT_EQ(sample({0, 1, 7, 3, 7, 7}, kGreedy), 2);
  EXPECT_EQ(sample(std::vector<float>(1000, -4.0f), kGreedy), 0);
  EXPECT_EQ(sample({-0.0f, 0.0f}, kGreedy), 0);
}

TEST(Sample, GreedyIgnoresTheOtherParameters) {
  for (int64_t position = 0; position < 50; ++position) {
    EXPECT_EQ(sample(ten_logits(), {0, static_cast<int32_t>(position % 11), 0.5f, 77, position}), 5);
  }
}

TEST(Sample, PaddingIsNeverDrawn) {
  std::vector<float> logits(20, 0.0f);
  std::fill(logits.begin() + 12, logits.end(), 50.0f);  // padding that would win everything
  logits[3] = 1.0f;
  EXPECT_EQ(sample(logits, kGreedy, 12), 3);
  for (const int32_t top_k : {0, 1, 5, 20}) {
    SampleRow row = kFree;
    row.top_k = top_k;
    for (const auto& [id, count] : count_draws(logits, row, 500, 12))
      EXPECT_LT(id, 12) << "top_k " << top_k;
  }
  std::fill(logits.begin(), logits.begin() + 12, -kInfinity);  // not even where nothing else is possible
  EXPECT_EQ(sample(logits, kGreedy, 12), 0);
  for (const auto& [id, count] : count_draws(logits, kFree, 500, 12))
    EXPECT_LT(id, 12);
  std::fill(logits.begin(), logits.begin() + 12, kNan);
  for (const auto& [id, count] : count_draws(logits, kFree, 500, 12))
    EXPECT_LT(id, 12);
}

TEST(Sample, TopKOfOneAndATinyTopPAreGreedy) {
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    std::vector<float> logits = random.normals(50, 0.1);
    if (i % 2 == 0) logits[40] = *std::max_element(logits.begin(), logits.end());  // sometimes a tie
    const int32_t greedy = sample(logits, kGreedy);
    EXPECT_EQ(sample(logits, {1.0f, 1, 1.0f, 5, i}), greedy);
    EXPECT_EQ(sample(logits, {1.0f, 0, 1e-6f, 5, i}), greedy);
    EXPECT_EQ(sample(logits, {1.0f, 0, 0.0f, 5, i}), greedy);
    EXPECT_EQ(sample(logits, {1e6f, 1, 1e-6f, 5, i}), greedy);
  }
}

TEST(Sample, TheDrawIsAFunctionOfSeedAndPosition) {
  const std::vector<float> logits(64, 0.0f);
  std::set<std::vector<int32_t>> streams;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{2}, ~uint64_t{0}}) {
    std::vector<int32_t> tokens;
    for (int64_t position = 0; position < 100; ++position) {
      const SampleRow row{1, 0, 1, seed, position};
      tokens.push_back(sample(logits, row));
      EXPECT_EQ(sample(logits, row), tokens.back());
    }
    EXPECT_GT(std::set<int32_t>(tokens.begin(), tokens.end()).size(), 40u);  // 50.7 of 64 is the mean
    streams.insert(tokens);
  }
  EXPECT_EQ(streams.size(), 4u);
}

TEST(Sample, TheUniformNumberIsSplitMix64AtThePosition) {
  // Of 1024 equally likely ids the id is the number's first ten bits. Position p uses output p, counted from
  // 1, of a generator whose state is the first output of a generator whose state is the seed; position 0 uses
  // what such a generator would have given one step earlier.
  const std::vector<float> logits(1024, 0.25f);
  for (const uint64_t seed : {uint64_t{0}, uint64_t{42}, uint64_t{0x123456789abcdef0}, ~uint64_t{0}}) {
    SplitMix64 positions(SplitMix64(seed).next() - SplitMix64::kStep);
    for (int64_t position = 0; position <= 50; ++position) {
      EXPECT_EQ(sample(logits, {1, 0, 1, seed, position}), static_cast<int32_t>(positions.next() >> 54))
          << seed << " " << position;
    }
  }
  EXPECT_EQ(SplitMix64(0).next(), 0xe220a8397b1dcdafu);  // the published first output of seed 0
}

TEST(Sample, EqualLogitsDrawAlikeWhateverTheyAre) {
  for (const float logit : {-3e38f, 3e38f, kInfinity, -kInfinity, kNan}) {
    for (int64_t position = 0; position < 100; ++position) {
      ASSERT_EQ(sample(std::vector<float>(8, logit), at(kFree, position)),
                sample(std::vector<float>(8, 0.0f), at(kFree, position)))
          << logit;
    }
  }
}

TEST(Sample, DrawsFollowTheDistributionOverPositions) {
  for (const float temperature : {0.7f, 1.0f, 2.0f}) {
    SampleRow row = kFree;
    row.temperature = temperature;
    const std::map<int32_t, int> counts = count_draws(ten_logits(), row);
    EXPECT_LT(chi_square(counts, softmax(ten_logits(), temperature)), kChiSquareLimit[9]) << temperature;
  }
}

TEST(Sample, DrawsFollowTheDistributionOverSeeds) {
  std::map<int32_t, int> counts;
  for (uint64_t seed = 0; seed < kDraws; ++seed)
    ++counts[sample(ten_logits(), {1, 0, 1, seed, 3})];
  EXPECT_LT(chi_square(counts, softmax(ten_logits(), 1)), kChiSquareLimit[9]);
}

TEST(Sample, NeighbouringPositionsAndSeedsAreIndependent) {
  const std::vector<float> logits(3, 0.0f);
  const std::vector<double> pairs(9, 1.0 / 9);
  std::map<int32_t, int> positions, seeds;
  for (int i = 0; i < kDraws; ++i) {
    const int32_t first = sample(logits, {1, 0, 1, 7, 2 * i}),
                  second = sample(logits, {1, 0, 1, 7, 2 * i + 1});
    ++positions[3 * first + second];
    const auto seed = static_cast<uint64_t>(2 * i);
    ++seeds[3 * sample(logits, {1, 0, 1, seed, 7}) + sample(logits, {1, 0, 1, seed + 1, 7})];
  }
  EXPECT_LT(chi_square(positions, pairs), kChiSquareLimit[8]);
  EXPECT_LT(chi_square(seeds, pairs), kChiSquareLimit[8]);
}

TEST(Sample, TopKKeepsTheHighestAndDrawsAmongThemInProportion) {
  SampleRow row = kFree;
  row.top_k = 3;  // ids 5, 1 and 3
  std::vector<float> kept(10, -kInfinity);
  for (const size_t id : {5, 1, 3})
    kept[id] = ten_logits()[id];
  EXPECT_LT(chi_square(count_draws(ten_logits(), row), softmax(kept, 1)), kChiSquareLimit[2]);
}

TEST(Sample, TopKTiesKeepTheLowestIds) {
  SampleRow row = kFree;
  row.top_k = 2;
  std::set<int32_t> drawn;
  for (const auto& [id, count] : count_draws({0, 1, 2, 1, 1}, row, 500))
    drawn.insert(id);
  EXPECT_EQ(drawn, (std::set<int32_t>{2, 1}));
}

TEST(Sample, TopKLargerThanTheVocabularyKeepsAll) {
  SampleRow row = kFree;
  for (const int32_t top_k : {10, 11, std::numeric_limits<int32_t>::max(), -1}) {
    row.top_k = top_k;
    for (int64_t position = 0; position < 300; ++position) {
      ASSERT_EQ(sample(ten_logits(), at(row, position)), sample(ten_logits(), at(kFree, position))) << top_k;
    }
  }
}

TEST(Sample, TopPKeepsTheSmallestLeadingSetThatReachesIt) {
  const std::vector<float> logits(4, 1.0f);  // exactly a quarter each
  const auto drawn = [&](float top_p) {
    SampleRow row = kFree;
    row.top_p = top_p;
    std::set<int32_t> ids;
    for (const auto& [id, count] : count_draws(logits, row, 500))
      ids.insert(id);
    return ids;
  };
  EXPECT_EQ(drawn(0.25f), (std::set<int32_t>{0}));
  EXPECT_EQ(drawn(0.26f), (std::set<int32_t>{0, 1}));
  EXPECT_EQ(drawn(0.5f), (std::set<int32_t>{0, 1}));
  EXPECT_EQ(drawn(0.75f), (std::set<int32_t>{0, 1, 2}));
  EXPECT_EQ(drawn(0.76f), (std::set<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(drawn(1.0f), (std::set<int32_t>{0, 1, 2, 3}));
}

TEST(Sample, TopPDrawsAmongTheKeptInProportion) {
  const std::vector<float> logits{std::log(0.15f), std::log(0.5f), std::log(0.05f), std::log(0.3f)};
  SampleRow row = kFree;
  row.top_p = 0.75f;  // 0.5 and 0.3
  EXPECT_LT(chi_square(count_draws(logits, row), {0, 0.5 / 0.8, 0, 0.3 / 0.8}), kChiSquareLimit[1]);
}

TEST(Sample, TemperatureThenTopKThenTopP) {
  const std::vector<float> logits{std::log(0.5f), std::log(0.3f), std::log(0.1f), std::log(0.1f)};
  // Cut to two, the probabilities are 5/8 and 3/8, and 0.6 is reached by the first; before top_k it would
  // take two.
  EXPECT_EQ(count_draws(logits, {1, 2, 0.6f, 3, 0}, 500).size(), 1u);
  EXPECT_EQ(count_draws(logits, {1, 0, 0.6f, 3, 0}, 500).size(), 2u);
  // Half the temperature squares them: 25/36 reaches 0.6 as well. Double takes roots: 0.38 and 0.29 reach 0.6
  // together.
  EXPECT_EQ(count_draws(logits, {0.5f, 0, 0.6f, 3, 0}, 500).size(), 1u);
  EXPECT_EQ(count_draws(logits, {2.0f, 0, 0.7f, 3, 0}, 500).size(), 3u);
}

TEST(Sample, NanCountsAsImpossible) {
  EXPECT_EQ(sample({kNan, -5.0f, kNan, -4.0f}, kGreedy), 3);
  for (const auto& [id, count] : count_draws({kNan, -5.0f, kNan, -4.0f}, kFree, 500))
    EXPECT_EQ(id % 2, 1);
  SampleRow row = kFree;
  row.top_k = 3;  // must take one of the impossible ids among its candidates, and still not draw it
  for (const auto& [id, count] : count_draws({kNan, -5.0f, kNan, -4.0f}, row, 500))
    EXPECT_EQ(id % 2, 1);
}

TEST(Sample, LogitsOfMinusInfinityAreNotDrawn) {
  const std::vector<float> logits{-kInfinity, 0.0f, -kInfinity, 0.0f, -kInfinity};
  for (const float temperature : {1e-30f, 1.0f, 1e30f, std::numeric_limits<float>::max()}) {
    SampleRow row = kFree;
    row.temperature = temperature;
    for (const auto& [id, count] : count_draws(logits, row, 500))
      EXPECT_EQ(id % 2, 1) << temperature;
  }
}

TEST(Sample, SomethingIsDrawnWhereNothingIsPossible) {
  for (const float logit : {-kInfinity, kNan}) {
    const std::vector<float> logits(6, logit);
    EXPECT_EQ(sample(logits, kGreedy), 0);
    for (const int32_t top_k : {0, 1, 3, 100}) {
      for (int64_t position = 0; position < 100; ++position) {
        const int32_t id = sample(logits, {1, top_k, 0.9f, 3, position}, 5);
        EXPECT_TRUE(id >= 0 && id < 5) << id;
      }
    }
  }
}

TEST(Sample, AnInfiniteLogitIsAlwaysDrawn) {
  const std::vector<float> logits{3e38f, 0.0f, kInfinity, -kInfinity};
  for (const auto& [id, count] : count_draws(logits, kFree, 200))
    EXPECT_EQ(id, 2);
}

TEST(Sample, ATinyTemperatureIsGreedy) {
  Random random(2);
  for (int i = 0; i < 100; ++i) {
    const std::vector<float> logits = random.normals(50);
    for (const float temperature : {1e-6f, 1e-30f, std::numeric_limits<float>::denorm_min()}) {
      EXPECT_EQ(sample(logits, {temperature, 0, 1, 9, i}), sample(logits, kGreedy)) << temperature;
    }
  }
}

TEST(Sample, AHugeTemperatureDrawsAllAlike) {
  const std::vector<double> even(10, 0.1);
  for (const float temperature : {1e8f, std::numeric_limits<float>::max()}) {
    SampleRow row = kFree;
    row.temperature = temperature;
    EXPECT_LT(chi_square(count_draws(ten_logits(), row), even), kChiSquareLimit[9]) << temperature;
  }
}

TEST(Sample, LogitsMayBeHuge) {
  const std::vector<float> logits{-3e38f, 3e38f, 2.9e38f};
  for (const auto& [id, count] : count_draws(logits, kFree, 200))
    EXPECT_EQ(id, 1);
}

TEST(Sample, RowsHaveTheirOwnParametersAndARangeWritesItsOwnOnly) {
  Random random(3);
  constexpr int64_t kRows = 5, kWidth = 30;
  const std::vector<float> logits = random.normals(kRows * kWidth);
  const std::vector<SampleRow> rows{
      kGreedy, kFree, {0.5f, 4, 0.9f, 8, 11}, {2.0f, 0, 0.5f, 8, 12}, at(kFree, 6)};
  Guarded<int32_t> tokens(kRows);
  ref::sample({logits.data(), kWidth, 25, rows, tokens.data()}, 1, 4);
  EXPECT_TRUE(tokens.untouched(0) && tokens.untouched(4));
  ref::sample({logits.data(), kWidth, 25, rows, tokens.data()}, 0, 1);
  ref::sample({logits.data(), kWidth, 25, rows, tokens.data()}, 4, 5);
  for (int64_t row = 0; row < kRows; ++row) {
    const std::vector<float> own(logits.begin() + row * kWidth, logits.begin() + (row + 1) * kWidth);
    EXPECT_EQ(tokens[row], sample(own, rows[static_cast<size_t>(row)], 25)) << row;
  }
}

}  // namespace
}  // namespace lirio
