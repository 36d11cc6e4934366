// CHECK and its kind: for programmer mistakes only. A failed check prints where and what, then aborts.
// What a user, a file or a request can cause is an Error (base/error.h), never a check.
// Thread-safe.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>

namespace lirio {

[[noreturn]] inline void check_failed(const char* file, int line, const char* condition) {
  std::fputs(fmt::format("{}:{}: check failed: {}\n", file, line, condition).c_str(), stderr);
  std::abort();
}

}  // namespace lirio

#define CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::lirio::check_failed(__FILE__, __LINE__, #condition))
