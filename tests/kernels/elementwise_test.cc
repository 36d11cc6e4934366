// The ops without reductions: gdn_gates, sigmoid_gate, swiglu, add_residual and add_experts.
#include <gtest/gtest.h>

#include <cmath>
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

constexpr float kLargest = std::numeric_limits<float>::max();

struct Gates {
  float decay, beta;
};

Gates gates(float a, float b, float a_log, float dt_bias) {
  Guarded<float> decay(1), beta(1);
  ref::gdn_gates({&a, &b, &a_log, &dt_bias, 1, 1, decay.data(), beta.data()}, 0, 1);
  return {decay[0], beta[0]};
}

TEST(GdnGates, AreTheFormulas) {
  Random random(1);
  constexpr int64_t kRows = 40, kHeads = 7;
  const std::vector<float> a = random.normals(kRows * kHeads, 6), b = random.normals(kRows * kHeads, 6);
  const std::vector<float> a_log = random.uniforms(kHeads, -4, 3), dt_bias = random.normals(kHeads, 3);
  Guarded<float> decay(kRows * kHeads), beta(kRows * kHeads);
  ref::gdn_gates({a.data(), b.data(), a_log.data(), dt_bias.data(), kRows, kHeads, decay.data(), beta.data()},
                 0, kRows);
  for (int64_t i = 0; i < kRows * kHeads; ++i) {
    const auto index = static_cast<size_t>(i), head = static_cast<size_t>(i % kHeads);
    const long double step = static_cast<long double>(a[index]) + dt_bias[head];
    const long double softplus = std::log1p(std::exp(step));
    const long double expected = -std::exp(static_cast<long double>(a_log[head])) * softplus;
    // The sum a + dt_bias is rounded before the exponential: an absolute error of its size.
    const long double error = (16 + 2 * std::fabs(step)) * testing::kFp64Rounding * std::fabs(expected);
    ASSERT_TRUE(rounds_to(decay[i], {expected, error})) << i;
    ASSERT_TRUE(rounds_to(beta[i], testing::sigmoid(b[index]))) << i;
  }
}

TEST(GdnGates, ExtremeInputsNeitherOverflowNorBecomeNan) {
  EXPECT_EQ(gates(kLargest, 0, 0, 0).decay, -kLargest);
  EXPECT_EQ(gates(1e5f, 0, 0, 0).decay, -1e5f);
  EXPECT_EQ(gates(1e5f, 0, 0, -1e5f).decay, -static_cast<float>(std::log(2.0)));
  EXPECT_EQ(gates(kLargest, 0, 0, -kLargest).decay, -static_cast<float>(std::log(2.0)));
  EXPECT_EQ(std::fabs(gates(-kLargest, 0, 0, 0).decay), 0.0f);
  EXPECT_EQ(std::fabs(gates(-1e5f, 0, 5, 0).decay), 0.0f);
  EXPECT_EQ(gates(0, kLargest, 0, 0).beta, 1.0f);
  EXPECT_EQ(gates(0, 100, 0, 0).beta, 1.0f);
  EXPECT_EQ(gates(0, -kLargest, 0, 0).beta, 0.0f);
  EXPECT_EQ(gates(0, 0, 0, 0).beta, 0.5f);
}

TEST(GdnGates, ASlowDecayKeepsItsPrecision) {
  // log(1 + e^-30) is e^-30 (1 - e^-30 / 2): adding to 1 first would leave nothing in fp32 and little in
  // float64.
  EXPECT_TRUE(rounds_to(gates(-30, 0, 0, 0).decay, -std::log1p(std::exp(-30.0L))));
  EXPECT_TRUE(rounds_to(gates(-80, 0, 0, 0).decay, -std::exp(-80.0L)));
  EXPECT_TRUE(rounds_to(gates(0, -80, 0, 0).beta, std::exp(-80.0L)));
}

