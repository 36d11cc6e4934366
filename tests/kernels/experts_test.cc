// experts_gate_up and experts_down: the routed experts' products, grouped by expert however unevenly
// (spec 4.6).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/ref/kernels.h"
#include "support/affine_builder.h"
#include "support/guarded.h"

namespace lirio {
namespace {

using testing::AffineBuilder;
using testing::AffineShape;
using testing::Exact;
using testing::Guarded;
using testing::Random;
using testing::rounds_to;
using testing::Sum;

constexpr int64_t kExperts = 12, kWidth = 128, kFeatures = 64;

/// One row of eight experts.
using Slots = std::vector<int32_t>;

std::vector<int32_t> rows_of(std::initializer_list<Slots> rows) {
  std::vector<int32_t> experts;
  for (const Slots& row : rows)
    experts.insert(experts.end(), row.begin(), row.end());
  return experts;
}

/// Choices of very uneven popularity: expert 3 in every row, expert 7 in one, expert 11 in none.
std::vector<int32_t> uneven_choices() {
  return rows_of({{3, 0, 1, 2, 4, 5, 6, 8},
                  {10, 9, 3, 0, 7, 1, 2, 4},
                  {0, 1, 2, 4, 5, 6, 8, 3},
                  {3, 4, 10, 8, 9, 0, 2, 1},
                  {6, 3, 5, 4, 2, 1, 0, 9}});
}

std::vector<int32_t> same_choice_in_all_rows() {
  const Slots slots{9, 2, 11, 0, 5, 7, 1, 4};
  return rows_of({slots, slots, slots, slots, slots, slots});
}

AffineBuilder expert_matrices(int64_t features, int64_t width, int bits, Random& random) {
  return AffineBuilder::random({.rows = features,
                                .columns = width,
                                .bits = bits,
                                .matrices = kExperts,
                                .code_offset = 1,
                                .bias_offset = 3},
                               random);
}

struct GateUp {
  AffineBuilder gate, up;
  std::vector<float> x;
  std::vector<int32_t> experts;

