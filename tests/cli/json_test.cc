// lirio run --json, and through it what the sampling flags do.
#include "cli/lirio.h"
#include "support/paths.h"

namespace lirio::testing {
namespace {

/// Content after drawing up to 24 tokens at temperature 1.
std::string drawn(const std::string& seed, const Arguments& more = {}) {
  Arguments arguments = {"--no-think", "--temperature", "1", "--max-tokens", "24", "--seed", seed};
  arguments.insert(arguments.end(), more.begin(), more.end());
  arguments.emplace_back("Tell me a story about a fox.");
  return run_json(arguments).content;
}

TEST(RunJson, SeparatesReasoningFromContent) {
  const JsonAnswer answer = run_json({"--temperature", "0", "--seed", "18446744073709551615", kSum});
  EXPECT_EQ(answer.content + "\n", kSumAnswer);
  EXPECT_NE(answer.reasoning.find("write 2, carry 1"), std::string::npos) << answer.reasoning;
  EXPECT_EQ(answer.reasoning.find("think>"), std::string::npos) << answer.reasoning;
  EXPECT_EQ(answer.finish_reason, "stop");
  EXPECT_EQ(answer.prompt_tokens, 23);
  EXPECT_EQ(answer.generated_tokens, 72);
  EXPECT_EQ(answer.seed, 18446744073709551615U);
  EXPECT_TRUE(std::filesystem::equivalent(answer.model, pocket_dir())) << answer.model;
}

TEST(RunJson, HasNoReasoningWithoutThinking) {
  const JsonAnswer answer = run_json({"--temperature", "0", "--no-think", kSum});
  EXPECT_EQ(answer.content + "\n", kSumAnswer);
  EXPECT_EQ(answer.reasoning, "");
}

TEST(RunJson, IsTheSameOnATerminal) {
  const ProcessResult result =
      lirio({"run", "--json", "--temperature", "0", kSum}, ProcessOptions{.terminal_out = true});
  EXPECT_EQ(result.terminal.find(kEscape), std::string::npos) << result.terminal;
  EXPECT_TRUE(result.terminal.starts_with("{") && result.terminal.ends_with("}\n")) << result.terminal;
}

TEST(RunJson, EscapesWhatJsonRequires) {
  // The answer is code of several lines with quotes or brackets; parsing in run_json() is the test.
  const JsonAnswer answer =
      run_json({"--temperature", "0", "--no-think", "Write a Python function that reverses a string."});
  EXPECT_NE(answer.content.find('\n'), std::string::npos) << answer.content;
}

TEST(RunJson, PrintsNothingWhenTheRunFails) {
  EXPECT_TRUE(fails(lirio({"run", "--json", "--model", "no-such-folder", kSum}), 1, "no-such-folder"));
}

TEST(RunJson, MaxTokensEndsWithLength) {
  const JsonAnswer answer = run_json({"--max-tokens", "3", kSum});
  EXPECT_EQ(answer.finish_reason, "length");
  EXPECT_EQ(answer.generated_tokens, 3);
}

TEST(RunJson, MaxTokensOfExactlyTheAnswerEndsWithLength) {
  // The stop token is not among the 11, and is never drawn.
  const JsonAnswer exact = run_json({"--temperature", "0", "--no-think", "--max-tokens", "11", kSum});
  EXPECT_EQ(exact.content + "\n", kSumAnswer);
  EXPECT_EQ(exact.finish_reason, "length");
  EXPECT_EQ(run_json({"--temperature", "0", "--no-think", "--max-tokens", "12", kSum}).finish_reason, "stop");
}

TEST(RunJson, TheSameSeedGivesTheSameText) {
  EXPECT_EQ(drawn("7"), drawn("7"));
}

TEST(RunJson, AnotherSeedGivesAnotherText) {
  EXPECT_NE(drawn("7"), drawn("8"));
}

TEST(RunJson, WithoutASeedItSaysWhichWasDrawn) {
  const JsonAnswer first = run_json({"--no-think", "--max-tokens", "12", "Tell me a story about a fox."});
  const JsonAnswer again = run_json({"--no-think", "--max-tokens", "12", "--seed", std::to_string(first.seed),
                                     "Tell me a story about a fox."});
  EXPECT_EQ(first.content, again.content);
}

TEST(RunJson, TemperatureZeroIgnoresTheSeed) {
  const auto text = [](const char* seed) {
    return run_json({"--no-think", "--temperature", "0", "--seed", seed, "--max-tokens", "24",
                     "Tell me a story about a fox."})
        .content;
  };
  EXPECT_EQ(text("7"), text("8"));
}

TEST(RunJson, TopKOfOneEqualsGreedy) {
  const std::string greedy_text =
      run_json({"--no-think", "--temperature", "0", "--max-tokens", "24", "Tell me a story about a fox."})
          .content;
  EXPECT_EQ(drawn("7", {"--top-k", "1"}), greedy_text);
  EXPECT_EQ(drawn("8", {"--top-k", "1"}), greedy_text);
}

TEST(RunJson, TopPOfNearlyNothingEqualsGreedy) {
  EXPECT_EQ(drawn("7", {"--top-p", "0.000001"}), drawn("8", {"--top-k", "1"}));
}

TEST(RunJson, ASystemMessageMakesThePromptLonger) {
  const JsonAnswer without = run_json({"--max-tokens", "1", kSum});
  const JsonAnswer with = run_json({"--max-tokens", "1", "--system", "You are Pocket. Be brief.", kSum});
  EXPECT_GT(with.prompt_tokens, without.prompt_tokens + 5);
}

}  // namespace
}  // namespace lirio::testing
