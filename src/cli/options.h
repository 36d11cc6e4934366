// What the commands' flags have in common: numbers are read strictly, the model folder has one name
// everywhere, and a command line that CLI11 rejects is explained in the two lines of an Error. Used while
// parsing, on one thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "base/error.h"

namespace lirio::cli {

/// `text` as a decimal number from `low` to `high`; throws CLI::ValidationError naming `flag` otherwise.
/// CLI11's own reading takes 010 for 8, -1 for 2^64 - 1 and nan for in range. T: int64_t, uint64_t, double.
template <typename T>
T parse_number(const std::string& flag, const std::string& text, T low, T high);

/// Adds a flag with a number from `low` to `high`; `target` is a T or an optional one.
template <typename T, typename Target>
CLI::Option* add_number(CLI::App& command, const std::string& flag, Target& target, T low, T high,
                        const std::string& help) {
  const CLI::callback_t read = [&target, flag, low, high](const CLI::results_t& texts) {
    target = parse_number<T>(flag, texts.back(), low, high);
    return true;
  };
  return command.add_option(flag, read, help);
}

/// Adds --model DIR; with `positional` the folder may also stand by itself. Not given, `target` stays empty.
void add_model_option(CLI::App& command, std::string& target, bool positional);

/// What is wrong with the command line that `error` rejected, and what to do.
Error usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace lirio::cli