  int64_t rows() const { return static_cast<int64_t>(experts.size()) / 8; }
  ExpertsGateUpArgs args(float* out) const {
    return {.x = x.data(),
            .experts = experts.data(),
            .gate_proj = gate.view(),
            .up_proj = up.view(),
            .rows = rows(),
            .out = out};
  }
};

GateUp random_gate_up(const std::vector<int32_t>& experts, int bits, uint64_t seed) {
  Random random(seed);
  return {expert_matrices(kFeatures, kWidth, bits, random), expert_matrices(kFeatures, kWidth, bits, random),
          random.normals(static_cast<int64_t>(experts.size()) / 8 * kWidth), experts};
}

void expect_gate_up(const GateUp& in, const Guarded<float>& out) {
  for (int64_t slot = 0; slot < in.rows() * 8; ++slot) {
    const int32_t expert = in.experts[static_cast<size_t>(slot)];
    const float* x = in.x.data() + slot / 8 * kWidth;
    for (int64_t feature = 0; feature < kFeatures; ++feature) {
      const Exact gate = in.gate.product(expert, feature, x).exact(),
                  up = in.up.product(expert, feature, x).exact();
      const long double activated = testing::silu(gate.value), value = activated * up.value;
      const long double error = 1.1L * gate.error * std::fabs(up.value) + std::fabs(activated) * up.error +
                                testing::elementwise(value).error;  // |silu'| is at most 1.1
      ASSERT_TRUE(rounds_to(out[slot * kFeatures + feature], {value, error}))
          << "slot " << slot << " " << feature;
    }
  }
}

TEST(ExpertsGateUp, EachSlotGetsItsOwnExpertHoweverUnevenTheGroups) {
  for (const int bits : {4, 8}) {
    const GateUp in = random_gate_up(uneven_choices(), bits, 1);
    Guarded<float> out(in.rows() * 8 * kFeatures);
    ref::experts_gate_up(in.args(out.data()), 0, kExperts);
    expect_gate_up(in, out);
  }
}

TEST(ExpertsGateUp, AllRowsMayChooseTheSameExperts) {
  const GateUp in = random_gate_up(same_choice_in_all_rows(), 4, 2);
  Guarded<float> out(in.rows() * 8 * kFeatures);
  ref::experts_gate_up(in.args(out.data()), 0, kExperts);
  expect_gate_up(in, out);
}

TEST(ExpertsGateUp, AnExpertNobodyChoseWritesNothing) {
  const GateUp in = random_gate_up(uneven_choices(), 4, 3);
  Guarded<float> out(in.rows() * 8 * kFeatures);
  ref::experts_gate_up(in.args(out.data()), 11, 12);
  EXPECT_TRUE(out.untouched(0, out.size()));
}

TEST(ExpertsGateUp, ARangeWritesTheSlotsOfItsOwnExpertsOnly) {
  const GateUp in = random_gate_up(uneven_choices(), 4, 4);
  Guarded<float> whole(in.rows() * 8 * kFeatures), parts(in.rows() * 8 * kFeatures);
  ref::experts_gate_up(in.args(whole.data()), 0, kExperts);
  ref::experts_gate_up(in.args(parts.data()), 3, 6);
  for (int64_t i = 0; i < parts.size(); ++i) {
    const int32_t expert = in.experts[static_cast<size_t>(i / kFeatures)];
    ASSERT_EQ(parts.untouched(i), expert < 3 || expert >= 6) << i;
  }
  ref::experts_gate_up(in.args(parts.data()), 6, kExperts);
  ref::experts_gate_up(in.args(parts.data()), 0, 3);
  EXPECT_TRUE(testing::same_elements(parts, whole));
}

TEST(ExpertsGateUp, ARowsBitsDoNotDependOnTheOtherRows) {
  const GateUp in = random_gate_up(uneven_choices(), 4, 5);
  Guarded<float> whole(in.rows() * 8 * kFeatures);
  ref::experts_gate_up(in.args(whole.data()), 0, kExperts);
  for (int64_t row = 0; row < in.rows(); ++row) {
    ExpertsGateUpArgs args = in.args(nullptr);
    Guarded<float> alone(8 * kFeatures);
    args.x += row * kWidth;
    args.experts += row * 8;
    args.rows = 1;
    args.out = alone.data();
    ref::experts_gate_up(args, 0, kExperts);
    const std::span<const float> own(whole.data() + row * 8 * kFeatures, 8 * kFeatures);
    EXPECT_TRUE(testing::same_elements<float>(own, alone.span())) << row;
  }
}

TEST(ExpertsGateUp, TheGateIsActivatedAndTheOtherFactorIsNot) {
  AffineBuilder gate({.rows = 1, .columns = 64, .matrices = kExperts}), up = gate;
  for (int64_t e = 0; e < kExperts; ++e) {
    gate.fill_row(e, 0, 0, 0, e % 2 == 0 ? 0.0625f : -0.0625f);  // times 64 ones: 4 or -4
    up.fill_row(e, 0, 0, 0, -0.03125f);                          // -2
  }
  const std::vector<float> x(64, 1.0f);
  const Slots experts{0, 1, 2, 3, 4, 5, 6, 7};
  Guarded<float> out(8);
  ref::experts_gate_up({x.data(), experts.data(), gate.view(), up.view(), 1, out.data()}, 0, kExperts);
  for (int64_t slot = 0; slot < 8; ++slot) {
    EXPECT_TRUE(rounds_to(out[slot], testing::silu(slot % 2 == 0 ? 4 : -4) * -2)) << slot;
  }
}

struct Down {
  AffineBuilder down;
  std::vector<float> x, weights;
  std::vector<int32_t> experts;

