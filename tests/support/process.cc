#include "support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace lirio::testing {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

/// A pipe or terminal: the program's end and ours. Neither survives exec: the program gets copies.
struct Channel {
  int theirs = -1, ours = -1;
};

Channel open_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe2");
  return {ends[1], ends[0]};
}

Channel open_terminal() {
  Channel channel;
  if (::openpty(&channel.ours, &channel.theirs, nullptr, nullptr, nullptr) != 0) fail("openpty");
  termios settings{};
  ::tcgetattr(channel.theirs, &settings);
  settings.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  ::tcsetattr(channel.theirs, TCSANOW, &settings);
  ::fcntl(channel.ours, F_SETFD, FD_CLOEXEC);
  ::fcntl(channel.theirs, F_SETFD, FD_CLOEXEC);
  return channel;
}

/// A nameless file rather than a pipe: a program that doesn't read its input must not block us.
int open_input(const std::string& text) {
  std::FILE* const file = std::tmpfile();
  if (file == nullptr) fail("tmpfile");
  std::fwrite(text.data(), 1, text.size(), file);
  std::rewind(file);
  const int fd = ::fcntl(::fileno(file), F_DUPFD_CLOEXEC, 0);
  std::fclose(file);
  if (fd < 0) fail("fcntl");
  return fd;
}

}  // namespace

Process::Process(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                 const ProcessOptions& options)
    : deadline_(Clock::now() + options.timeout) {
  Channel terminal, out, err;
  if (options.terminal_in || options.terminal_out || options.terminal_err) {
    terminal = open_terminal();
    sources_.push_back({terminal.ours, &ProcessResult::terminal});
  }
  if (!options.terminal_out) {
    out = open_pipe();
    sources_.push_back({out.ours, &ProcessResult::out});
  }
  if (!options.terminal_err) {
    err = open_pipe();
    sources_.push_back({err.ours, &ProcessResult::err});
  }
  const int in = options.terminal_in ? terminal.theirs : open_input(options.input);
  const std::array<int, 3> streams = {in, options.terminal_out ? terminal.theirs : out.theirs,
                                      options.terminal_err ? terminal.theirs : err.theirs};
  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);

  pid_ = ::fork();
  if (pid_ == 0) {
    // Only calls that are safe after fork from here to exec.
    for (int fd = 0; fd < 3; ++fd) {
      if (::dup2(streams[static_cast<size_t>(fd)], fd) < 0) ::_exit(127);
    }
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
      ::signal(signal, SIG_DFL);
    ::signal(SIGPIPE, options.ignore_sigpipe ? SIG_IGN : SIG_DFL);
    if (!options.directory.empty() && ::chdir(options.directory.c_str()) != 0) ::_exit(127);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  const int error = errno;
  for (const int fd : {options.terminal_in ? -1 : in, terminal.theirs, out.theirs, err.theirs}) {
    if (fd >= 0) ::close(fd);
  }
  errno = error;
  if (pid_ < 0) fail("fork");
}

Process::~Process() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  for (Source& source : sources_)
    stop_reading(source);
}

void Process::stop_reading(Source& source) {
  if (source.fd >= 0) ::close(source.fd);
  source.fd = -1;
}

bool Process::pump() {
  std::vector<pollfd> waiting;
  for (const Source& source : sources_)
    waiting.push_back({source.fd, POLLIN, 0});  // negative ones are ignored
  if (std::all_of(sources_.begin(), sources_.end(), [](const Source& source) { return source.fd < 0; }))
    return false;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
  if (left <= 0) return false;
  if (::poll(waiting.data(), waiting.size(), static_cast<int>(left)) < 0 && errno != EINTR) fail("poll");
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (waiting[i].revents == 0) continue;
    std::array<char, 4096> buffer{};
    const ssize_t count = ::read(sources_[i].fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    // A terminal whose other end is closed reads as an error.
    if (count <= 0) {
      stop_reading(sources_[i]);
    } else {
      (result_.*sources_[i].text).append(buffer.data(), static_cast<size_t>(count));
    }
  }
  return true;
}

bool Process::wait_for(std::string_view text) {
  const auto written = [&] {
    return result_.out.find(text) != std::string::npos || result_.terminal.find(text) != std::string::npos;
  };
  while (!written()) {
    if (!pump()) return written();
  }
  return true;
}

void Process::send(int signal) {
  ::kill(pid_, signal);
}

void Process::close_output() {
  for (Source& source : sources_) {
    if (source.text == &ProcessResult::out) stop_reading(source);
  }
}

ProcessResult Process::wait() {
  while (pump()) {
  }
  int status = 0;
  // The program may have closed its output and gone on; waitpid knows no timeout.
  while (::waitpid(pid_, &status, WNOHANG) == 0) {
    if (Clock::now() >= deadline_) {
      result_.timed_out = true;
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  pid_ = -1;
  if (WIFEXITED(status)) result_.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result_.signal = WTERMSIG(status);
  return std::move(result_);
}

ProcessResult run_process(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                          const ProcessOptions& options) {
  return Process(program, arguments, options).wait();
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace lirio::testing
