// The commands of the executable, one .cc each. Each adds its flags to a subcommand and runs when it was
// chosen; what goes wrong is thrown as Error, which main() prints.
#pragma once

#include <CLI/CLI.hpp>

namespace lirio::cli {

void add_run_command(CLI::App& app);
void add_info_command(CLI::App& app);
void add_inspect_command(CLI::App& app);
void add_tokenize_command(CLI::App& app);
void add_render_command(CLI::App& app);

}  // namespace lirio::cli
