// embed: a row of the embedding matrix for a token, or a row the step brings along.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/ref/kernels.h"
#include "support/affine_builder.h"
#include "support/guarded.h"

namespace lirio {
namespace {

using testing::AffineBuilder;
using testing::Guarded;
using testing::Random;

constexpr int64_t kWidth = 128, kVocabulary = 11;

TEST(Embed, TokensAndGivenRowsMayMix) {
  Random random(1);
  for (const int bits : {4, 8}) {
    const AffineBuilder matrix = AffineBuilder::random(
        {.rows = kVocabulary, .columns = kWidth, .bits = bits, .code_offset = 5}, random);
    const std::vector<float> given = random.normals(3 * kWidth);
    const std::vector<int32_t> tokens{10, -1, 0, -3, -2, 10, 4, -1};
    Guarded<float> out(static_cast<int64_t>(tokens.size()) * kWidth);
    ref::embed({matrix.view(), tokens, given.data(), out.data()}, 0, static_cast<int64_t>(tokens.size()));
    for (size_t row = 0; row < tokens.size(); ++row) {
      for (int64_t i = 0; i < kWidth; ++i) {
        const float got = out[static_cast<int64_t>(row) * kWidth + i];
        if (tokens[row] >= 0) {
          ASSERT_EQ(got, static_cast<float>(matrix.value(0, tokens[row], i))) << row << " " << i;
        } else {
          ASSERT_EQ(got, given[static_cast<size_t>((-1 - tokens[row]) * kWidth + i)]) << row << " " << i;
        }
      }
    }
  }
}

TEST(Embed, NeedsNoGivenRowsWhereAllAreTokens) {
  AffineBuilder matrix({.rows = 2, .columns = 64});
  matrix.fill_row(0, 1, 3, -0.5f, 0.25f);
  const std::vector<int32_t> tokens{1};
  Guarded<float> out(64);
  ref::embed({matrix.view(), tokens, nullptr, out.data()}, 0, 1);
  for (const float value : out.span())
    EXPECT_EQ(value, -1.25f);
}

TEST(Embed, ARangeWritesItsOwnRowsOnly) {
  Random random(2);
  const AffineBuilder matrix = AffineBuilder::random({.rows = kVocabulary, .columns = kWidth}, random);
  const std::vector<float> given = random.normals(kWidth);
  const std::vector<int32_t> tokens{3, -1, 5, 7};
  Guarded<float> out(4 * kWidth);
  ref::embed({matrix.view(), tokens, given.data(), out.data()}, 1, 3);
  EXPECT_TRUE(out.untouched(0, kWidth));
  for (int64_t i = kWidth; i < 3 * kWidth; ++i)
    EXPECT_FALSE(out.untouched(i)) << i;
  EXPECT_TRUE(out.untouched(3 * kWidth, 4 * kWidth));
}

}  // namespace
}  // namespace lirio
