// A whole file mapped read-only. Owns the mapping; callers keep it alive as long as they use its bytes.
// Thread-safe once opened.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace lirio {

class MappedFile {
 public:
  /// Throws Error when the file can't be opened, is a folder, or can't be mapped. An empty file has no bytes.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace lirio
