// lirio: parses the command line, runs a command, prints errors as two lines (what, what to do).
// Exit codes: 0 done, 1 failed, 2 wrong usage.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/terminal.h"

namespace {

/// Names come from command lines and files: control characters in them must not add lines or reach the
/// terminal.
std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return text;
}

int fail(const std::string& what, const std::string& hint, lirio::ExitCode code) {
  std::fflush(stdout);
  std::fputs(fmt::format("lirio: {}\n{}\n", printable(what), printable(hint)).c_str(), stderr);
  return static_cast<int>(code);
}

int fail(const lirio::Error& error) {
  return fail(error.what(), error.hint(), error.exit_code());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("lirio runs Qwen3.6-35B-A3B on this machine.", "lirio");
  app.set_version_flag("--version", "lirio " LIRIO_VERSION, "Print the version and exit");
  app.require_subcommand(1);
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->label("Positionals", "Arguments");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  lirio::cli::add_run_command(app);
  lirio::cli::add_info_command(app);
  lirio::cli::add_inspect_command(app);
  lirio::cli::add_tokenize_command(app);
  lirio::cli::add_render_command(app);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    command->group("Commands");
  app.footer(
      "Examples:\n"
      "  lirio run \"What is 47 + 85?\"            answer a prompt with the built-in test model\n"
      "  lirio run --model DIR < question.txt    answer what a file asks with a real model\n"
      "  lirio info DIR                          what a model folder holds and needs\n"
      "'lirio COMMAND --help' lists a command's flags.");

  try {
    app.parse(argc, argv);
    lirio::cli::flush_output();
  } catch (const CLI::Success& help) {  // --help, --version
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return fail(lirio::cli::usage_error(app, error));
  } catch (const lirio::Error& error) {
    return fail(error);
  } catch (const std::bad_alloc&) {
    return fail("out of memory", "Close other programs, or use a shorter prompt.", lirio::ExitCode::kFailure);
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0) return fail(lirio::cli::output_error());  // fmt::print's exception
    return fail(error.what(), "This is a fault in lirio; please report it with the command line.",
                lirio::ExitCode::kFailure);
  }
  return 0;
}
