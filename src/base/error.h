// Error: what went wrong with a file, a flag or a device, and what to do about it. main() prints the two as
// two lines. Thrown while loading and in commands; the request path does not throw.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace lirio {

/// What a command ends with when it fails.
enum class ExitCode { kFailure = 1, kUsage = 2 };

class Error : public std::runtime_error {
 public:
  /// `what` names the thing (file, tensor, field, expected, found); `hint` says what to do. Both are one
  /// line.
  Error(const std::string& what, std::string hint, ExitCode exit_code = ExitCode::kFailure)
      : std::runtime_error(what), hint_(std::move(hint)), exit_code_(exit_code) {}

  const std::string& hint() const { return hint_; }
  ExitCode exit_code() const { return exit_code_; }

 private:
  std::string hint_;
  ExitCode exit_code_;
};

}  // namespace lirio
