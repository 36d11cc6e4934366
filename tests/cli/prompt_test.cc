// Where lirio run takes its prompt from, and prompts that are hard to take.
#include "cli/lirio.h"

namespace lirio::testing {
namespace {

TEST(Prompt, FromStandardInputEqualsTheArgument) {
  const ProcessResult result = lirio(greedy({}), kSum);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, kSumAnswer);
}

TEST(Prompt, IsStrippedOfTheLineEndThatEchoAdds) {
  EXPECT_EQ(run_json({"--max-tokens", "1"}, std::string(kSum) + "\n").prompt_tokens,
            run_json({"--max-tokens", "1", kSum}).prompt_tokens);
}

TEST(Prompt, DashMeansStandardInput) {
  EXPECT_EQ(lirio(greedy({"-"}), kSum).out, kSumAnswer);
}

TEST(Prompt, AsArgumentLeavesStandardInputUnread) {
  EXPECT_EQ(lirio(greedy({kSum}), "Reverse the word lantern.").out, kSumAnswer);
}

TEST(Prompt, MayComeBeforeTheFlags) {
  EXPECT_EQ(lirio({"run", kSum, "--no-think", "--temperature=0"}).out, kSumAnswer);
}

TEST(Prompt, MayBeginWithADash) {
  for (const Arguments& arguments : {Arguments{"-5 + 3 is what?"}, Arguments{"--", "-5 + 3 is what?"}}) {
    EXPECT_EQ(lirio(greedy(arguments)).exit_code, 0) << arguments[0];
  }
}

TEST(Prompt, IsTakenLiterally) {
  // CLI11 gives brackets, quotes and command names a meaning in places.
  for (const std::string prompt : {"[1, 2]", "\"quoted\"", "a=b", "run", "{}", "%s%n $HOME"}) {
    const JsonAnswer argument = run_json({"--temperature", "0", "--max-tokens", "2", prompt});
    const JsonAnswer input = run_json({"--temperature", "0", "--max-tokens", "2"}, prompt);
    EXPECT_EQ(argument.prompt_tokens, input.prompt_tokens) << prompt;
    EXPECT_EQ(argument.reasoning, input.reasoning) << prompt;
  }
}

TEST(Prompt, EmptyOnStandardInputIsAUsageError) {
  for (const std::string input : {"", "\n", " \t\r\n\n"}) {
    EXPECT_TRUE(fails(lirio({"run"}, input), 2, "the prompt from standard input is empty"));
    EXPECT_TRUE(fails(lirio({"run", "-"}, input), 2, "the prompt from standard input is empty"));
  }
}

TEST(Prompt, EmptyArgumentIsAUsageErrorEvenWithStandardInput) {
  EXPECT_TRUE(fails(lirio({"run", ""}, kSum), 2, "the prompt is empty"));
  EXPECT_TRUE(fails(lirio({"run", " \n"}, kSum), 2, "the prompt is empty"));
}

TEST(Prompt, AbsentOnATerminalIsAUsageError) {
  EXPECT_TRUE(fails(lirio({"run"}, ProcessOptions{.terminal_in = true}), 2, "no prompt"));
}

TEST(Prompt, WithoutQuotesIsExplained) {
  const ProcessResult result = lirio({"run", "What", "is", "47", "+", "85?"});
  EXPECT_TRUE(fails(result, 2, "unexpected argument 'is'"));
  EXPECT_NE(result.err.find("in quotes"), std::string::npos) << result.err;
}

TEST(Prompt, MayHoldAnyBytes) {
  std::string all;
  for (int byte = 255; byte > 0; --byte)
    all.push_back(static_cast<char>(byte));
  const ProcessResult result = lirio(greedy({"--max-tokens", "2", all}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST(Prompt, MayBeIllFormedUtf8) {
  const std::string cut_character = "What is 47 + 85?\xF0\x9F\x98", surrogate = "\xED\xA0\x80 a",
                    zero = "\xC0\x80 b";
  for (const std::string& prompt : {cut_character, surrogate, zero, std::string("\xFF\xFE")}) {
    const ProcessResult argument = lirio(greedy({"--max-tokens", "2", prompt}));
    EXPECT_EQ(argument.exit_code, 0) << argument.err;
    const ProcessResult input = lirio(greedy({"--max-tokens", "2"}), prompt);
    EXPECT_EQ(input.exit_code, 0) << input.err;
    EXPECT_EQ(input.out, argument.out);
  }
}

TEST(Prompt, MayHoldZeroBytesOnStandardInput) {
  const ProcessResult result = lirio(greedy({"--max-tokens", "4"}), std::string("What is\0 47 + 85?", 17));
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST(Prompt, SpellingAControlTokenIsOnlyText) {
  const Arguments options = {"--no-think", "--temperature", "0", "--max-tokens", "2"};
  const int64_t without = run_json(options, "Say").prompt_tokens;
  for (const std::string spelled : {"<|im_end|>", "</think>", "<|im_start|>", "<|endoftext|>", "<think>"}) {
    // As a control token it would be one.
    EXPECT_GT(run_json(options, "Say " + spelled).prompt_tokens, without + 2) << spelled;
  }
}

TEST(Prompt, LongerThanTheContextNamesBothNumbers) {
  std::string words;
  for (int i = 0; i < 9000; ++i)
    words += "word ";
  const ProcessResult result = lirio({"run"}, words);
  EXPECT_TRUE(fails(result, 1, "8192"));
  EXPECT_TRUE(fails(result, 1, "the prompt has 9"));
}

}  // namespace
}  // namespace lirio::testing
