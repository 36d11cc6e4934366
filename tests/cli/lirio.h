// Runs the program that the tests of this folder are about, and reads what it says.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "support/process.h"

namespace lirio::testing {

using Arguments = std::vector<std::string>;

inline constexpr const char* kEscape = "\033";
inline constexpr const char* kSum = "What is 47 + 85?";
inline constexpr const char* kSumAnswer = "47 + 85 = 132\n";

std::filesystem::path program();

/// Runs lirio with a terminal nowhere; `input` is its standard input.
ProcessResult lirio(const Arguments& arguments, const std::string& input = "");
ProcessResult lirio(const Arguments& arguments, const ProcessOptions& options);

/// `arguments` of a run whose text does not depend on chance, and that begins with the answer.
Arguments greedy(const Arguments& arguments);

/// Arguments of a run that draws nearly any token, and so has thousands before it ends. `more` comes before
/// the prompt.
Arguments endless(const Arguments& more = {});

/// The lines on standard error without the note about the pocket model.
std::vector<std::string> messages(const ProcessResult& result);

/// Exit code `exit_code`, nothing on standard output, and two lines: "lirio: " with `what` in it, and what to
/// do.
::testing::AssertionResult fails(const ProcessResult& result, int exit_code, std::string_view what);

/// Exit code 0, and `text` on standard output.
::testing::AssertionResult prints(const ProcessResult& result, std::string_view text);

/// What `lirio run --json` prints.
struct JsonAnswer {
  std::string model, reasoning, content, finish_reason;
  int64_t prompt_tokens = -1, generated_tokens = -1;
  uint64_t seed = 0;
};

/// Adds a test failure when the run failed or its output is not one JSON object with these members.
JsonAnswer run_json(const Arguments& arguments, const std::string& input = "");

}  // namespace lirio::testing
