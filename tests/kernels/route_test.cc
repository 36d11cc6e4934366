// route: softmax over all experts, the eight largest, renormalised (spec 4.6).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
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

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Choice {
  std::vector<int32_t> experts;
  std::vector<float> weights;
};

Choice choose(const std::vector<float>& logits, int64_t rows = 1) {
  Guarded<int32_t> experts(rows * 8);
  Guarded<float> weights(rows * 8);
  const auto count = static_cast<int64_t>(logits.size()) / rows;
  ref::route({logits.data(), rows, count, experts.data(), weights.data()}, 0, rows);
  return {{experts.span().begin(), experts.span().end()}, {weights.span().begin(), weights.span().end()}};
}

/// As the model states it: probabilities over all experts first, then eight times the largest that is left.
void expect_top_eight(const float* logits, int64_t count, const int32_t* experts, const float* weights) {
  const float highest = *std::max_element(logits, logits + count);
  std::vector<long double> p;
  long double total = 0;
  for (int64_t e = 0; e < count; ++e) {
    p.push_back(std::exp(static_cast<long double>(logits[e]) - highest));
    total += p.back();
  }
  for (long double& probability : p)
    probability /= total;
  std::vector<size_t> chosen;
  long double chosen_total = 0;
  std::vector<bool> taken(p.size());
  for (int slot = 0; slot < 8; ++slot) {
    size_t best = p.size();
    for (size_t e = 0; e < p.size(); ++e) {
      if (!taken[e] && (best == p.size() || p[e] > p[best])) best = e;
    }
    taken[best] = true;
    chosen.push_back(best);
    chosen_total += p[best];
  }
  for (size_t slot = 0; slot < 8; ++slot) {
    ASSERT_EQ(experts[slot], static_cast<int32_t>(chosen[slot])) << "slot " << slot;
    const long double weight = p[chosen[slot]] / chosen_total;
    ASSERT_TRUE(rounds_to(weights[slot], weight)) << "slot " << slot;
  }
}

TEST(Route, IsSoftmaxOverAllTopEightRenormalised) {
  Random random(1);
  for (const int64_t count : {8, 9, 64, 256}) {
    for (const double scale : {0.01, 1.0, 8.0}) {
      constexpr int64_t kRows = 20;
      const std::vector<float> logits = random.normals(kRows * count, scale);
      const Choice choice = choose(logits, kRows);
      for (int64_t row = 0; row < kRows; ++row) {
        expect_top_eight(logits.data() + row * count, count, choice.experts.data() + row * 8,
                         choice.weights.data() + row * 8);
      }
    }
  }
}

TEST(Route, SlotsFallAndWeightsSumToOne) {
  Random random(2);
  for (int i = 0; i < 100; ++i) {
    const std::vector<float> logits = random.normals(256, 3);
    const Choice choice = choose(logits);
    double total = 0;
    for (size_t slot = 0; slot < 8; ++slot) {
      total += choice.weights[slot];
      if (slot == 0) continue;
      ASSERT_GE(choice.weights[slot - 1], choice.weights[slot]);
      ASSERT_GE(logits[static_cast<size_t>(choice.experts[slot - 1])],
                logits[static_cast<size_t>(choice.experts[slot])]);
    }
    ASSERT_NEAR(total, 1.0, 8 * 0x1p-25);  // eight roundings of numbers below 1
  }
}

TEST(Route, TiesGoToTheLowestExpert) {
  std::vector<float> logits(32, 0.0f);
  for (const size_t e : {5, 9, 20, 31})
    logits[e] = 2.0f;
  EXPECT_EQ(choose(logits).experts, (std::vector<int32_t>{5, 9, 20, 31, 0, 1, 2, 3}));
  for (size_t e = 10; e < 32; ++e)
    logits[e] = 2.0f;  // more than eight tie for the top
  EXPECT_EQ(choose(logits).experts, (std::vector<int32_t>{5, 9, 10, 11, 12, 13, 14, 15}));
}

