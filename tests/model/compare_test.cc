// The op-by-op comparison finds the op that is wrong, and none when nothing is.
#include <gtest/gtest.h>

#include "backend/compare.h"
#include "support/pocket.h"

namespace lirio {
namespace {

using namespace testing;

class Compare : public ::testing::Test {
 protected:
  std::string first_over(const CompareOptions& options, int64_t rows_a = kOneStep,
                         int64_t rows_b = kOneStep) {
    const auto differences =
        compare_executions(sample_tokens(40), {*plain_, rows_a}, {*log_, rows_b}, options);
    const ValueDifference* first = first_over_budget(differences);
    return first == nullptr ? "" : short_plan().instructions[static_cast<size_t>(first->op)].name;
  }
  int op(const std::string& name) const {
    const auto& ops = short_plan().instructions;
    for (size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].name == name) return static_cast<int>(i);
    }
    ADD_FAILURE() << name;
    return -1;
  }

  std::unique_ptr<Backend> plain_ = short_backend(GdnForm::kPlain), log_ = short_backend(GdnForm::kLog);
};

TEST_F(Compare, TheTwoGdnFormsAgreeInEveryValue) {
  EXPECT_EQ(first_over({}), "");
}

TEST_F(Compare, StepsOfDifferentSizesAreComparedRowByRow) {
  EXPECT_EQ(first_over({}, 32, 9), "");
}

TEST_F(Compare, NamesTheOpThatIsWrong) {
  for (const char* name : {"embed_tokens", "layers.2.linear_attn.recurrence", "layers.3.self_attn.attend",
                           "layers.3.mlp.route", "lm_head"}) {
    EXPECT_EQ(first_over({.inject = op(name)}, 32, 9), name);
  }
}

TEST_F(Compare, LooksOnlyAtTheRange) {
  const int wrong = op("layers.1.linear_attn.out_proj");
  EXPECT_EQ(first_over({.first_op = wrong + 1, .inject = wrong}),
            "");  // fed the right values before the range
  EXPECT_EQ(first_over({.last_op = wrong - 1, .inject = wrong}), "");
  EXPECT_EQ(first_over({.first_op = wrong, .last_op = wrong, .inject = wrong}),
            "layers.1.linear_attn.out_proj");
}

TEST_F(Compare, InIsolationOnlyTheWrongOpIsOver) {
  const auto differences =
      compare_executions(sample_tokens(40), {*plain_}, {*log_},
                         {.isolate = true, .inject = op("layers.1.mlp.shared_expert.act")});
  for (const ValueDifference& d : differences) {
    EXPECT_EQ(d.over_budget, short_plan().value(d.value).name == "layers.1.mlp.shared_expert.act");
  }
}

}  // namespace
}  // namespace lirio
