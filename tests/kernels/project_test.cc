// project: out = W x, against long double sums over the weights as the format defines them.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "kernels/ref/kernels.h"
#include "support/affine_builder.h"
#include "support/guarded.h"

namespace lirio {
namespace {

using testing::AffineBuilder;
using testing::Guarded;
using testing::Random;
using testing::rounds_to;

void expect_product(const AffineBuilder& weight, const std::vector<float>& x, int64_t rows) {
  const int64_t features = weight.shape().rows, columns = weight.shape().columns;
  Guarded<float> out(rows * features);
  ref::project({.x = x.data(), .weight = weight.view(), .rows = rows, .out = out.data()}, 0, features);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t feature = 0; feature < features; ++feature) {
      ASSERT_TRUE(rounds_to(out[row * features + feature],
                            weight.product(0, feature, x.data() + row * columns).exact()))
          << "row " << row << " feature " << feature;
    }
  }
}

TEST(Project, IsTheProductForAnyNumberOfRows) {
  Random random(1);
  const AffineBuilder weight = AffineBuilder::random({.rows = 33, .columns = 192}, random);
  for (const int64_t rows : {1, 2, 63, 64, 65})
    expect_product(weight, random.normals(rows * 192), rows);
}

TEST(Project, IsTheProductForAnyShapeOfTheWeight) {
  Random random(2);
  for (const int64_t features : {1, 2, 7, 64, 65}) {
    for (const int64_t columns : {64, 128, 576}) {
      for (const int bits : {4, 8}) {
        const AffineBuilder weight =
            AffineBuilder::random({.rows = features, .columns = columns, .bits = bits}, random);
        expect_product(weight, random.normals(3 * columns), 3);
      }
    }
  }
}

TEST(Project, ReadsEveryScaleTypeAtAnyAddress) {
  Random random(3);
  for (const ScaleType type : {ScaleType::kBf16, ScaleType::kF16, ScaleType::kF32}) {
    for (int offset = 1; offset < 8; offset += 2) {
      const AffineBuilder weight = AffineBuilder::random({.rows = 5,
                                                          .columns = 128,
                                                          .scale_type = type,
                                                          .code_offset = offset,
                                                          .scale_offset = 8 - offset,
                                                          .bias_offset = (offset + 2) % 8},
                                                         random);
      expect_product(weight, random.normals(2 * 128), 2);
    }
  }
}

TEST(Project, ActivationsMayBeHugeTinyOrZero) {
  Random random(4);
  const AffineBuilder weight = AffineBuilder::random({.rows = 9, .columns = 128}, random);
  for (const double scale : {1e30, 1e-30, 1e-42, 0.0})
    expect_product(weight, random.normals(128, scale), 1);
}

TEST(Project, SumsThatCancelKeepTheirSmallRest) {
  AffineBuilder weight({.rows = 1, .columns = 64});
  weight.fill_row(0, 0, 1, 1.0f, 0.0f);
  std::vector<float> x(64, 0.0f);
  x[0] = 0x1p40f;
  x[8] = 0x1p-8f;
  x[16] = -0x1p40f;
  float out = 0;
  ref::project({.x = x.data(), .weight = weight.view(), .rows = 1, .out = &out}, 0, 1);
  EXPECT_EQ(out, 0x1p-8f);
}

TEST(Project, ARangeWritesItsOwnFeaturesOnly) {
  Random random(5);
  constexpr int64_t kRows = 3, kFeatures = 9;
  const AffineBuilder weight = AffineBuilder::random({.rows = kFeatures, .columns = 64}, random);
  const std::vector<float> x = random.normals(kRows * 64);
  Guarded<float> whole(kRows * kFeatures), parts(kRows * kFeatures);
  ref::project({.x = x.data(), .weight = weight.view(), .rows = kRows, .out = whole.data()}, 0, kFeatures);

  const ProjectArgs args{.x = x.data(), .weight = weight.view(), .rows = kRows, .out = parts.data()};
  ref::project(args, 3, 5);
  for (int64_t i = 0; i < parts.size(); ++i) {
    const int64_t feature = i % kFeatures;
    EXPECT_EQ(parts.untouched(i), feature < 3 || feature >= 5) << i;
  }
  ref::project(args, 4, 4);
  ref::project(args, 5, kFeatures);
  ref::project(args, 0, 3);
  EXPECT_TRUE(testing::same_elements(parts, whole));
}

TEST(Project, ARowsBitsDoNotDependOnTheOtherRows) {
  Random random(6);
  constexpr int64_t kRows = 5, kFeatures = 17, kColumns = 256;
  const AffineBuilder weight = AffineBuilder::random({.rows = kFeatures, .columns = kColumns}, random);
  const std::vector<float> row = random.normals(kColumns);
  Guarded<float> alone(kFeatures);
  ref::project({.x = row.data(), .weight = weight.view(), .rows = 1, .out = alone.data()}, 0, kFeatures);
  for (int64_t place = 0; place < kRows; ++place) {
    std::vector<float> x(kRows * kColumns, std::numeric_limits<float>::quiet_NaN());
    std::copy(row.begin(), row.end(), x.begin() + place * kColumns);
    Guarded<float> out(kRows * kFeatures);
    ref::project({.x = x.data(), .weight = weight.view(), .rows = kRows, .out = out.data()}, 0, kFeatures);
    const std::span<const float> own(out.data() + place * kFeatures, kFeatures);
    EXPECT_TRUE(testing::same_elements<float>(own, alone.span())) << place;
  }
}

}  // namespace
}  // namespace lirio
