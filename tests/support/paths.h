// Where tests find committed data.
#pragma once

#include <filesystem>

namespace lirio::testing {

std::filesystem::path source_dir();
/// models/pocket
std::filesystem::path pocket_dir();
/// tests/golden
std::filesystem::path golden_dir();

/// A fresh folder, removed with its contents at the end of the scope.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace lirio::testing
