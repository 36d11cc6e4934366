// logits_head: out = W x for the chosen rows of the step.
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

constexpr int64_t kRows = 6, kColumns = 128, kVocabulary = 37;

TEST(LogitsHead, IsTheProductOfTheChosenRowsInTheirOrder) {
  Random random(1);
  for (const int bits : {4, 8}) {
    const AffineBuilder head = AffineBuilder::random(
        {.rows = kVocabulary, .columns = kColumns, .bits = bits, .code_offset = 3}, random);
    const std::vector<float> x = random.normals(kRows * kColumns);
    const std::vector<int32_t> chosen{4, 0, 5, 0};
    Guarded<float> out(static_cast<int64_t>(chosen.size()) * kVocabulary);
    ref::logits_head({.x = x.data(), .logit_rows = chosen, .lm_head = head.view(), .out = out.data()}, 0,
                     kVocabulary);
    for (size_t i = 0; i < chosen.size(); ++i) {
      for (int64_t id = 0; id < kVocabulary; ++id) {
        ASSERT_TRUE(rounds_to(out[static_cast<int64_t>(i) * kVocabulary + id],
                              head.product(0, id, x.data() + chosen[i] * kColumns).exact()))
            << "logit row " << i << " id " << id;
      }
    }
  }
}

TEST(LogitsHead, RowsThatNeedNoLogitsAreNotRead) {
  Random random(2);
  const AffineBuilder head = AffineBuilder::random({.rows = kVocabulary, .columns = kColumns}, random);
  std::vector<float> x = random.normals(kRows * kColumns);
  const std::vector<int32_t> chosen{2};
  Guarded<float> before(kVocabulary), after(kVocabulary);
  ref::logits_head({.x = x.data(), .logit_rows = chosen, .lm_head = head.view(), .out = before.data()}, 0,
                   kVocabulary);
  for (size_t i = 0; i < x.size(); ++i) {
    if (i / kColumns != 2) x[i] = std::numeric_limits<float>::quiet_NaN();
  }
  ref::logits_head({.x = x.data(), .logit_rows = chosen, .lm_head = head.view(), .out = after.data()}, 0,
                   kVocabulary);
  EXPECT_TRUE(testing::same_elements(before, after));
}

TEST(LogitsHead, NoChosenRowsIsNoWork) {
  Random random(3);
  const AffineBuilder head = AffineBuilder::random({.rows = kVocabulary, .columns = kColumns}, random);
  const std::vector<float> x = random.normals(kColumns);
  Guarded<float> out(kVocabulary);
  ref::logits_head({.x = x.data(), .logit_rows = {}, .lm_head = head.view(), .out = out.data()}, 0,
                   kVocabulary);
  EXPECT_TRUE(out.untouched(0, kVocabulary));
}

TEST(LogitsHead, ARangeWritesItsOwnIdsOnly) {
  Random random(4);
  const AffineBuilder head = AffineBuilder::random({.rows = kVocabulary, .columns = kColumns}, random);
  const std::vector<float> x = random.normals(kRows * kColumns);
  const std::vector<int32_t> chosen{1, 3};
  Guarded<float> whole(2 * kVocabulary), parts(2 * kVocabulary);
  ref::logits_head({.x = x.data(), .logit_rows = chosen, .lm_head = head.view(), .out = whole.data()}, 0,
                   kVocabulary);
  const LogitsHeadArgs args{.x = x.data(), .logit_rows = chosen, .lm_head = head.view(), .out = parts.data()};
  ref::logits_head(args, 10, 20);
  for (int64_t i = 0; i < parts.size(); ++i) {
    const int64_t id = i % kVocabulary;
    EXPECT_EQ(parts.untouched(i), id < 10 || id >= 20) << i;
  }
  ref::logits_head(args, 20, kVocabulary);
  ref::logits_head(args, 0, 10);
  EXPECT_TRUE(testing::same_elements(parts, whole));
}

}  // namespace
}  // namespace lirio
