// The reference backend against the logits, hidden states and choices of an independent float32
// implementation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/float_types.h"
#include "support/pocket.h"

namespace lirio {
namespace {

using namespace testing;

/// Keeps copies of named values of the step.
class Keep : public StepObserver {
 public:
  void after_op(int op, StepValues& values) override {
    for (ValueId id : pocket().plan().instructions[static_cast<size_t>(op)].values.writes) {
      const Value& value = pocket().plan().value(id);
      if (value.name == "embed_tokens" || value.name == "norm" || value.name.ends_with(".out")) {
        kept.push_back(values.read(id));
      }
    }
  }
  std::vector<std::vector<float>> kept;  // embedding, layer outputs in order, final norm
};

class Reference : public ::testing::TestWithParam<GdnForm> {};

TEST_P(Reference, HasEveryArgmaxLogitAndLikelihoodOfTheConversations) {
  const auto backend = pocket_backend(GetParam());
  StatePool pool(backend->state_storage(), kPlenty);
  const auto vocabulary = static_cast<size_t>(pocket().config().vocab_size);
  for (int c = 0; c < kReferenceConversations; ++c) {
    // The plain recurrence, the slower path to the same numbers, on those of up to two chunks.
    if (GetParam() == GdnForm::kPlain && reference_ids(c).size() > 2 * kGdnChunk) continue;
    SCOPED_TRACE(c);
    const std::string prefix = std::to_string(c) + ".";
    const std::vector<int32_t> ids = reference_ids(c);
    SequenceState state(pool);
    const std::vector<float> logits = run_tokens(*backend, state, ids);

    const auto argmax = reference_values<int32_t>(prefix + "argmax");
    const auto expected = reference_values<uint16_t>(prefix + "logits");
    const auto nll = reference_values<float>(prefix + "nll");
    const size_t first = ids.size() - expected.size() / vocabulary;
    double worst_logit = 0, worst_nll = 0;
    for (size_t t = 0; t < ids.size(); ++t) {
      const float* row = logits.data() + t * vocabulary;
      EXPECT_EQ(std::max_element(row, row + vocabulary) - row, argmax[t]) << "position " << t;
      for (size_t v = 0; t >= first && v < vocabulary; ++v) {
        worst_logit = std::max(
            worst_logit, std::abs(double{row[v]} - float_from_f16(expected[(t - first) * vocabulary + v])));
      }
      if (t + 1 == ids.size()) continue;
      double sum = 0;
      const double highest = row[argmax[t]];
      for (size_t v = 0; v < vocabulary; ++v)
        sum += std::exp(row[v] - highest);
      worst_nll = std::max(worst_nll, std::abs(highest + std::log(sum) - row[ids[t + 1]] - nll[t]));
    }
    EXPECT_LT(worst_logit, 0.01);
    EXPECT_LT(worst_nll, 1e-4);
  }
}

TEST_P(Reference, HasTheHiddenStatesAfterEveryLayer) {
  const auto backend = pocket_backend(GetParam());
  StatePool pool(backend->state_storage(), kPlenty);
  const std::vector<int32_t> ids = reference_ids(0);
  SequenceState state(pool);
  ASSERT_TRUE(state.begin_append(static_cast<int64_t>(ids.size())));
  StepInputs inputs;
  for (int32_t i = 0; i < static_cast<int32_t>(ids.size()); ++i) {
    inputs.rows.push_back({ids[static_cast<size_t>(i)], -1, {i, i, i}});
  }
  inputs.sequences.push_back({0, static_cast<int32_t>(ids.size()), state.view()});
  Keep keep;
  backend->run(inputs, &keep);

  // The reference keeps the embedding, layers 0 to 6, and the final norm in place of layer 7.
  keep.kept.erase(keep.kept.end() - 2);
  ASSERT_EQ(keep.kept.size(), 9u);
  for (size_t h = 0; h < keep.kept.size(); ++h) {
    const auto expected = reference_values<float>("0.hidden." + std::to_string(h));
    ASSERT_EQ(keep.kept[h].size(), expected.size());
    double difference = 0, norm = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      difference += std::pow(double{keep.kept[h][i]} - expected[i], 2);
      norm += std::pow(double{expected[i]}, 2);
    }
    EXPECT_LT(std::sqrt(difference / norm), 1e-5) << "hidden " << h;
  }
}

INSTANTIATE_TEST_SUITE_P(Gdn, Reference, ::testing::Values(GdnForm::kLog, GdnForm::kPlain),
                         [](const auto& form) {
                           return form.param == GdnForm::kLog ? "LogForm" : "PlainForm";
                         });

}  // namespace
}  // namespace lirio