  int64_t rows() const { return static_cast<int64_t>(experts.size()) / 8; }
  ExpertsDownArgs args(float* out) const {
    return {.x = x.data(),
            .experts = experts.data(),
            .weights = weights.data(),
            .down_proj = down.view(),
            .rows = rows(),
            .out = out};
  }
};

Down random_down(const std::vector<int32_t>& experts, int bits, uint64_t seed) {
  Random random(seed);
  const auto slots = static_cast<int64_t>(experts.size());
  return {expert_matrices(kFeatures, kWidth, bits, random), random.normals(slots * kWidth),
          random.uniforms(slots, 0, 1), experts};
}

void expect_down(const Down& in, const Guarded<float>& out) {
  for (int64_t row = 0; row < in.rows(); ++row) {
    for (int64_t feature = 0; feature < kFeatures; ++feature) {
      Sum sum;
      long double error = 0;
      for (int64_t slot = row * 8; slot < row * 8 + 8; ++slot) {
        const Exact product =
            in.down.product(in.experts[static_cast<size_t>(slot)], feature, in.x.data() + slot * kWidth)
                .exact();
        const float weight = in.weights[static_cast<size_t>(slot)];
        sum.add(weight * product.value);
        error += weight * product.error;
      }
      ASSERT_TRUE(rounds_to(out[row * kFeatures + feature], {sum.value, sum.error() + error}))
          << row << " " << feature;
    }
  }
}

TEST(ExpertsDown, IsTheWeightedSumOfTheChosenExpertsHoweverUnevenTheGroups) {
  for (const int bits : {4, 8}) {
    const Down in = random_down(uneven_choices(), bits, 6);
    Guarded<float> out(in.rows() * kFeatures);
    ref::experts_down(in.args(out.data()), 0, kFeatures);
    expect_down(in, out);
  }
}

TEST(ExpertsDown, AllRowsMayChooseTheSameExperts) {
  const Down in = random_down(same_choice_in_all_rows(), 4, 7);
  Guarded<float> out(in.rows() * kFeatures);
  ref::experts_down(in.args(out.data()), 0, kFeatures);
  expect_down(in, out);
}

TEST(ExpertsDown, SumsInSlotOrder) {
  // Expert e yields its own term; 2^60 + 1 is 2^60 in float64 (and in fp32), so the order of the sum shows.
  const float terms[kExperts] = {1, 1, 0x1p60f, -0x1p60f, 0, 0, 0, 0, 0, 0, 0, 0};
  AffineBuilder down({.rows = 1, .columns = 64, .matrices = kExperts});
  for (int64_t e = 0; e < kExperts; ++e)
    down.fill_row(e, 0, 1, terms[e], 0);
  std::vector<float> x(8 * 64, 0.0f);
  for (size_t slot = 0; slot < 8; ++slot)
    x[slot * 64] = 1.0f;
  const std::vector<float> weights(8, 1.0f);
  const auto sum_of = [&](const Slots& experts) {
    Guarded<float> out(1);
    ref::experts_down({x.data(), experts.data(), weights.data(), down.view(), 1, out.data()}, 0, 1);
    return out[0];
  };
  EXPECT_EQ(sum_of({2, 0, 3, 1, 4, 5, 6, 7}), 1.0f);  // the first 1 is lost
  EXPECT_EQ(sum_of({0, 1, 2, 3, 4, 5, 6, 7}), 0.0f);  // both are
  EXPECT_EQ(sum_of({2, 3, 0, 1, 4, 5, 6, 7}), 2.0f);
  EXPECT_EQ(sum_of({4, 2, 3, 5, 1, 6, 7, 0}), 2.0f);
}

TEST(ExpertsDown, AWeightOfZeroAddsNothing) {
  Down in = random_down({4, 5, 6, 7, 8, 9, 10, 11}, 4, 8);
  std::fill(in.weights.begin() + 1, in.weights.end(), 0.0f);
  Guarded<float> out(kFeatures);
  ref::experts_down(in.args(out.data()), 0, kFeatures);
  for (int64_t feature = 0; feature < kFeatures; ++feature) {
    const Exact first = in.down.product(4, feature, in.x.data()).exact();
    EXPECT_TRUE(rounds_to(out[feature], {in.weights[0] * first.value, 2 * first.error})) << feature;
  }
}

TEST(ExpertsDown, ARangeWritesItsOwnFeaturesOnly) {
  const Down in = random_down(uneven_choices(), 4, 9);
  Guarded<float> whole(in.rows() * kFeatures), parts(in.rows() * kFeatures);
  ref::experts_down(in.args(whole.data()), 0, kFeatures);
  ref::experts_down(in.args(parts.data()), 7, 30);
  for (int64_t i = 0; i < parts.size(); ++i) {
    ASSERT_EQ(parts.untouched(i), i % kFeatures < 7 || i % kFeatures >= 30) << i;
  }
  ref::experts_down(in.args(parts.data()), 30, kFeatures);
  ref::experts_down(in.args(parts.data()), 0, 7);
  EXPECT_TRUE(testing::same_elements(parts, whole));
}

TEST(ExpertsDown, ARowsBitsDoNotDependOnTheOtherRows) {
  const Down in = random_down(uneven_choices(), 4, 10);
  Guarded<float> whole(in.rows() * kFeatures);
  ref::experts_down(in.args(whole.data()), 0, kFeatures);
  for (int64_t row = 0; row < in.rows(); ++row) {
    ExpertsDownArgs args = in.args(nullptr);
    Guarded<float> alone(kFeatures);
    args.x += row * 8 * kWidth;
    args.experts += row * 8;
    args.weights += row * 8;
    args.rows = 1;
    args.out = alone.data();
    ref::experts_down(args, 0, kFeatures);
    const std::span<const float> own(whole.data() + row * kFeatures, kFeatures);
    EXPECT_TRUE(testing::same_elements<float>(own, alone.span())) << row;
  }
}

}  // namespace
}  // namespace lirio
