#include "cli/lirio.h"

#include "base/error.h"
#include "base/json.h"

namespace lirio::testing {
namespace {

std::string describe(const ProcessResult& result) {
  return fmt::format("exit code {}, signal {}{}\n-- standard output:\n{}\n-- standard error:\n{}",
                     result.exit_code, result.signal, result.timed_out ? ", timed out" : "", result.out,
                     result.err);
}

JsonAnswer parse_answer(const std::string& text) {
  JsonAnswer answer;
  const json::Document document(text, "standard output");
  const json::Object root = document.root_object();
  const auto string = [&](std::string_view key) {
    const auto value = json::get_string(root, key, document.source());
    EXPECT_TRUE(value) << key;
    return std::string(value.value_or(""));
  };
  answer.model = string("model");
  answer.reasoning = string("reasoning");
  answer.content = string("content");
  answer.finish_reason = string("finish_reason");
  answer.prompt_tokens = json::get_int(root, "prompt_tokens", document.source()).value_or(-1);
  answer.generated_tokens = json::get_int(root, "generated_tokens", document.source()).value_or(-1);
  const auto seed = json::find(root, "seed");
  EXPECT_TRUE(seed && seed->get(answer.seed) == simdjson::SUCCESS);
  for (const char* key : {"seconds_to_first_token", "tokens_per_second"}) {
    EXPECT_GE(json::get_double(root, key, document.source()).value_or(-1), 0) << key;
  }
  return answer;
}

}  // namespace

std::filesystem::path program() {
  return LIRIO_PROGRAM;
}

ProcessResult lirio(const Arguments& arguments, const std::string& input) {
  return lirio(arguments, ProcessOptions{.input = input});
}

ProcessResult lirio(const Arguments& arguments, const ProcessOptions& options) {
  ProcessResult result = run_process(program(), arguments, options);
  EXPECT_FALSE(result.timed_out);
  return result;
}

Arguments greedy(const Arguments& arguments) {
  Arguments all = {"run", "--temperature", "0", "--no-think"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

Arguments endless(const Arguments& more) {
  Arguments all = {"run", "--temperature", "100", "--top-k", "0", "--top-p", "1", "--seed", "4"};
  all.insert(all.end(), more.begin(), more.end());
  all.emplace_back("Tell me a story about a fox.");
  return all;
}

std::vector<std::string> messages(const ProcessResult& result) {
  std::vector<std::string> lines = lines_of(result.err);
  if (!lines.empty() && lines[0].starts_with("Using the pocket model")) lines.erase(lines.begin());
  return lines;
}

::testing::AssertionResult fails(const ProcessResult& result, int exit_code, std::string_view what) {
  const std::vector<std::string> lines = messages(result);
  if (result.exit_code == exit_code && result.out.empty() && lines.size() == 2 &&
      lines[0].starts_with("lirio: ") && lines[0].find(what) != std::string::npos &&
      result.err.ends_with('\n')) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << "expected exit code " << exit_code << " and two lines, the first with \"" << what << "\"; found "
         << describe(result);
}

::testing::AssertionResult prints(const ProcessResult& result, std::string_view text) {
  if (result.exit_code == 0 && result.out.find(text) != std::string::npos)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "expected \"" << text << "\"; found " << describe(result);
}

JsonAnswer run_json(const Arguments& arguments, const std::string& input) {
  Arguments all = {"run", "--json"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const ProcessResult result = lirio(all, input);
  if (result.exit_code != 0 || !messages(result).empty()) {
    ADD_FAILURE() << describe(result);
    return {};
  }
  try {
    return parse_answer(result.out);
  } catch (const Error& error) {
    ADD_FAILURE() << error.what() << "\n" << describe(result);
    return {};
  }
}

}  // namespace lirio::testing
