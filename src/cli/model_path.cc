#include "cli/model_path.h"

#include <cstdio>
#include <optional>

#include "base/error.h"

namespace lirio::cli {
namespace {

namespace fs = std::filesystem;

/// Built: build/PRESET/lirio, the model in models/pocket of the source folder. Installed: bin/lirio and
/// share/lirio.
std::optional<fs::path> find_pocket_model() {
  std::error_code ignored;
  const fs::path executable = fs::read_symlink("/proc/self/exe", ignored);
  if (executable.empty()) return std::nullopt;
  for (fs::path folder = executable.parent_path();; folder = folder.parent_path()) {
    for (const char* place : {"models/pocket", "share/lirio/models/pocket"}) {
      if (fs::exists(folder / place / "config.json", ignored)) return folder / place;
    }
    if (folder == folder.parent_path()) return std::nullopt;
  }
}

}  // namespace

fs::path model_directory(const std::string& given) {
  if (!given.empty()) return given;
  const std::optional<fs::path> pocket = find_pocket_model();
  if (!pocket) {
    throw Error("no model given, and the pocket model is not beside this executable",
                "Name a model folder with --model DIR.", ExitCode::kUsage);
  }
  std::fputs(
      "Using the pocket model, a tiny test model. For the real one, download "
      "mlx-community/Qwen3.6-35B-A3B-4bit from "
      "Hugging Face (19.5 GB) and name its folder with --model.\n",
      stderr);
  return *pocket;
}

}  // namespace lirio::cli
