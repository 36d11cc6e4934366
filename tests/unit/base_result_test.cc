#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace lirio {
namespace {

Result<std::string> half(const std::string& word) {
  if (word.size() % 2 != 0) return RequestError{"expected an even number of letters", "word"};
  return word.substr(word.size() / 2);
}

TEST(Result, HoldsAValueOrAnError) {
  const Result<std::string> good = half("abcd");
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(*good, "cd");
  EXPECT_EQ(good->size(), 2u);
  const Result<std::string> bad = half("abc");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "expected an even number of letters");
  EXPECT_EQ(bad.error().param, "word");
}

TEST(Result, GivesAwayWhatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 7);
}

TEST(ResultDeathTest, AbortsWhenTheOtherIsAskedFor) {
  EXPECT_DEATH(static_cast<void>(half("abc").value()), "check failed");
  EXPECT_DEATH(static_cast<void>(half("abcd").error()), "check failed");
}

}  // namespace
}  // namespace lirio
