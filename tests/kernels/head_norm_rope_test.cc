// head_norm_rope: RMS norm per head, then rotary embedding of the first 64 dims (spec 4.2, steps 3 and 4).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
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
using testing::Random;
using testing::rounds_to;

constexpr float kEpsilon = 1e-6f;
constexpr double kTheta = 1e7;
using Position = std::array<int32_t, 3>;

std::vector<float> run(const std::vector<float>& x, const std::vector<Position>& positions, int64_t heads,
                       int64_t stride, const std::vector<float>& weight) {
  const auto rows = static_cast<int64_t>(positions.size());
  Guarded<float> out(rows * heads * 256);
  ref::head_norm_rope({.x = x.data(),
                       .rows = rows,
                       .heads = heads,
                       .head_stride = stride,
                       .weight = weight.data(),
                       .epsilon = kEpsilon,
                       .theta = kTheta,
                       .positions = positions,
                       .out = out.data()},
                      0, rows);
  return {out.span().begin(), out.span().end()};
}

std::vector<Position> text_positions(std::initializer_list<int32_t> positions) {
  std::vector<Position> triples;
  for (const int32_t p : positions)
    triples.push_back({p, p, p});
  return triples;
}

std::vector<long double> normed(const float* x, const std::vector<float>& weight) {
  long double squares = 0;
  for (int i = 0; i < 256; ++i)
    squares += static_cast<long double>(x[i]) * x[i];
  const long double factor = 1 / std::sqrt(squares / 256 + static_cast<long double>(kEpsilon));
  std::vector<long double> out(256);
  for (size_t i = 0; i < 256; ++i)
    out[i] = x[i] * factor * weight[i];
  return out;
}

/// Element i of a head at a text position.
Exact rotated(const std::vector<long double>& head, size_t i, int32_t position) {
  const long double norm_error = 512 * testing::kFp64Rounding;
  if (i >= 64) return {head[i], norm_error * std::fabs(head[i])};
  const size_t pair = i % 32;
  const long double angle = position * std::pow(10'000'000.0L, -2.0L * static_cast<long double>(pair) / 64);
  const long double a = head[pair], b = head[pair + 32];
  const long double value =
      i < 32 ? a * std::cos(angle) - b * std::sin(angle) : b * std::cos(angle) + a * std::sin(angle);
  // An angle is a product of two float64 numbers, one of them a power: a few roundings of its size.
  const long double angle_error = 4 * testing::kFp64Rounding * std::fabs(angle);
  return {value, (norm_error + angle_error) * (std::fabs(a) + std::fabs(b))};
}

