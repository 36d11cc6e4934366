// Runs a program as a person or a script would: arguments, standard input, pipes or a terminal, signals; and
// keeps what it wrote. Used by the cli tier. A Process belongs to one thread; the program never outlives it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lirio::testing {

struct ProcessOptions {
  std::string input{};                ///< standard input, unless that is the terminal, where nobody types
  std::filesystem::path directory{};  ///< to start in; empty: the test's own
  // Which of the three are one terminal (a pseudo-terminal that leaves line ends alone) rather than pipes.
  bool terminal_in = false, terminal_out = false, terminal_err = false;
  bool ignore_sigpipe = false;  ///< as programs started from Python do
  /// A guard against hanging, not a measure: past it the program is killed and timed_out says so.
  std::chrono::seconds timeout{60};
};

struct ProcessResult {
  int exit_code = -1;  ///< -1 when a signal ended the program
  int signal = 0;      ///< that signal, or 0
  bool timed_out = false;
  std::string out, err, terminal;  ///< what was written to each
};

class Process {
 public:
  /// Starts `program`. Throws std::runtime_error when the system can't; a program that can't be executed
  /// exits with 127.
  Process(const std::filesystem::path& program, const std::vector<std::string>& arguments,
          const ProcessOptions& options = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Reads on until `text` is in what went to standard output or to the terminal; false when the program
  /// ended, or the time was up, before.
  bool wait_for(std::string_view text);
  void send(int signal);
  /// Closes our end of the pipe from standard output, as `head` does when it has seen enough.
  void close_output();
  /// Reads all there is and waits for the end.
  ProcessResult wait();

 private:
  struct Source {
    int fd = -1;
    std::string ProcessResult::*text = nullptr;
  };

  /// Reads what is there, waiting for it; false when nothing more can come or the time is up.
  bool pump();
  void stop_reading(Source& source);

  pid_t pid_ = -1;
  std::vector<Source> sources_;
  std::chrono::steady_clock::time_point deadline_;
  ProcessResult result_;
};

/// Starts the program and waits for its end.
ProcessResult run_process(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                          const ProcessOptions& options = {});

/// The lines of `text` that aren't empty.
std::vector<std::string> lines_of(std::string_view text);

}  // namespace lirio::testing
