// base/mapped_file: what can be mapped, and what the errors for the rest say.
#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "support/paths.h"

namespace lirio {
namespace {

using testing::TemporaryDirectory;

std::filesystem::path write_file(const TemporaryDirectory& directory, std::string_view content) {
  const std::filesystem::path path = directory.path() / "file.bin";
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

/// Expects an Error for `path` that names it and says `reason`.
void expect_error(const std::filesystem::path& path, std::string_view reason) {
  try {
    const MappedFile file(path);
    ADD_FAILURE() << path << " was mapped";
  } catch (const Error& error) {
    const std::string_view what = error.what();
    EXPECT_EQ(what.rfind(path.string(), 0), 0u) << what;
    EXPECT_NE(what.find(reason), std::string_view::npos) << what;
    EXPECT_FALSE(error.hint().empty());
    EXPECT_EQ(error.exit_code(), ExitCode::kFailure);
  }
}

TEST(MappedFile, HoldsTheBytesOfTheFile) {
  const TemporaryDirectory directory;
  const std::string content("first\0\xFF last", 12);
  const std::filesystem::path path = write_file(directory, content);
  const MappedFile file(path);
  EXPECT_EQ(text_of(file), content);
  EXPECT_EQ(file.path(), path);
}

TEST(MappedFile, HoldsFilesOfManyPages) {
  const TemporaryDirectory directory;
  std::string content(1'000'003, '\0');
  for (std::size_t i = 0; i < content.size(); ++i)
    content[i] = static_cast<char>(i * 31 >> 4);
  EXPECT_EQ(text_of(MappedFile(write_file(directory, content))), content);
}

TEST(MappedFile, AnEmptyFileHasNoBytes) {
  const TemporaryDirectory directory;
  const MappedFile file(write_file(directory, ""));
  EXPECT_TRUE(file.bytes().empty());
}

TEST(MappedFile, NamesAMissingFile) {
  const TemporaryDirectory directory;
  expect_error(directory.path() / "absent.safetensors", "No such file or directory");
  expect_error(directory.path() / "absent" / "file.safetensors", "No such file or directory");
}

TEST(MappedFile, NamesAFolder) {
  const TemporaryDirectory directory;
  expect_error(directory.path(), "is a folder, expected a file");
}

TEST(MappedFile, RefusesAPipeWithoutWaitingForAWriter) {
  const TemporaryDirectory directory;
  const std::filesystem::path pipe = directory.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_error(pipe, "is a pipe or a device, expected a file");
}

TEST(MappedFile, NamesAPathThatRunsThroughAFile) {
  const TemporaryDirectory directory;
  expect_error(write_file(directory, "content") / "below", "Not a directory");
}

TEST(MappedFile, StaysReadableAfterTheFileIsRemoved) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = write_file(directory, "content");
  const MappedFile file(path);
  std::filesystem::remove(path);
  EXPECT_EQ(text_of(file), "content");
}

TEST(MappedFile, HandsItsBytesOverWhenMoved) {
  const TemporaryDirectory directory;
  MappedFile first(write_file(directory, "content"));
  const std::byte* address = first.bytes().data();
  const MappedFile second(std::move(first));
  EXPECT_EQ(second.bytes().data(), address);
  EXPECT_EQ(text_of(second), "content");
  EXPECT_TRUE(first.bytes().empty());  // NOLINT(bugprone-use-after-move): what the move leaves is the point
}

}  // namespace
}  // namespace lirio
