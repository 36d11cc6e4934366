// What a person at a terminal sees beside the answer: dimmed text and a progress line. Nothing of it reaches
// a pipe. Used by the commands, on one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lirio::cli {

bool stdin_is_terminal();
bool stdout_is_terminal();
bool stderr_is_terminal();

/// That standard output could not be written, with errno's reason.
Error output_error();
/// Writes `text` to standard output at once. Throws Error when it can't be written (a full disk, a closed
/// pipe).
void write_output(std::string_view text);
/// Writes out what is still buffered for standard output; throws as write_output() does, also for earlier
/// failures.
void flush_output();

/// Dims what a terminal shows of standard output from begin() on, until end() or the end of the scope. A
/// signal that ends the process ends it too: the shell must not stay dim. At most one at a time.
class DimmedOutput {
 public:
  DimmedOutput() = default;
  ~DimmedOutput();
  DimmedOutput(const DimmedOutput&) = delete;

  void begin();
  void end();

 private:
  bool active_ = false;
};

/// A line on standard error that says how far long work is. Appears after a second, and only on a terminal;
/// clear() or the end of the scope takes it away.
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
