// rms_norm and gated_rms_norm, against the formulas of spec 4.1 and 4.3.
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
using testing::Sum;

constexpr float kEpsilon = 1e-6f;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// (mean(x^2) + epsilon)^(-1/2); all terms are positive, so its relative error is that of a sum of `width`
/// terms.
long double scale_of(const float* x, int64_t width) {
  Sum squares;
  for (int64_t i = 0; i < width; ++i)
    squares.add(static_cast<long double>(x[i]) * x[i]);
  return 1 / std::sqrt(squares.value / static_cast<long double>(width) + static_cast<long double>(kEpsilon));
}

testing::Exact normed(long double value, int64_t width) {
  return {value, static_cast<long double>(width + 16) * testing::kFp64Rounding * std::fabs(value)};
}

void expect_rms_norm(const std::vector<float>& x, int64_t width) {
  Random random(9);
  const std::vector<float> weight = random.uniforms(width, -2, 2);
  const int64_t rows = static_cast<int64_t>(x.size()) / width;
  Guarded<float> out(rows * width);
  ref::rms_norm({x.data(), weight.data(), kEpsilon, rows, width, out.data()}, 0, rows);
  for (int64_t i = 0; i < rows * width; ++i) {
    const long double factor = scale_of(x.data() + i / width * width, width);
    const long double expected = x[static_cast<size_t>(i)] * factor * weight[static_cast<size_t>(i % width)];
    ASSERT_TRUE(rounds_to(out[i], normed(expected, width))) << i;
  }
}

TEST(RmsNorm, IsTheFormula) {
  Random random(1);
  for (const int64_t width : {1, 2, 63, 64, 130, 2048})
    expect_rms_norm(random.normals(3 * width), width);
}

TEST(RmsNorm, ARowOfZerosStaysZero) {
  const std::vector<float> x(100, 0.0f), weight(100, 3.0f);
  Guarded<float> out(100);
  ref::rms_norm({x.data(), weight.data(), kEpsilon, 1, 100, out.data()}, 0, 1);
  for (const float value : out.span())
    EXPECT_EQ(value, 0.0f);
}

TEST(RmsNorm, SquaresOfHugeValuesDoNotOverflow) {
  Random random(2);
  expect_rms_norm(random.normals(256, 1e37), 256);
  const std::vector<float> x(64, std::numeric_limits<float>::max()), weight(64, 1.0f);
  Guarded<float> out(64);
  ref::rms_norm({x.data(), weight.data(), kEpsilon, 1, 64, out.data()}, 0, 1);
  for (const float value : out.span())
    EXPECT_EQ(value, 1.0f);
}

TEST(RmsNorm, TinyValuesAreHeldByEpsilonOnTheMean) {
  Random random(3);
  expect_rms_norm(random.normals(256, 1e-3), 256);  // mean square and epsilon are equal
  expect_rms_norm(random.normals(256, 1e-20), 256);
  expect_rms_norm(random.normals(256, 1e-42), 256);
  const std::vector<float> x(64, 1e-20f), weight(64, 1.0f);
  Guarded<float> out(64);
  ref::rms_norm({x.data(), weight.data(), kEpsilon, 1, 64, out.data()}, 0, 1);
  for (const float value : out.span())
    EXPECT_FLOAT_EQ(value, 1e-17f);
}

TEST(RmsNorm, ARowDoesNotDependOnTheOthersAndARangeWritesItsOwnRowsOnly) {
  Random random(4);
  constexpr int64_t kWidth = 96;
  std::vector<float> x = random.normals(4 * kWidth);
  const std::vector<float> weight = random.normals(kWidth);
  Guarded<float> alone(kWidth), out(4 * kWidth);
  ref::rms_norm({x.data() + 2 * kWidth, weight.data(), kEpsilon, 1, kWidth, alone.data()}, 0, 1);
  for (int64_t i = 0; i < 4 * kWidth; ++i) {
    if (i / kWidth != 2) x[static_cast<size_t>(i)] = kNan;
  }
  ref::rms_norm({x.data(), weight.data(), kEpsilon, 4, kWidth, out.data()}, 2, 3);
  EXPECT_TRUE(testing::same_elements<float>({out.data() + 2 * kWidth, kWidth}, alone.span()));
  EXPECT_TRUE(out.untouched(0, 2 * kWidth) && out.untouched(3 * kWidth, 4 * kWidth));
}