TEST(Route, ZerosOfBothSignsTie) {
  std::vector<float> logits(10, -0.0f);
  logits[9] = 0.0f;
  EXPECT_EQ(choose(logits).experts, (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Route, EqualLogitsGiveTheFirstEightAnEighth) {
  for (const float logit : {0.0f, -1e30f, 1e30f, kInfinity, -kInfinity, kNan}) {
    const Choice choice = choose(std::vector<float>(256, logit));
    EXPECT_EQ(choice.experts, (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7})) << logit;
    EXPECT_EQ(choice.weights, std::vector<float>(8, 0.125f)) << logit;
  }
}

TEST(Route, ALogitThatIsNanIsChosenLastAndWeighsNothing) {
  std::vector<float> logits(256, kNan);
  for (size_t i = 0; i < 8; ++i)
    logits[250 - 30 * i] = static_cast<float>(i);
  Choice choice = choose(logits);
  EXPECT_EQ(choice.experts, (std::vector<int32_t>{40, 70, 100, 130, 160, 190, 220, 250}));
  for (const float weight : choice.weights)
    EXPECT_GT(weight, 0);

  std::vector<float> few(20, kNan);
  few[17] = 1.0f;
  few[3] = -1.0f;
  choice = choose(few);
  EXPECT_EQ(choice.experts, (std::vector<int32_t>{17, 3, 0, 1, 2, 4, 5, 6}));
  EXPECT_TRUE(rounds_to(choice.weights[0], testing::sigmoid(2)));
  EXPECT_TRUE(rounds_to(choice.weights[1], testing::sigmoid(-2)));
  for (size_t slot = 2; slot < 8; ++slot)
    EXPECT_EQ(choice.weights[slot], 0.0f);
}

TEST(Route, NanTiesWithMinusInfinity) {
  std::vector<float> logits{kNan, -kInfinity, kNan, -kInfinity, kNan, 1, 1, 1, 1, 1, -kInfinity};
  EXPECT_EQ(choose(logits).experts, (std::vector<int32_t>{5, 6, 7, 8, 9, 0, 1, 2}));
}

TEST(Route, InfiniteLogitsLeaveNoNanBehind) {
  std::vector<float> logits(20, -kInfinity);
  logits[11] = 3.0f;
  Choice choice = choose(logits);
  EXPECT_EQ(choice.experts, (std::vector<int32_t>{11, 0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(choice.weights, (std::vector<float>{1, 0, 0, 0, 0, 0, 0, 0}));
  logits[12] = kInfinity;
  logits[15] = kInfinity;
  choice = choose(logits);
  EXPECT_EQ(choice.experts, (std::vector<int32_t>{12, 15, 11, 0, 1, 2, 3, 4}));
  EXPECT_EQ(choice.weights, (std::vector<float>{0.5, 0.5, 0, 0, 0, 0, 0, 0}));
}

TEST(Route, LargeLogitsDoNotOverflow) {
  std::vector<float> logits(16, -3e38f);
  logits[2] = 3e38f;
  const Choice choice = choose(logits);
  EXPECT_EQ(choice.experts[0], 2);
  EXPECT_EQ(choice.weights, (std::vector<float>{1, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Route, ExpertsOfARowAreDistinct) {
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    std::vector<float> logits(40);
    for (float& logit : logits)
      logit = static_cast<float>(random.integer(-2, 2));
    const Choice choice = choose(logits);
    EXPECT_EQ(std::set<int32_t>(choice.experts.begin(), choice.experts.end()).size(), 8u);
  }
}

TEST(Route, ARangeWritesItsOwnRowsOnly) {
  Random random(4);
  const std::vector<float> logits = random.normals(3 * 16);
  Guarded<int32_t> experts(24);
  Guarded<float> weights(24);
  ref::route({logits.data(), 3, 16, experts.data(), weights.data()}, 1, 2);
  for (int64_t i = 0; i < 24; ++i) {
    EXPECT_EQ(experts.untouched(i), i / 8 != 1) << i;
    EXPECT_EQ(weights.untouched(i), i / 8 != 1) << i;
  }
  expect_top_eight(logits.data() + 16, 16, experts.data() + 8, weights.data() + 8);
}

}  // namespace
}  // namespace lirio
