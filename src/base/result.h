// Result: a value, or what is wrong with a request. For request-shaped problems, which no exception may
// carry: a server answers them with HTTP 400, a command prints them. Errors of files, flags and devices are
// Error (base/error.h). A Result is a plain value; it belongs to one thread at a time.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace lirio {

/// What is wrong with a request, in the words of the one who sent it.
struct RequestError {
  std::string message;  ///< one line: expected and found
  std::string param;    ///< the field, such as "messages[2].content"; empty when it is the whole body
};

template <typename T>
class [[nodiscard]] Result {
 public:
  // Implicit, so that a function returns either as it is.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(RequestError error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// The value; a CHECK fails when there is none.
  const T& value() const& {
    CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  T& value() & {
    CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    CHECK(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  /// The error; a CHECK fails when there is a value.
  const RequestError& error() const& {
    CHECK(!ok());
    return *std::get_if<1>(&state_);
  }
  RequestError&& error() && {
    CHECK(!ok());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, RequestError> state_;
};

}  // namespace lirio