TEST(GdnGates, DecayNeverLetsTheStateGrow) {
  Random random(2);
  for (int i = 0; i < 2000; ++i) {
    const Gates g =
        gates(static_cast<float>(random.uniform(-200, 200)), static_cast<float>(random.uniform(-200, 200)),
              static_cast<float>(random.uniform(-10, 5)), static_cast<float>(random.uniform(-50, 50)));
    ASSERT_LE(g.decay, 0.0f);
    ASSERT_GE(g.beta, 0.0f);
    ASSERT_LE(g.beta, 1.0f);
  }
}

TEST(GdnGates, ARangeWritesItsOwnRowsOnly) {
  const std::vector<float> a(6, 1.0f), b(6, 1.0f), a_log(2, 0.0f), dt_bias(2, 0.0f);
  Guarded<float> decay(6), beta(6);
  ref::gdn_gates({a.data(), b.data(), a_log.data(), dt_bias.data(), 3, 2, decay.data(), beta.data()}, 1, 2);
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(decay.untouched(i), i / 2 != 1) << i;
    EXPECT_EQ(beta.untouched(i), i / 2 != 1) << i;
  }
}

TEST(SigmoidGate, TheGateIsTheSecondHalfOfEachHead) {
  Random random(3);
  constexpr int64_t kRows = 3, kHeads = 4;
  const std::vector<float> x = random.normals(kRows * kHeads * 256);
  std::vector<float> q_gate = random.normals(kRows * kHeads * 512, 4);
  for (size_t i = 0; i < q_gate.size(); ++i) {
    if (i % 512 < 256) q_gate[i] = std::numeric_limits<float>::quiet_NaN();  // the query: not this op's
  }
  Guarded<float> out(kRows * kHeads * 256);
  ref::sigmoid_gate({x.data(), q_gate.data(), kRows, kHeads, out.data()}, 0, kRows);
  for (int64_t i = 0; i < out.size(); ++i) {
    const float gate = q_gate[static_cast<size_t>(i / 256 * 512 + 256 + i % 256)];
    ASSERT_TRUE(rounds_to(out[i], x[static_cast<size_t>(i)] * testing::sigmoid(gate))) << i;
  }
}

TEST(SigmoidGate, GatesMayBeHuge) {
  const std::vector<float> x(256, 3.0f);
  std::vector<float> q_gate(512, 0.0f);
  q_gate[256] = kLargest;
  q_gate[257] = -kLargest;
  Guarded<float> out(256);
  ref::sigmoid_gate({x.data(), q_gate.data(), 1, 1, out.data()}, 0, 1);
  EXPECT_EQ(out[0], 3.0f);
  EXPECT_EQ(out[1], 0.0f);
  EXPECT_EQ(out[2], 1.5f);
}

TEST(SigmoidGate, ARangeWritesItsOwnRowsOnly) {
  const std::vector<float> x(3 * 256, 1.0f), q_gate(3 * 512, 1.0f);
  Guarded<float> out(3 * 256);
  ref::sigmoid_gate({x.data(), q_gate.data(), 3, 1, out.data()}, 1, 2);
  for (int64_t i = 0; i < out.size(); ++i)
    EXPECT_EQ(out.untouched(i), i / 256 != 1) << i;
}

TEST(SwiGlu, IsTheFormula) {
  Random random(4);
  const std::vector<float> gate = random.normals(500, 5), up = random.normals(500, 5);
  Guarded<float> out(500);
  ref::swiglu({gate.data(), up.data(), 5, 100, out.data()}, 0, 5);
  for (int64_t i = 0; i < 500; ++i) {
    const auto index = static_cast<size_t>(i);
    ASSERT_TRUE(rounds_to(out[i], testing::silu(gate[index]) * up[index])) << i;
  }
}

TEST(SwiGlu, LargeMagnitudesDoNotOverflowOnTheWay) {
  const std::vector<float> gate{kLargest, -kLargest, 1e30f, -1e30f, -80.0f, 1e-40f, 0.0f, -800.0f};
  const std::vector<float> up{0.5f, kLargest, 1e8f, 1e8f, 1e30f, 1e38f, kLargest, kLargest};
  Guarded<float> out(8);
  ref::swiglu({gate.data(), up.data(), 1, 8, out.data()}, 0, 1);
  EXPECT_EQ(out[0], kLargest / 2);
  EXPECT_EQ(out[1], 0.0f);
  EXPECT_TRUE(rounds_to(out[2], static_cast<long double>(gate[2]) * up[2]));
  EXPECT_EQ(out[3], 0.0f);
  EXPECT_TRUE(rounds_to(out[4], testing::silu(-80) * up[4]));
  EXPECT_TRUE(rounds_to(out[5], static_cast<long double>(gate[5]) / 2 * up[5]));
  EXPECT_EQ(out[6], 0.0f);
  EXPECT_EQ(out[7], 0.0f);
}

