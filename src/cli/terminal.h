// What a person at a terminal sees beside the answer: dimmed text and a progress line. Nothing of it reaches a pipe.
// Used by the commands, on one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace lirio::cli {

bool stdin_is_terminal();
bool stdout_is_terminal();
bool stderr_is_terminal();

/// A line on standard error that says how far long work is. Appears after a second, and only on a terminal; clear()
/// or the end of the scope takes it away.
class ProgressLine {
 public:
  explicit ProgressLine(std::string label);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;

  void update(int64_t done, int64_t total, std::string_view unit);
  void clear();

 private:
  std::string label_;
  std::chrono::steady_clock::time_point start_, shown_at_;
  bool visible_ = false;
};

/// "19.5 GB", "742 MB", "12 kB", decimal units.
std::string format_bytes(int64_t bytes);

}  // namespace lirio::cli
