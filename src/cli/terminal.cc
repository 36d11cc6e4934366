#include "cli/terminal.h"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace lirio::cli {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr auto kFirstShown = milliseconds(1000);
constexpr auto kRefresh = milliseconds(100);
constexpr std::string_view kDim = "\033[2m", kNormal = "\033[0m";
constexpr std::array kEndingSignals = {SIGINT, SIGTERM, SIGHUP};

/// The handler is gone by SA_RESETHAND, so the signal raised again ends the process as it would have without
/// it.
void undim_and_end(int signal) {
  [[maybe_unused]] const ssize_t ignored = ::write(STDOUT_FILENO, kNormal.data(), kNormal.size());
  ::raise(signal);
}

}  // namespace

bool stdin_is_terminal() {
  return ::isatty(STDIN_FILENO) == 1;
}
bool stdout_is_terminal() {
  return ::isatty(STDOUT_FILENO) == 1;
}
bool stderr_is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

Error output_error() {
  return {fmt::format("can't write to standard output: {}", std::strerror(errno)),
          "Check where the output goes: a full disk, a closed pipe?"};
}

void write_output(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  flush_output();
}

void flush_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw output_error();
}

DimmedOutput::~DimmedOutput() {
  if (active_) std::fwrite(kNormal.data(), 1, kNormal.size(), stdout);
}

void DimmedOutput::begin() {
  if (active_) return;
  for (const int signal : kEndingSignals) {
    struct sigaction previous {};
    // A signal that is ignored (nohup) stays so.
    if (::sigaction(signal, nullptr, &previous) != 0 || previous.sa_handler != SIG_DFL) continue;
    struct sigaction action {};
    action.sa_handler = undim_and_end;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(signal, &action, nullptr);
  }
  active_ = true;
  write_output(kDim);
}

void DimmedOutput::end() {
  if (!active_) return;
  write_output(kNormal);
  active_ = false;
  for (const int signal : kEndingSignals) {
    struct sigaction current {};
    if (::sigaction(signal, nullptr, &current) == 0 && current.sa_handler == undim_and_end) {
      std::signal(signal, SIG_DFL);
    }
  }
}

ProgressLine::ProgressLine(std::string label)
    : label_(std::move(label)), start_(Clock::now()), shown_at_(start_) {}

void ProgressLine::update(int64_t done, int64_t total, std::string_view unit) {
  const auto now = Clock::now();
  if (!stderr_is_terminal() || now - start_ < kFirstShown || (visible_ && now - shown_at_ < kRefresh)) return;
  std::fputs(
      fmt::format("\r\033[K{}: {} of {} {} ({} %)", label_, done, total, unit, 100 * done / total).c_str(),
      stderr);
  std::fflush(stderr);
  shown_at_ = now;
  visible_ = true;
}

void ProgressLine::clear() {
  if (!visible_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  visible_ = false;
}

std::string format_bytes(int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes >= 1'000'000'000) return fmt::format("{:.1f} GB", value / 1e9);
  if (bytes >= 1'000'000) return fmt::format("{:.0f} MB", value / 1e6);
  if (bytes >= 1'000) return fmt::format("{:.0f} kB", value / 1e3);
  return fmt::format("{} B", bytes);
}

}  // namespace lirio::cli
