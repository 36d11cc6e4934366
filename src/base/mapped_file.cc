#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace lirio {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const char* verb, int error) {
  throw Error(fmt::format("{}: can't {}: {}", path.string(), verb, std::strerror(error)),
              error == ENOENT ? "Check the path." : "Check the file's type, permissions and the disk.");
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  // O_NONBLOCK: a named pipe without a writer would block here for ever.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) fail(path, "open", errno);
  struct stat status {};
  const int stat_error = ::fstat(fd, &status) != 0 ? errno : 0;
  if (stat_error != 0 || !S_ISREG(status.st_mode)) {
    ::close(fd);
    if (stat_error != 0) fail(path, "read as a file", stat_error);
    throw Error(fmt::format("{}: is {}, expected a file", path.string(),
                            S_ISDIR(status.st_mode) ? "a folder" : "a pipe or a device"),
                "Check the path.");
  }
  size_ = static_cast<std::size_t>(status.st_size);
  void* address = size_ == 0 ? nullptr : ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd, 0);
  const int map_error = errno;
  ::close(fd);
  if (address == MAP_FAILED) fail(path, "map", map_error);
  data_ = static_cast<const std::byte*>(address);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

}  // namespace lirio