TEST(SwiGlu, ARangeWritesItsOwnRowsOnly) {
  const std::vector<float> gate(30, 1.0f), up(30, 1.0f);
  Guarded<float> out(30);
  ref::swiglu({gate.data(), up.data(), 3, 10, out.data()}, 1, 2);
  for (int64_t i = 0; i < 30; ++i)
    EXPECT_EQ(out.untouched(i), i / 10 != 1) << i;
}

TEST(AddResidual, IsTheSumRoundedOnce) {
  Random random(5);
  std::vector<float> x = random.normals(300), y = random.normals(300, 1e-4);
  y[7] = -x[7];
  Guarded<float> out(300);
  ref::add_residual({x.data(), y.data(), 3, 100, out.data()}, 0, 3);
  for (int64_t i = 0; i < 300; ++i) {
    const auto index = static_cast<size_t>(i);
    ASSERT_TRUE(rounds_to(out[i], {static_cast<long double>(x[index]) + y[index], 0})) << i;
  }
  EXPECT_EQ(out[7], 0.0f);
}

TEST(AddResidual, ARangeWritesItsOwnRowsOnly) {
  const std::vector<float> x(30, 1.0f), y(30, 1.0f);
  Guarded<float> out(30);
  ref::add_residual({x.data(), y.data(), 3, 10, out.data()}, 1, 2);
  for (int64_t i = 0; i < 30; ++i)
    EXPECT_EQ(out.untouched(i), i / 10 != 1) << i;
}

TEST(AddExperts, GatesTheSharedExpertAloneAndOncePerRow) {
  Random random(6);
  constexpr int64_t kRows = 20, kWidth = 50;
  const std::vector<float> x = random.normals(kRows * kWidth), routed = random.normals(kRows * kWidth),
                           shared = random.normals(kRows * kWidth), gate = random.normals(kRows, 4);
  Guarded<float> out(kRows * kWidth);
  ref::add_experts({x.data(), routed.data(), shared.data(), gate.data(), kRows, kWidth, out.data()}, 0,
                   kRows);
  for (int64_t i = 0; i < kRows * kWidth; ++i) {
    const auto index = static_cast<size_t>(i);
    const long double gated = testing::sigmoid(gate[static_cast<size_t>(i / kWidth)]) * shared[index];
    const long double magnitude = std::fabs(x[index]) + std::fabs(routed[index]) + std::fabs(gated);
    const testing::Exact expected{x[index] + (routed[index] + gated),
                                  16 * testing::kFp64Rounding * magnitude};
    ASSERT_TRUE(rounds_to(out[i], expected)) << i;
  }
}

TEST(AddExperts, AGateMayCloseOrOpenFully) {
  const std::vector<float> x{1, 1}, routed{2, 2}, shared{1e30f, 16}, gate{-kLargest, kLargest};
  Guarded<float> out(2);
  ref::add_experts({x.data(), routed.data(), shared.data(), gate.data(), 2, 1, out.data()}, 0, 2);
  EXPECT_EQ(out[0], 3.0f);
  EXPECT_EQ(out[1], 19.0f);
}

TEST(AddExperts, ARangeWritesItsOwnRowsOnly) {
  const std::vector<float> ones(30, 1.0f);
  Guarded<float> out(30);
  ref::add_experts({ones.data(), ones.data(), ones.data(), ones.data(), 3, 10, out.data()}, 1, 2);
  for (int64_t i = 0; i < 30; ++i)
    EXPECT_EQ(out.untouched(i), i / 10 != 1) << i;
}

}  // namespace
}  // namespace lirio
