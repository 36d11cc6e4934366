// lirio run: what is written where, from an argument, a pipe and on a terminal; and how it ends when stopped.
#include <csignal>
#include <regex>

#include "cli/lirio.h"
#include "support/paths.h"

namespace lirio::testing {
namespace {

TEST(Run, WritesTheAnswerAndNothingElseToStandardOutput) {
  const ProcessResult result = lirio(greedy({kSum}));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, kSumAnswer);
}

TEST(Run, SaysThatItIsThePocketModelAndHowToGetTheRealOne) {
  const std::vector<std::string> lines = lines_of(lirio(greedy({kSum})).err);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(lines[0].starts_with("Using the pocket model")) << lines[0];
  EXPECT_NE(lines[0].find("test model"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("download mlx-community/Qwen3.6-35B-A3B-4bit"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("--model"), std::string::npos) << lines[0];
}

TEST(Run, SaysNothingOfThePocketModelWhenAModelIsNamed) {
  const ProcessResult result = lirio(greedy({"--model", pocket_dir().string(), kSum}));
  EXPECT_EQ(result.out, kSumAnswer);
  EXPECT_EQ(lines_of(result.err).size(), 1U) << result.err;
}

TEST(Run, EndsWithALineOfFigures) {
  const ProcessResult result = lirio(greedy({kSum}));
  const std::vector<std::string> lines = messages(result);
  ASSERT_EQ(lines.size(), 1U) << result.err;
  const std::regex figures(R"(25 prompt tokens, 11 generated, \d+\.\d tok/s, first token after \d+\.\d\d s)");
  EXPECT_TRUE(std::regex_match(lines[0], figures)) << lines[0];
}

TEST(Run, SaysWhenTheTokenLimitCutTheAnswer) {
  const ProcessResult result = lirio(greedy({"--max-tokens", "4", kSum}));
  ASSERT_EQ(messages(result).size(), 1U) << result.err;
  EXPECT_TRUE(messages(result)[0].ends_with("; stopped by the token limit")) << result.err;
}

TEST(Run, SaysWhenTheTokenLimitLeftNoAnswer) {
  const ProcessResult result = lirio({"run", "--temperature", "0", "--max-tokens", "4", kSum});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "");
  ASSERT_EQ(messages(result).size(), 1U) << result.err;
  EXPECT_TRUE(messages(result)[0].ends_with("; stopped by the token limit before the answer began"))
      << result.err;
}

TEST(Run, WritesNoEscapeCodesToPipes) {
  const ProcessResult result = lirio({"run", "--temperature", "0", "Hello!"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ((result.out + result.err).find(kEscape), std::string::npos) << result.out << result.err;
}

TEST(Run, WritesOnlyTheAnswerToAPipeWhenItThinks) {
  const ProcessResult result = lirio({"run", "--temperature", "0", kSum});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, kSumAnswer);
}

TEST(Run, ShowsThoughtsDimmedBeforeTheAnswerOnATerminal) {
  const ProcessResult result =
      lirio({"run", "--temperature", "0", kSum}, ProcessOptions{.terminal_out = true});
  EXPECT_EQ(result.exit_code, 0);
  const std::regex shown("\033\\[2m([^\033]*write 2, carry 1[^\033]*)\033\\[0m\n\n?([^\033]*)");
  std::smatch parts;
  ASSERT_TRUE(std::regex_match(result.terminal, parts, shown)) << result.terminal;
  EXPECT_EQ(parts[1].str().find("think>"), std::string::npos) << parts[1];
  EXPECT_EQ(parts[2], kSumAnswer);
}

TEST(Run, DimsNothingOnATerminalWithoutThinking) {
  const ProcessResult result = lirio(greedy({kSum}), ProcessOptions{.terminal_out = true});
  EXPECT_EQ(result.terminal, kSumAnswer);
}

TEST(Run, KeepsNoteAndFiguresApartFromTheAnswerOnATerminal) {
  const ProcessResult result =
      lirio(greedy({kSum}), ProcessOptions{.terminal_out = true, .terminal_err = true});
  const std::vector<std::string> lines = lines_of(result.terminal);
  ASSERT_EQ(lines.size(), 3U) << result.terminal;
  EXPECT_EQ(lines[1] + "\n", kSumAnswer);
}

TEST(Run, StaysSilentAboutProgressWhenStandardErrorIsAPipe) {
  // The longest prompt that is still quick to read: its progress line would show on a terminal.
  std::string facts;
  for (int i = 0; i < 30; ++i)
    facts += "The box holds a lamp. ";
  const ProcessResult result = lirio(greedy({"--max-tokens", "1", facts}));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(messages(result).size(), 1U) << result.err;
  EXPECT_EQ(result.err.find('\r'), std::string::npos) << result.err;
}

TEST(Run, EndsPromptlyWhenInterrupted) {
  Process process(program(), endless({"--no-think"}));
  ASSERT_TRUE(process.wait_for("e"));
  process.send(SIGINT);
  const ProcessResult result = process.wait();
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.signal, SIGINT);
}

TEST(Run, LeavesTheTerminalUndimmedWhenInterruptedInThought) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Process process(program(), endless(), ProcessOptions{.terminal_out = true});
    ASSERT_TRUE(process.wait_for("\033[2m"));
    process.send(signal);
    const ProcessResult result = process.wait();
    EXPECT_EQ(result.signal, signal);
    EXPECT_TRUE(result.terminal.ends_with("\033[0m")) << result.terminal;
  }
}

TEST(Run, EndsWhenTheReaderOfAPipeLeaves) {
  Process process(program(), endless({"--no-think"}));
  ASSERT_TRUE(process.wait_for("e"));
  process.close_output();
  const ProcessResult result = process.wait();
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.signal, SIGPIPE);
}

TEST(Run, EndsWhenTheReaderLeavesAndSigpipeIsIgnored) {
  Process process(program(), endless({"--no-think"}), ProcessOptions{.ignore_sigpipe = true});
  ASSERT_TRUE(process.wait_for("e"));
  process.close_output();
  const ProcessResult result = process.wait();
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.exit_code, 1);
  ASSERT_EQ(messages(result).size(), 2U) << result.err;
  EXPECT_TRUE(messages(result)[0].starts_with("lirio: can't write to standard output: ")) << result.err;
}

TEST(Run, FailsWhenTheDiskIsFull) {
  Arguments arguments = {"-c", R"(exec "$0" "$@" >/dev/full)", program().string()};
  const Arguments run = greedy({kSum});
  arguments.insert(arguments.end(), run.begin(), run.end());
  EXPECT_TRUE(
      fails(run_process("/bin/sh", arguments), 1, "can't write to standard output: No space left on device"));
}

}  // namespace
}  // namespace lirio::testing
