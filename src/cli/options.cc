#include "cli/options.h"

#include <algorithm>
#include <charconv>
#include <type_traits>
#include <vector>

namespace lirio::cli {
namespace {

/// "lirio run" when that command was chosen, else "lirio".
std::string chosen_command(const CLI::App& app) {
  std::string name = "lirio";
  for (const CLI::App* chosen : app.get_subcommands())
    name += " " + chosen->get_name();
  return name;
}

std::string command_names(const CLI::App& app) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  return names;
}

bool looks_like_flag(const std::string& text) {
  return text.size() > 1 && text[0] == '-';
}

/// The arguments that CLI11 could not place.
std::vector<std::string> unplaced(const CLI::App& app) {
  std::vector<std::string> arguments = app.remaining();
  for (const CLI::App* chosen : app.get_subcommands()) {
    const std::vector<std::string> more = chosen->remaining();
    arguments.insert(arguments.end(), more.begin(), more.end());
  }
  arguments.erase(std::remove(arguments.begin(), arguments.end(), "--"), arguments.end());
  return arguments;
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

template <typename T>
T parse_number(const std::string& flag, const std::string& text, T low, T high) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  // Written so that nan is outside of every range.
  if (error == std::errc() && stop == end && value >= low && value <= high) return value;
  throw CLI::ValidationError(flag,
                             fmt::format("expected a {} from {} to {}, found '{}'",
                                         std::is_integral_v<T> ? "whole number" : "number", low, high, text));
}

template int64_t parse_number(const std::string&, const std::string&, int64_t, int64_t);
template uint64_t parse_number(const std::string&, const std::string&, uint64_t, uint64_t);
template double parse_number(const std::string&, const std::string&, double, double);

void add_model_option(CLI::App& command, std::string& target, bool positional) {
  // A shell variable that isn't set must not silently mean another model.
  const CLI::callback_t read = [&target](const CLI::results_t& texts) {
    target = texts.back();
    if (target.empty()) throw CLI::ValidationError("--model", "expected a folder, found an empty name");
    return true;
  };
  command
      .add_option(positional ? "--model,MODEL" : "--model", read, "Model folder (default: the pocket model)")
      ->type_name("DIR");
}

Error usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const std::string command = chosen_command(app);
  const std::string see_help = "Try '" + command + " --help'.";
  const auto usage = [](const std::string& what, const std::string& hint) {
    return Error(what, hint, ExitCode::kUsage);
  };
  // CLI11 looks for what is missing before it looks at what it doesn't know, which is the better explanation.
  const std::vector<std::string> unknown = unplaced(app);
  const auto flag = std::find_if(unknown.begin(), unknown.end(), looks_like_flag);
  if (flag != unknown.end()) return usage(fmt::format("unknown flag '{}'", *flag), see_help);
  if (app.get_subcommands().empty()) {
    const std::string what = unknown.empty() ? "no command" : fmt::format("unknown command '{}'", unknown[0]);
    return usage(fmt::format("{}; the commands are {}", what, command_names(app)), see_help);
  }
  if (!unknown.empty()) {
    return usage(fmt::format("unexpected argument '{}'", unknown[0]),
                 command == "lirio run" ? "Put the prompt in quotes, as one argument." : see_help);
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string text = error.what();  // "--seed: 1 required N missing"
    return usage(text.substr(0, text.find(':')) + " needs a value", see_help);
  }
  return usage(one_line(error.what()), see_help);
}

}  // namespace lirio::cli