TEST(HeadNormRope, IsTheFormulaForBothStrides) {
  Random random(1);
  constexpr int64_t kHeads = 3;
  const std::vector<float> weight = random.uniforms(256, -2, 2);
  const std::vector<int32_t> numbers{0, 1, 2, 63, 64, 1000, 262'143};
  std::vector<Position> positions;
  for (const int32_t p : numbers)
    positions.push_back({p, p, p});
  const auto rows = static_cast<int64_t>(positions.size());
  for (const int64_t stride : {256, 512}) {
    const std::vector<float> x = random.normals(rows * kHeads * stride);
    const std::vector<float> out = run(x, positions, kHeads, stride, weight);
    for (int64_t head = 0; head < rows * kHeads; ++head) {
      const std::vector<long double> expected = normed(x.data() + head * stride, weight);
      for (size_t i = 0; i < 256; ++i) {
        ASSERT_TRUE(rounds_to(out[static_cast<size_t>(head) * 256 + i],
                              rotated(expected, i, numbers[static_cast<size_t>(head / kHeads)])))
            << "row " << head / kHeads << " head " << head % kHeads << " dim " << i;
      }
    }
  }
}

TEST(HeadNormRope, WhatFollowsTheHeadInItsStrideIsNotRead) {
  Random random(2);
  std::vector<float> x(2 * 512, std::numeric_limits<float>::quiet_NaN());
  for (int64_t i = 0; i < 256; ++i)
    x[static_cast<size_t>(i)] = x[static_cast<size_t>(512 + i)] = random.normal();
  const std::vector<float> out = run(x, text_positions({7}), 2, 512, std::vector<float>(256, 1.0f));
  for (size_t i = 0; i < 256; ++i) {
    EXPECT_FALSE(std::isnan(out[i]));
    EXPECT_EQ(out[i], out[256 + i]);
  }
}

TEST(HeadNormRope, PositionZeroIsOnlyTheNorm) {
  Random random(3);
  const std::vector<float> x = random.normals(256), weight = random.normals(256);
  const std::vector<float> out = run(x, text_positions({0}), 1, 256, weight);
  const std::vector<long double> expected = normed(x.data(), weight);
  for (size_t i = 0; i < 256; ++i)
    EXPECT_TRUE(rounds_to(out[i], {expected[i], 1e-13L * std::fabs(expected[i])})) << i;
}

TEST(HeadNormRope, OnlyTheFirst64DimsRotate) {
  Random random(4);
  std::vector<float> x = random.normals(256);
  x.insert(x.end(), x.begin(), x.begin() + 256);
  const std::vector<float> out = run(x, text_positions({0, 12'345}), 1, 256, random.uniforms(256, 1, 2));
  for (size_t i = 0; i < 256; ++i) {
    // Even the slowest pair turns by 2e-3 over 12,345 positions.
    EXPECT_EQ(out[i] == out[256 + i], i >= 64) << i;
  }
}

TEST(HeadNormRope, ElementIPairsWithElementIPlus32) {
  for (int lit = 0; lit < 64; ++lit) {
    std::vector<float> x(256, 0.0f);
    x[static_cast<size_t>(lit)] = 1.0f;
    const std::vector<float> out = run(x, text_positions({1}), 1, 256, std::vector<float>(256, 1.0f));
    for (int i = 0; i < 256; ++i) {
      EXPECT_EQ(out[static_cast<size_t>(i)] != 0.0f, i == lit || i == (lit + 32) % 64) << lit << " " << i;
    }
    // A positive angle turns the first half towards the second: its sine is added there, and subtracted here.
    EXPECT_EQ(out[static_cast<size_t>((lit + 32) % 64)] > 0, lit < 32) << lit;
  }
}

TEST(HeadNormRope, TextPositionsAreEqualOnAllAxesAndImagesInterleaveThem) {
  std::vector<float> x(256, 0.0f);
  std::fill_n(x.begin(), 32, 1.0f);
  std::string axes(32, '?');
  for (int axis = 0; axis < 3; ++axis) {
    Position position{0, 0, 0};
    position[static_cast<size_t>(axis)] = 1;
    const std::vector<float> out = run(x, {position}, 1, 256, std::vector<float>(256, 1.0f));
    for (size_t pair = 0; pair < 32; ++pair) {
      if (out[pair + 32] == 0.0f) continue;  // no turn: another axis moves this pair
      EXPECT_EQ(axes[pair], '?');
      axes[pair] = "THW"[axis];
      const double angle = std::pow(kTheta, -2.0 * static_cast<double>(pair) / 64);
      EXPECT_NEAR(out[pair + 32] / out[pair], std::tan(angle), 1e-6 * std::tan(angle)) << pair;
    }
  }
  EXPECT_EQ(axes, "THWTHWTHWTHWTHWTHWTHWTHWTHWTHWTH");
  EXPECT_EQ(std::count(axes.begin(), axes.end(), 'T'), 11);
  EXPECT_EQ(std::count(axes.begin(), axes.end(), 'H'), 11);
  EXPECT_EQ(std::count(axes.begin(), axes.end(), 'W'), 10);
}

TEST(HeadNormRope, AQueryTimesAKeyDependsOnTheDistanceOnly) {
  Random random(5);
  const std::vector<float> q = random.normals(256), k = random.normals(256),
                           weight = random.uniforms(256, 0.5, 1.5);
  const auto product = [&](int32_t query_position, int32_t key_position, long double& magnitude) {
    const std::vector<float> a = run(q, text_positions({query_position}), 1, 256, weight);
    const std::vector<float> b = run(k, text_positions({key_position}), 1, 256, weight);
    long double sum = 0;
    magnitude = 0;
    for (size_t i = 0; i < 256; ++i) {
      sum += static_cast<long double>(a[i]) * b[i];
      magnitude += std::fabs(static_cast<long double>(a[i]) * b[i]);
    }
    return sum;
  };
  long double magnitude, other_magnitude;
  for (const int32_t distance : {0, 1, 17, 500}) {
    const long double near = product(distance, 0, magnitude);
    for (const int32_t shift : {1, 64, 4'099, 260'000}) {
      // Four factors were rounded to fp32, two in each product.
      const long double far = product(shift + distance, shift, other_magnitude);
      const long double bound = 2 * testing::kFp32Rounding * (magnitude + other_magnitude) * 1.01L;
      EXPECT_LE(std::fabs(near - far), bound) << distance << " " << shift;
    }
  }
  const long double here = product(20, 0, magnitude), there = product(0, 20, other_magnitude);
  EXPECT_GT(std::fabs(here - there), 0.01L);  // but on its sign, too
}

TEST(HeadNormRope, ARangeWritesItsOwnRowsOnly) {
  Random random(6);
  const std::vector<float> x = random.normals(3 * 512), weight = random.normals(256);
  const std::vector<Position> positions = text_positions({5, 6, 7});
  Guarded<float> out(3 * 512);
  ref::head_norm_rope({x.data(), 3, 2, 256, weight.data(), kEpsilon, kTheta, positions, out.data()}, 1, 2);
  EXPECT_TRUE(out.untouched(0, 512) && out.untouched(1024, 1536));
  const std::vector<float> whole = run(x, positions, 2, 256, weight);
  EXPECT_TRUE(testing::same_elements<float>({out.data() + 512, 512}, {whole.data() + 512, 512}));
}

}  // namespace
}  // namespace lirio