TEST(GatedRmsNorm, NormalisesFirstAndGatesAfter) {
  Random random(5);
  constexpr int64_t kRows = 3, kHeads = 5, kWidth = kHeads * 128;
  std::vector<float> x = random.normals(kRows * kWidth);
  for (int64_t i = 0; i < kWidth; ++i)
    x[static_cast<size_t>(i)] *= 1e-3f;  // here epsilon matters
  const std::vector<float> z = random.normals(kRows * kWidth, 3), weight = random.uniforms(128, -2, 2);
  Guarded<float> out(kRows * kWidth);
  ref::gated_rms_norm({x.data(), z.data(), weight.data(), kEpsilon, kRows, kHeads, out.data()}, 0, kRows);
  for (int64_t i = 0; i < kRows * kWidth; ++i) {
    const auto index = static_cast<size_t>(i);
    const long double expected = x[index] * scale_of(x.data() + i / 128 * 128, 128) *
                                 weight[static_cast<size_t>(i % 128)] * testing::silu(z[index]);
    ASSERT_TRUE(rounds_to(out[i], normed(expected, 128))) << i;
  }
}

TEST(GatedRmsNorm, HeadsAreNormalisedApart) {
  Random random(6);
  constexpr int64_t kHeads = 3;
  std::vector<float> x = random.normals(kHeads * 128);
  const std::vector<float> z = random.normals(kHeads * 128), weight = random.normals(128);
  Guarded<float> before(kHeads * 128), after(kHeads * 128);
  ref::gated_rms_norm({x.data(), z.data(), weight.data(), kEpsilon, 1, kHeads, before.data()}, 0, 1);
  for (int i = 0; i < 128; ++i)
    x[static_cast<size_t>(i)] = kNan;
  ref::gated_rms_norm({x.data(), z.data(), weight.data(), kEpsilon, 1, kHeads, after.data()}, 0, 1);
  EXPECT_TRUE(testing::same_elements<float>({before.data() + 128, 256}, {after.data() + 128, 256}));
}

TEST(GatedRmsNorm, GatesMayBeHuge) {
  const std::vector<float> x(128, 2.0f), weight(128, 1.0f);
  std::vector<float> z(128, -1e38f);
  z[1] = 1e38f;
  z[2] = 0.0f;
  Guarded<float> out(128);
  ref::gated_rms_norm({x.data(), z.data(), weight.data(), kEpsilon, 1, 1, out.data()}, 0, 1);
  EXPECT_EQ(out[0], 0.0f);
  EXPECT_FLOAT_EQ(out[1], 1e38f);
  EXPECT_EQ(out[2], 0.0f);
}

TEST(GatedRmsNorm, ARangeWritesItsOwnRowsOnly) {
  Random random(7);
  const std::vector<float> x = random.normals(3 * 256), z = random.normals(3 * 256),
                           weight = random.normals(128);
  Guarded<float> whole(3 * 256), out(3 * 256);
  ref::gated_rms_norm({x.data(), z.data(), weight.data(), kEpsilon, 3, 2, whole.data()}, 0, 3);
  ref::gated_rms_norm({x.data(), z.data(), weight.data(), kEpsilon, 3, 2, out.data()}, 1, 2);
  EXPECT_TRUE(out.untouched(0, 256) && out.untouched(512, 768));
  EXPECT_TRUE(testing::same_elements<float>({out.data() + 256, 256}, {whole.data() + 256, 256}));
}

}  // namespace
}  // namespace lirio
