#include "cli/terminal.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

namespace lirio::cli {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr auto kFirstShown = milliseconds(1000);
constexpr auto kRefresh = milliseconds(100);

}  // namespace

bool stdin_is_terminal() { return ::isatty(STDIN_FILENO) == 1; }
bool stdout_is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }
bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

ProgressLine::ProgressLine(std::string label) : label_(std::move(label)), start_(Clock::now()), shown_at_(start_) {}

void ProgressLine::update(int64_t done, int64_t total, std::string_view unit) {
  const auto now = Clock::now();
  if (!stderr_is_terminal() || now - start_ < kFirstShown || (visible_ && now - shown_at_ < kRefresh)) return;
  std::fputs(fmt::format("\r\033[K{}: {} of {} {} ({} %)", label_, done, total, unit, 100 * done / total).c_str(), stderr);
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
