// The same tokens give the same bits however they are cut into steps, batched, threaded, truncated or
// restored (docs/numerics.md: row invariance and path equality).
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "support/pocket.h"

namespace lirio {
namespace {

using namespace testing;

class Paths : public ::testing::Test {
 protected:
  explicit Paths(GdnForm form = GdnForm::kLog) : backend_(short_backend(form)) {}

  std::unique_ptr<Backend> backend_;
  StatePool pool_{backend_->state_storage(), kPlenty};

  std::vector<float> logits_of(std::span<const int32_t> tokens, int64_t rows_per_step = kOneStep) {
    SequenceState state(pool_);
    return run_tokens(*backend_, state, tokens, rows_per_step);
  }
};

/// What depends on how the recurrence is computed.
class PathsOfBothForms : public Paths, public ::testing::WithParamInterface<GdnForm> {
 protected:
  PathsOfBothForms() : Paths(GetParam()) {}
};

TEST_P(PathsOfBothForms, AnyChunkingOfThePrefillGivesTheSameBits) {
  const std::vector<int32_t> tokens = sample_tokens(129);
  // Row by row is the path that all others are held against; it also stands for every shorter length.
  const std::vector<float> expected = logits_of(tokens, 1);
  for (int64_t length : {63, 64, 65, 127, 128, 129}) {
    if (GetParam() == GdnForm::kPlain && length > 65) break;
    const std::span<const int32_t> prompt = std::span(tokens).first(static_cast<size_t>(length));
    for (int64_t chunk : {7, 63, 64, 65, 200}) {
      if (chunk >= length && chunk != 200) continue;  // one step, like 200
      EXPECT_TRUE(same_bits(logits_of(prompt, chunk), logit_rows(expected, 0, length)))
          << "length " << length << " in steps of " << chunk;
    }
  }
}

TEST_P(PathsOfBothForms, TruncatingAndGoingOnGivesTheSameBits) {
  const std::vector<int32_t> tokens = sample_tokens(80);
  const std::vector<float> expected = logits_of(tokens);
  for (int64_t reached : {60, 63, 64, 65, 67, 70, 79, 80}) {
    for (int64_t kept : {reached - 1, reached - 4, reached - kReach}) {
      SequenceState state(pool_);
      run_tokens(*backend_, state, std::span(tokens).first(static_cast<size_t>(kept)));
      // Other tokens than those that follow later: what is cut off must leave no trace.
      const std::vector<int32_t> wrong(static_cast<size_t>(reached - kept), tokens[5]);
      run_tokens(*backend_, state, wrong, 3);
      ASSERT_LE(state.shortest_reachable(), kept);
      state.truncate(kept);
      const int64_t end = std::min<int64_t>(kept + 9, 80);
      const std::vector<float> rest = run_tokens(
          *backend_, state,
          std::span(tokens).subspan(static_cast<size_t>(kept), static_cast<size_t>(end - kept)), 5);
      ASSERT_TRUE(same_bits(rest, logit_rows(expected, kept, end)))
          << "cut from " << reached << " to " << kept;
    }
  }
}

TEST_F(Paths, TruncatingTwiceOverAFoldGivesTheSameBits) {
  const std::vector<int32_t> tokens = sample_tokens(140);
  const std::vector<float> expected = logits_of(tokens);
  SequenceState state(pool_);
  run_tokens(*backend_, state, std::span(tokens).first(133));
  state.truncate(126);
  run_tokens(*backend_, state, std::span(tokens).subspan(126, 4));
  ASSERT_EQ(state.shortest_reachable(), 133 - kReach);
  state.truncate(133 - kReach);
  const std::vector<float> rest = run_tokens(*backend_, state, std::span(tokens).subspan(133 - kReach));
  EXPECT_TRUE(same_bits(rest, logit_rows(expected, 133 - kReach, 140)));
}

TEST_F(Paths, ACheckpointGoesOnWithTheSameBitsAsOftenAsItIsRestored) {
  const std::vector<int32_t> tokens = sample_tokens(132);
  const std::vector<float> expected = logits_of(tokens);
  for (int64_t at : {1, 63, 64, 65, 79, 128}) {
    SCOPED_TRACE(at);
    const auto split = static_cast<size_t>(at);
    SequenceState state(pool_);
    run_tokens(*backend_, state, std::span(tokens).first(split));
    const SequenceState checkpoint = state.fork();
    // The original goes on with other tokens, then two restored copies with the real ones, one inside the
    // other.
    run_tokens(*backend_, state, std::vector<int32_t>(20, tokens[7]), 6);
    SequenceState first = checkpoint.fork();
    const std::vector<float> head = run_tokens(*backend_, first, std::span(tokens).subspan(split, 2));
    SequenceState second = checkpoint.fork();
    EXPECT_TRUE(same_bits(run_tokens(*backend_, second, std::span(tokens).subspan(split)),
                          logit_rows(expected, at, 132)));
    EXPECT_TRUE(same_bits(head, logit_rows(expected, at, at + 2)));
    EXPECT_TRUE(same_bits(run_tokens(*backend_, first, std::span(tokens).subspan(split + 2)),
                          logit_rows(expected, at + 2, 132)));
  }
}

TEST_F(Paths, ARestoredCheckpointCanBeTruncatedWithinReach) {
  const std::vector<int32_t> tokens = sample_tokens(100);
  const std::vector<float> expected = logits_of(tokens);
  SequenceState state(pool_);
  run_tokens(*backend_, state, std::span(tokens).first(70));
  const SequenceState checkpoint = state.fork();
  run_tokens(*backend_, state, std::span(tokens).subspan(70));
  for (int64_t length = 70 - kReach; length <= 70; ++length) {
    SequenceState restored = checkpoint.fork();
    restored.truncate(length);
    const std::vector<float> rest =
        run_tokens(*backend_, restored, std::span(tokens).subspan(static_cast<size_t>(length), 6));
    EXPECT_TRUE(same_bits(rest, logit_rows(expected, length, length + 6))) << length;
  }
}

TEST_F(Paths, RowsOfSeveralSequencesInAnyMixEqualEachSequenceAlone) {
  std::mt19937 random(7);
  const int lengths[] = {130, 70, 9, 64, 101};
  std::vector<std::vector<int32_t>> texts;
  std::vector<std::vector<float>> expected, got;
  std::vector<SequenceState> states;
  for (int i = 0; i < 5; ++i) {
    std::vector<int32_t> text = reference_ids(i == 2 ? 0 : 2 + i);
    text.resize(std::min<size_t>(text.size(), static_cast<size_t>(lengths[i])));
    expected.push_back(logits_of(text));
    texts.push_back(std::move(text));
    states.emplace_back(pool_);
    got.emplace_back();
  }
  for (;;) {
    std::vector<Append> step;
    std::vector<size_t> members;
    for (size_t i = 0; i < texts.size(); ++i) {
      const auto done = static_cast<size_t>(states[i].length());
      const size_t rows = std::min<size_t>(texts[i].size() - done, random() % 2 == 0 ? 1 : random() % 40);
      if (rows == 0) continue;
      step.push_back({states[i], std::span(texts[i]).subspan(done, rows)});
      members.push_back(i);
    }
    if (step.empty()) {
      const bool all_done = std::all_of(states.begin(), states.end(), [&](const SequenceState& s) {
        return s.length() == static_cast<int64_t>(texts[static_cast<size_t>(&s - states.data())].size());
      });
      if (all_done) break;
      continue;
    }
    const std::vector<float> logits = run_step(*backend_, step);
    int64_t row = 0;
    for (size_t k = 0; k < members.size(); ++k) {
      const auto rows = static_cast<int64_t>(step[k].tokens.size());
      const auto part = logit_rows(logits, row, row + rows);
      got[members[k]].insert(got[members[k]].end(), part.begin(), part.end());
      row += rows;
    }
  }
  for (size_t i = 0; i < texts.size(); ++i)
    EXPECT_TRUE(same_bits(got[i], expected[i])) << "sequence " << i;
}

TEST_F(Paths, TheNumberOfThreadsChangesNoBit) {
  const std::vector<int32_t> tokens = sample_tokens(70);
  const std::vector<float> expected = logits_of(tokens);
  for (int threads : {2, 3, 5}) {
    const auto other = short_backend(GdnForm::kLog, threads);
    StatePool pool(other->state_storage(), kPlenty);
    SequenceState state(pool);
    EXPECT_TRUE(same_bits(run_tokens(*other, state, tokens, 33), expected)) << threads << " threads";
  }
}

TEST_F(Paths, AnEmbeddingRowInPlaceOfATokenGivesTheSameBits) {
  const std::vector<int32_t> tokens = sample_tokens(12);
  const std::vector<float> expected = logits_of(tokens);
  const int64_t width = pocket().config().hidden_size;
  const AffineMatrix& embed_tokens = pocket().weights().matrices[0];
  std::vector<float> embeddings;
  for (int32_t token : {tokens[3], tokens[8]}) {
    for (int64_t i = 0; i < width; ++i) {
      const int64_t group = token * embed_tokens.groups() + i / kQuantGroup;
      const auto pair = static_cast<uint8_t>(embed_tokens.codes[(token * width + i) / 2]);
      const int code = i % 2 == 0 ? pair & 15 : pair >> 4;
      embeddings.push_back(load_scale(embed_tokens.scales, embed_tokens.scale_type, group) *
                               static_cast<float>(code) +
                           load_scale(embed_tokens.biases, embed_tokens.scale_type, group));
    }
  }
  SequenceState state(pool_);
  ASSERT_TRUE(state.begin_append(12));
  StepInputs inputs;
  for (int32_t i = 0; i < 12; ++i) {
    inputs.rows.push_back({tokens[static_cast<size_t>(i)], -1, {i, i, i}});
    inputs.logit_rows.push_back({i, {.temperature = 0}});
  }
  inputs.rows[3] = {0, 0, {3, 3, 3}};
  inputs.rows[8] = {0, 1, {8, 8, 8}};
  inputs.embeddings = embeddings;
  inputs.sequences.push_back({0, 12, state.view()});
  backend_->run(inputs);
  EXPECT_TRUE(same_bits(backend_->read_logits(), expected));
}

INSTANTIATE_TEST_SUITE_P(Gdn, PathsOfBothForms, ::testing::Values(GdnForm::kLog, GdnForm::kPlain),
                         [](const auto& form) {
                           return form.param == GdnForm::kLog ? "LogForm" : "PlainForm";
                         });

}  // namespace
}  // namespace lirio
