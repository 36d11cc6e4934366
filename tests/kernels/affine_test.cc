// The affine format as the reference kernels read it (spec 3.1), against tests/support/affine_builder, which
// packs by the format's description. A weight of these tests is exact in float64, so it is compared without
// tolerance.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/ref/math.h"
#include "support/affine_builder.h"
#include "support/guarded.h"

namespace lirio {
namespace {

using testing::AffineBuilder;
using testing::AffineShape;
using testing::Guarded;
using testing::Random;

constexpr ScaleType kScaleTypes[] = {ScaleType::kBf16, ScaleType::kF16, ScaleType::kF32};

void expect_rows_equal(const AffineBuilder& weight) {
  const AffineShape& shape = weight.shape();
  Guarded<double> row_values(shape.columns);
  for (int64_t matrix = 0; matrix < shape.matrices; ++matrix) {
    for (int64_t row = 0; row < shape.rows; ++row) {
      row_values.poison();
      ref::dequantize_row(weight.view(), matrix, row, row_values.data());
      for (int64_t column = 0; column < shape.columns; ++column) {
        ASSERT_EQ(row_values[column], static_cast<double>(weight.value(matrix, row, column)))
            << "matrix " << matrix << " row " << row << " column " << column;
      }
    }
  }
}

TEST(Affine, ReadsTheCheckVector) {
  std::array<uint32_t, 8> words;
  words.fill(0x76543210u);
  const float scale = 0.5f, bias = -1.0f;
  const AffineMatrix weight{.codes = reinterpret_cast<const std::byte*>(words.data()),
                            .scales = reinterpret_cast<const std::byte*>(&scale),
                            .biases = reinterpret_cast<const std::byte*>(&bias),
                            .scale_type = ScaleType::kF32,
                            .bits = 4,
                            .rows = 1,
                            .columns = 64};
  std::array<double, 64> values;
  ref::dequantize_row(weight, 0, 0, values.data());
  constexpr std::array<double, 8> kExpected{-1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5};
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(values[i], kExpected[i % 8]) << i;
}

TEST(Affine, EightBitCodesAreBytesInOrder) {
  std::array<uint8_t, 64> codes;
  for (size_t i = 0; i < codes.size(); ++i)
    codes[i] = static_cast<uint8_t>(255 - 4 * i);
  const std::array<uint8_t, 2> scale{0x80, 0xbe},
      bias{0x00, 0x3f};  // -0.25 and 0.5 in bfloat16, low byte first
  const AffineMatrix weight{.codes = reinterpret_cast<const std::byte*>(codes.data()),
                            .scales = reinterpret_cast<const std::byte*>(scale.data()),
                            .biases = reinterpret_cast<const std::byte*>(bias.data()),
                            .scale_type = ScaleType::kBf16,
                            .bits = 8,
                            .rows = 1,
                            .columns = 64};
  std::array<double, 64> values;
  ref::dequantize_row(weight, 0, 0, values.data());
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(values[i], -0.25 * codes[i] + 0.5) << i;
}

TEST(Affine, EveryCodeHasItsValueUnderBothSignsOfTheScale) {
  for (const int bits : {4, 8}) {
    const int codes = 1 << bits;
    AffineBuilder weight({.rows = 2, .columns = 256, .bits = bits});
    for (int64_t row = 0; row < 2; ++row) {
      for (int64_t column = 0; column < 256; ++column) {
        weight.set_code(0, row, column, static_cast<int>(column) % codes);
      }
      for (int64_t group = 0; group < 4; ++group) {
        weight.set_scale(0, row, group, (row == 0 ? 0.125f : -0.125f) * static_cast<float>(group + 1));
        weight.set_bias(0, row, group, static_cast<float>(group) - 1.5f);
      }
    }
    expect_rows_equal(weight);
  }
}

TEST(Affine, RowsOfOneCodeAreConstant) {
  for (const ScaleType type : kScaleTypes) {
    for (const int bits : {4, 8}) {
      const int highest = (1 << bits) - 1;
      AffineBuilder weight({.rows = 4, .columns = 128, .bits = bits, .scale_type = type});
      weight.fill_row(0, 0, 0, -3.0f, 0.75f);
      weight.fill_row(0, 1, highest, -3.0f, 0.75f);
      weight.fill_row(0, 2, 15, 0.5f, -1.0f);
      weight.fill_row(0, 3, highest, 0.0f, -0.0f);
      const double expected[] = {0.75, -3.0 * highest + 0.75, 6.5, 0};
      std::array<double, 128> values;
      for (int64_t row = 0; row < 4; ++row) {
        ref::dequantize_row(weight.view(), 0, row, values.data());
        for (const double value : values)
          ASSERT_EQ(value, expected[row]) << row;
      }
    }
  }
}

TEST(Affine, EveryScaleTypeReadsRandomRows) {
  Random random(1);
  for (const ScaleType type : kScaleTypes) {
    for (const int bits : {4, 8}) {
      expect_rows_equal(
          AffineBuilder::random({.rows = 5, .columns = 320, .bits = bits, .scale_type = type}, random));
    }
  }
}

TEST(Affine, HalfPrecisionScalesMayBeSubnormal) {
  AffineBuilder weight({.rows = 1, .columns = 64, .scale_type = ScaleType::kF16});
  weight.fill_row(0, 0, 15, 0x3p-24f, -0x1p-24f);  // f16's normal numbers start at 2^-14
  std::array<double, 64> values;
  ref::dequantize_row(weight.view(), 0, 0, values.data());
  for (const double value : values)
    ASSERT_EQ(value, 44 * 0x1p-24);
}

TEST(Affine, NoArrayNeedsAnyAlignment) {
  Random random(2);
  for (const ScaleType type : kScaleTypes) {
    for (const int bits : {4, 8}) {
      for (int offset = 0; offset < 8; ++offset) {
        // Distances that differ between the arrays; over the eight rounds each array meets each of 0 to 7.
        expect_rows_equal(AffineBuilder::random({.rows = 3,
                                                 .columns = 128,
                                                 .bits = bits,
                                                 .scale_type = type,
                                                 .code_offset = offset,
                                                 .scale_offset = (offset + 3) % 8,
                                                 .bias_offset = (5 * offset + 1) % 8},
                                                random));
      }
    }
  }
}

TEST(Affine, StackedMatricesFollowEachOther) {
  Random random(3);
  for (const int bits : {4, 8}) {
    expect_rows_equal(AffineBuilder::random(
        {.rows = 3, .columns = 192, .bits = bits, .matrices = 5, .code_offset = 1}, random));
  }
}

TEST(Affine, SizesCountEveryMatrix) {
  const AffineBuilder four({.rows = 3, .columns = 192, .bits = 4, .matrices = 5});
  EXPECT_EQ(four.view().groups(), 3);
  EXPECT_EQ(four.view().row_code_bytes(), 96);
  EXPECT_EQ(four.view().code_bytes(), 5 * 3 * 96);
  EXPECT_EQ(four.view().total_bytes(), 5 * 3 * (96 + 2 * 3 * 2));
  const AffineBuilder eight({.rows = 2, .columns = 64, .bits = 8, .scale_type = ScaleType::kF32});
  EXPECT_EQ(eight.view().total_bytes(), 2 * (64 + 2 * 4));
}

}  // namespace
}  // namespace lirio
