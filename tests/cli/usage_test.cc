// Command lines that lirio can't run, and the help it gives.
#include "cli/lirio.h"
#include "support/paths.h"

namespace lirio::testing {
namespace {

struct UsageCase {
  Arguments arguments;
  std::string what;
};

TEST(Usage, EveryMistakeEndsInTwoLinesAndExitCodeTwo) {
  const std::string most = "1073741824";
  const std::vector<UsageCase> cases = {
      {{}, "no command; the commands are run, info, inspect"},
      {{"talk"}, "unknown command 'talk'; the commands are run, info, inspect"},
      {{"--nonsense"}, "unknown flag '--nonsense'"},
      {{"run", "--nonsense", "hi"}, "unknown flag '--nonsense'"},
      {{"run", "--temp", "0", "hi"}, "unknown flag '--temp'"},
      {{"run", "-x", "hi"}, "unknown flag '-x'"},
      {{"run", "hi", "there"}, "unexpected argument 'there'"},
      {{"run", "--temperature", "x", "hi"}, "--temperature: expected a number from 0 to 100, found 'x'"},
      {{"run", "--temperature", "nan", "hi"}, "--temperature: expected a number from 0 to 100, found 'nan'"},
      {{"run", "--temperature", "inf", "hi"}, "--temperature: expected a number from 0 to 100, found 'inf'"},
      {{"run", "--temperature", "-0.1", "hi"},
       "--temperature: expected a number from 0 to 100, found '-0.1'"},
      {{"run", "--temperature", "", "hi"}, "--temperature: expected a number from 0 to 100, found ''"},
      {{"run", "--top-p", "2", "hi"}, "--top-p: expected a number from 0 to 1, found '2'"},
      {{"run", "--top-k", "1.5", "hi"},
       "--top-k: expected a whole number from 0 to " + most + ", found '1.5'"},
      {{"run", "--top-k", "-1", "hi"}, "--top-k: expected a whole number from 0 to "},
      {{"run", "--max-tokens", "0", "hi"}, "--max-tokens: expected a whole number from 1 to "},
      {{"run", "--max-tokens", "99999999999999999999", "hi"}, "found '99999999999999999999'"},
      {{"run", "--max-tokens", "0x10", "hi"}, "--max-tokens: expected a whole number"},
      {{"run", "--max-tokens", "12 ", "hi"}, "--max-tokens: expected a whole number"},
      {{"run", "--seed", "-1", "hi"},
       "--seed: expected a whole number from 0 to 18446744073709551615, found '-1'"},
      {{"run", "--seed"}, "--seed needs a value"},
      {{"run", "--model", "", "hi"}, "--model: expected a folder, found an empty name"},
      {{"info", ""}, "--model: expected a folder, found an empty name"},
      {{"info", "a", "b"}, "unexpected argument 'b'"},
      {{"info", "--trace"}, "unknown flag '--trace'"},
      {{"inspect", "--layers", "3"}, "--layers needs --trace"},
      {{"inspect", "--isolate"}, "--isolate needs --trace"},
      {{"inspect", "--budget", "1"}, "--budget needs --trace"},
      {{"inspect", "--trace", "--budget", "much"}, "--budget: expected a number from 0 to 1, found 'much'"},
  };
  for (const UsageCase& usage : cases) {
    EXPECT_TRUE(fails(lirio(usage.arguments), 2, usage.what)) << ::testing::PrintToString(usage.arguments);
  }
}

TEST(Usage, ControlCharactersOfArgumentsDoNotReachTheTerminal) {
  const ProcessResult flag = lirio({"run", "--a\nb\033[31m", "hi"});
  EXPECT_TRUE(fails(flag, 2, "unknown flag '--a?b?[31m'"));
  EXPECT_TRUE(fails(lirio({"info", "two\nlines"}), 1, "two?lines"));
}

TEST(Usage, NumbersAreDecimal) {
  // 010 is ten, not eight.
  EXPECT_EQ(run_json({"--temperature", "0", "--max-tokens", "010", kSum}).generated_tokens, 10);
}

TEST(Usage, TheLastOfARepeatedFlagCounts) {
  EXPECT_EQ(run_json({"--max-tokens", "5", "--max-tokens", "2", kSum}).generated_tokens, 2);
}

TEST(Help, NamesEveryCommandAndShowsHowToUseThem) {
  const ProcessResult result = lirio({"--help"});
  for (const char* text :
       {"\n  run  ", "\n  info  ", "\n  inspect  ", "--version", "Examples:\n  lirio run \"What is"}) {
    EXPECT_TRUE(prints(result, text));
  }
  EXPECT_EQ(result.err, "");
}

TEST(Help, OfEachCommandEndsWithItsOwnExamples) {
  const struct {
    const char *command, *usage, *flag, *example;
  } kCommands[] = {
      {"run", "Usage: lirio run [OPTIONS] [PROMPT]", "--max-tokens N ", "\n  lirio run --no-think \""},
      {"info", "Usage: lirio info [OPTIONS] [MODEL]", "--model DIR ", "\n  lirio info DIR "},
      {"inspect", "Usage: lirio inspect [OPTIONS] [MODEL]", "--inject OP ",
       "\n  lirio inspect --trace --b ref/7 "},
  };
  for (const auto& command : kCommands) {
    const ProcessResult result = lirio({command.command, "--help"});
    EXPECT_TRUE(prints(result, command.usage));
    EXPECT_TRUE(prints(result, command.flag));
    EXPECT_TRUE(prints(result, command.example));
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(lirio({command.command, "-h"}).out, result.out);
  }
}

TEST(Help, FitsATerminalOfModestWidth) {
  for (const Arguments& arguments :
       {Arguments{"--help"}, {"run", "--help"}, {"info", "--help"}, {"inspect", "--help"}}) {
    for (const std::string& line : lines_of(lirio(arguments).out)) {
      EXPECT_LE(line.size(), 120U) << line;
    }
  }
}

TEST(Version, IsOneLine) {
  const ProcessResult result = lirio({"--version"});
  EXPECT_TRUE(prints(result, "lirio "));
  EXPECT_EQ(lines_of(result.out).size(), 1U) << result.out;
  EXPECT_EQ(result.err, "");
}

}  // namespace
}  // namespace lirio::testing
