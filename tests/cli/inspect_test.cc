// lirio inspect: the plan, and finding the op at which two executions part.
#include <regex>

#include "cli/lirio.h"

namespace lirio::testing {
namespace {

constexpr const char* kAttend = "layers.3.self_attn.attend";

/// "lirio inspect --trace" with `more`.
ProcessResult trace(const Arguments& more) {
  Arguments arguments = {"inspect", "--trace"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return lirio(arguments);
}

/// The number in "All N values are within the budget."; 0 when the trace says otherwise.
int values_within(const ProcessResult& result) {
  std::smatch match;
  const std::regex line(R"(\nAll (\d+) values are within the budget\.\n)");
  if (result.exit_code != 0 || !std::regex_search(result.out, match, line)) return 0;
  return std::stoi(match[1]);
}

/// The op that a failed trace names, with its error lines checked.
std::string first_op_over(const ProcessResult& result) {
  EXPECT_EQ(result.exit_code, 1) << result.out << result.err;
  const std::vector<std::string> lines = messages(result);
  EXPECT_EQ(lines.size(), 2U) << result.err;
  std::smatch match;
  const std::regex line(R"(lirio: first op over its budget: (\S+) \(\w+\): value \S+ differs by .*)");
  if (lines.empty() || !std::regex_match(lines[0], match, line)) return "";
  return match[1];
}

int count_over(const ProcessResult& result) {
  int count = 0;
  for (const std::string& line : lines_of(result.out))
    count += line.ends_with("  over");
  return count;
}

TEST(Inspect, PrintsEveryOpOfThePlan) {
  const ProcessResult result = lirio({"inspect"});
  for (const char* text :
       {"   0  Embed            embed_tokens  -> [256]\n", "layers.0.linear_attn.recurrence",
        "layers.7.self_attn.attend", "LogitsHead       lm_head  -> [4096]\n", "Sample ",
        "180 ops, 192 values, 104 matrices, 45 vectors"}) {
    EXPECT_TRUE(prints(result, text));
  }
  EXPECT_EQ(lines_of(result.out).size(), 181U);
}

TEST(InspectTrace, FindsTwoSoundExecutionsWithinTheBudget) {
  const ProcessResult result = trace({});
  EXPECT_EQ(values_within(result), 192) << result.out << result.err;
  EXPECT_TRUE(
      prints(result, "ref against ref:plain, 23 tokens, ops embed_tokens to sample, budget 1.0e-05\n"));
}

TEST(InspectTrace, ComparesOtherWaysOfCuttingThePrompt) {
  const ProcessResult result = trace({"--a", "ref:plain/64", "--b", "ref/7"});
  EXPECT_EQ(values_within(result), 192) << result.out << result.err;
  EXPECT_TRUE(prints(result, "ref/7 against ref:plain/64, 23 tokens"));
}

TEST(InspectTrace, RunsThePromptItIsGiven) {
  std::string prompt;
  for (int i = 0; i < 12; ++i)
    prompt += "The box holds a lamp. ";
  const ProcessResult result = trace({"--prompt", prompt, "--b", "ref/63"});
  EXPECT_EQ(values_within(result), 192) << result.out << result.err;
  EXPECT_EQ(result.out.find(" 23 tokens"), std::string::npos) << result.out;
}

TEST(InspectTrace, NamesExactlyTheOpThatIsWrong) {
  for (const char* op :
       {"embed_tokens", "layers.0.linear_attn.in_proj_qkv", "layers.1.linear_attn.recurrence", kAttend,
        "layers.5.mlp.route", "layers.6.mlp.switch_mlp.down_proj", "norm", "lm_head"}) {
    EXPECT_EQ(first_op_over(trace({"--inject", op})), op);
  }
}

TEST(InspectTrace, IsolateShowsTheWrongOpAlone) {
  const ProcessResult result = trace({"--inject", kAttend, "--isolate"});
  EXPECT_EQ(first_op_over(result), kAttend);
  EXPECT_EQ(count_over(result), 1) << result.out;
  EXPECT_GT(count_over(trace({"--inject", kAttend})), 10);
}

TEST(InspectTrace, FromAndToNarrowTheComparison) {
  EXPECT_EQ(values_within(trace({"--from", "layers.2.out", "--to", "layers.2.out"})), 1);
  EXPECT_EQ(first_op_over(trace({"--inject", kAttend, "--from", kAttend, "--to", kAttend})), kAttend);
  // Before --from both get the same values, and --to ends before the fault.
  EXPECT_GT(values_within(trace({"--inject", kAttend, "--from", "layers.4.input_layernorm"})), 0);
  EXPECT_GT(values_within(trace({"--inject", kAttend, "--to", "layers.2.out"})), 0);
}

TEST(InspectTrace, LayersNarrowTheComparison) {
  EXPECT_EQ(values_within(trace({"--layers", "0"})), 24);
  EXPECT_EQ(values_within(trace({"--layers", "0-1"})), 48);
  EXPECT_EQ(first_op_over(trace({"--inject", kAttend, "--layers", "3"})), kAttend);
  EXPECT_GT(values_within(trace({"--inject", kAttend, "--layers", "4-7"})), 0);
}

TEST(InspectTrace, BudgetDecidesWhatCountsAsEqual) {
  EXPECT_GT(values_within(trace({"--inject", kAttend, "--isolate", "--budget", "0.01"})), 0);
}

TEST(InspectTrace, AllListsEveryValue) {
  const ProcessResult result = trace({"--all"});
  EXPECT_EQ(lines_of(result.out).size(), 192U + 3U) << result.out;
  EXPECT_TRUE(prints(result, "\nlayers.0.linear_attn.beta "));
}

TEST(InspectTrace, MistakenNamesAndRangesAreUsageErrors) {
  const std::pair<Arguments, const char*> kCases[] = {
      {{"--inject", "layers.3.attend"}, "the plan has no op 'layers.3.attend'"},
      {{"--from", "layers.8.out"}, "the plan has no op 'layers.8.out'"},
      {{"--to", "Embed"}, "the plan has no op 'Embed'"},
      {{"--from", "layers.3.out", "--to", "layers.1.out"}, "the range of ops is empty"},
      {{"--layers", "0", "--from", "layers.1.out"}, "the range of ops is empty"},
      {{"--layers", "8"}, "--layers 8: expected N or N-M within 0-7"},
      {{"--layers", "3-2"}, "--layers 3-2: expected N or N-M within 0-7"},
      {{"--layers", "3-"}, "--layers 3-: expected"},
      {{"--layers", "all"}, "--layers all: expected"},
      {{"--layers=-1"}, "--layers -1: expected"},
      {{"--layers", "99999999999999999999"}, "--layers 99999999999999999999: expected"},
      {{"--b", "cuda"}, "'cuda' is not an execution"},
      {{"--a", "ref:"}, "'ref:' is not an execution"},
      {{"--b", "ref/0"}, "'ref/0': the rows a step must be a number above 0"},
      {{"--b", "ref/"}, "'ref/': the rows a step must be a number above 0"},
      {{"--b", "ref/7x"}, "'ref/7x': the rows a step must be a number above 0"},
  };
  for (const auto& [arguments, what] : kCases) {
    EXPECT_TRUE(fails(trace(arguments), 2, what)) << ::testing::PrintToString(arguments);
  }
}

}  // namespace
}  // namespace lirio::testing
