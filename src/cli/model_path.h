// Which model folder a command uses: the one it was given, else the pocket model that comes with lirio.
#pragma once

#include <filesystem>
#include <string>

namespace lirio::cli {

/// `given` as a path when not empty; else the pocket model, with a note on standard error that says what it
/// is and how to get the real one. Throws Error when the pocket model isn't where the executable was built or
/// installed.
std::filesystem::path model_directory(const std::string& given);

}  // namespace lirio::cli
