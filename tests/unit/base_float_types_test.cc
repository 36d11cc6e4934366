// base/float_types: every one of the 65,536 patterns of both formats, against the formula of the format.
#include "base/float_types.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace lirio {
namespace {

/// The value of a binary format with `exponent_bits` and `mantissa_bits` below the sign, by definition:
/// 2^(e - bias) (1 + m / 2^mantissa_bits), and 2^(1 - bias) m / 2^mantissa_bits for e = 0. Not for e all
/// ones.
long double value_of(uint16_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const long double fraction =
      std::ldexp(static_cast<long double>(bits & ((1 << mantissa_bits) - 1)), -mantissa_bits);
  const long double magnitude =
      exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1.0L + fraction, exponent - bias);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

bool bf16_is_special(uint16_t bits) {
  return (bits & 0x7F80) == 0x7F80;
}
bool f16_is_special(uint16_t bits) {
  return (bits & 0x7C00) == 0x7C00;
}

/// Positive patterns below this one are the finite numbers, in ascending order.
constexpr int kBf16Infinity = 0x7F80;

TEST(Bf16, EveryFinitePatternHasItsValue) {
  for (int pattern = 0; pattern < 65536; ++pattern) {
    const auto bits = static_cast<uint16_t>(pattern);
    if (bf16_is_special(bits)) continue;
    const float value = float_from_bf16(bits);
    ASSERT_EQ(static_cast<long double>(value), value_of(bits, 8, 7)) << pattern;
    ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << pattern;
  }
}

TEST(Bf16, EveryNumberSurvivesARoundTrip) {
  for (int pattern = 0; pattern < 65536; ++pattern) {
    const auto bits = static_cast<uint16_t>(pattern);
    const float value = float_from_bf16(bits);
    if (std::isnan(value)) continue;
    ASSERT_EQ(bf16_from_float(value), bits) << pattern;
  }
}

TEST(Bf16, InfinityAndNanKeepTheirKind) {
  EXPECT_EQ(float_from_bf16(0x7F80), std::numeric_limits<float>::infinity());
  EXPECT_EQ(float_from_bf16(0xFF80), -std::numeric_limits<float>::infinity());
  for (int pattern = 0; pattern < 65536; ++pattern) {
    const auto bits = static_cast<uint16_t>(pattern);
    if (!bf16_is_special(bits) || (bits & 0x7F) == 0) continue;
    const float value = float_from_bf16(bits);
    ASSERT_TRUE(std::isnan(value)) << pattern;
    ASSERT_TRUE(std::isnan(float_from_bf16(bf16_from_float(value)))) << pattern;
    ASSERT_EQ(bf16_from_float(value) & 0x8000, bits & 0x8000) << pattern;
  }
}

TEST(Bf16, NanWhosePayloadIsInTheLostBitsStaysNan) {
  for (const uint32_t bits : {0x7F800001u, 0x7F80FFFFu, 0xFF800001u, 0x7FFFFFFFu, 0xFFFFFFFFu}) {
    EXPECT_TRUE(std::isnan(float_from_bf16(bf16_from_float(std::bit_cast<float>(bits))))) << bits;
  }
}

TEST(Bf16, RoundsToTheNearestAndTiesToEven) {
  for (int lower = 0; lower < kBf16Infinity; ++lower) {
    const int upper = lower + 1;  // infinity after the largest number: the tie there rounds to it
    const uint32_t middle = static_cast<uint32_t>(lower) << 16 | 0x8000u;
    const int even = lower % 2 == 0 ? lower : upper;
    for (const uint32_t sign : {0u, 0x8000u}) {
      const auto round = [&](uint32_t bits) {
        return bf16_from_float(std::bit_cast<float>(bits | sign << 16));
      };
      ASSERT_EQ(round(middle), even | sign);
      ASSERT_EQ(round(middle - 1), lower | sign);
      ASSERT_EQ(round(middle + 1), upper | sign);
    }
  }
}

TEST(Bf16, TheLargestFloatRoundsToInfinity) {
  EXPECT_EQ(bf16_from_float(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_EQ(bf16_from_float(std::numeric_limits<float>::lowest()), 0xFF80);
}

TEST(F16, EveryFinitePatternHasItsValue) {
  for (int pattern = 0; pattern < 65536; ++pattern) {
    const auto bits = static_cast<uint16_t>(pattern);
    if (f16_is_special(bits)) continue;
    const float value = float_from_f16(bits);
    ASSERT_EQ(static_cast<long double>(value), value_of(bits, 5, 10)) << pattern;
    ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << pattern;
  }
}

TEST(F16, TheEdgesOfTheFormatAreWhereTheStandardPutsThem) {
  EXPECT_EQ(float_from_f16(0x0001), 0x1p-24f);             // smallest subnormal
  EXPECT_EQ(float_from_f16(0x03FF), 0x1p-14f - 0x1p-24f);  // largest subnormal
  EXPECT_EQ(float_from_f16(0x0400), 0x1p-14f);             // smallest normal
  EXPECT_EQ(float_from_f16(0x3C00), 1.0f);
  EXPECT_EQ(float_from_f16(0x7BFF), 65504.0f);  // largest
}

TEST(F16, InfinityAndNanKeepTheirKind) {
  EXPECT_EQ(float_from_f16(0x7C00), std::numeric_limits<float>::infinity());
  EXPECT_EQ(float_from_f16(0xFC00), -std::numeric_limits<float>::infinity());
  for (int pattern = 0; pattern < 65536; ++pattern) {
    const auto bits = static_cast<uint16_t>(pattern);
    if (!f16_is_special(bits) || (bits & 0x3FF) == 0) continue;
    ASSERT_TRUE(std::isnan(float_from_f16(bits))) << pattern;
    ASSERT_EQ(std::signbit(float_from_f16(bits)), (bits & 0x8000) != 0) << pattern;
  }
}

TEST(LoadUnaligned, ReadsAnyTypeAtAnyAddress) {
  alignas(8) std::array<unsigned char, 24> bytes{};
  for (std::size_t offset = 0; offset < 8; ++offset) {
    const uint64_t integer = 0x0123456789ABCDEFu;
    std::memcpy(bytes.data() + offset, &integer, sizeof integer);
    EXPECT_EQ(load_unaligned<uint64_t>(bytes.data() + offset), integer);
    const float number = 1.5f;
    std::memcpy(bytes.data() + offset, &number, sizeof number);
    EXPECT_EQ(load_unaligned<float>(bytes.data() + offset), number);
  }
}

}  // namespace
}  // namespace lirio
