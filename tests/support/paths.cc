#include "support/paths.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace lirio::testing {

std::filesystem::path source_dir() { return LIRIO_SOURCE_DIR; }
std::filesystem::path pocket_dir() { return source_dir() / "models" / "pocket"; }
std::filesystem::path golden_dir() { return source_dir() / "tests" / "golden"; }

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "lirio-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed for " + pattern);
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace lirio::testing
