// lirio: parses the command line, runs a command, prints errors as two lines (what, what to do).
// Exit codes: 0 done, 1 failed, 2 wrong usage.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "base/error.h"
#include "cli/commands.h"

namespace {

int fail(const std::string& what, const std::string& hint, lirio::ExitCode code) {
  std::fflush(stdout);
  std::fputs(fmt::format("lirio: {}\n{}\n", what, hint).c_str(), stderr);
  return static_cast<int>(code);
}

/// CLI11's messages on one line.
std::string one_line(std::string text) {
  for (char& c : text) c = c == '\n' ? ' ' : c;
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::string help_hint(const CLI::App& app) {
  std::string command = "lirio";
  for (const CLI::App* chosen : app.get_subcommands()) command += " " + chosen->get_name();
  return "Try '" + command + " --help'.";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("lirio runs Qwen3.6-35B-A3B on this machine.", "lirio");
  app.set_version_flag("--version", "lirio " LIRIO_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  lirio run \"What is 47 + 85?\"            answer a prompt with the built-in test model\n"
      "  lirio run --model DIR < question.txt    answer what a file asks with a real model\n"
      "  lirio info DIR                          what a model folder holds and needs");
  lirio::cli::add_run_command(app);
  lirio::cli::add_info_command(app);
  lirio::cli::add_inspect_command(app);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {  // --help, --version
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return fail(one_line(error.what()), help_hint(app), lirio::ExitCode::kUsage);
  } catch (const lirio::Error& error) {
    return fail(error.what(), error.hint(), error.exit_code());
  } catch (const std::bad_alloc&) {
    return fail("out of memory", "Close other programs, or use a shorter prompt.", lirio::ExitCode::kFailure);
  } catch (const std::exception& error) {
    return fail(error.what(), "This is a fault in lirio; please report it with the command line.",
                lirio::ExitCode::kFailure);
  }
  return 0;
}
