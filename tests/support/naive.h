// What oracles of kernel tests are made of: functions and sums in long double that know how far an evaluation
// in float64 may be off, and the claim that a result is such an evaluation rounded once to fp32. Thread-safe.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace lirio::testing {

/// Largest relative errors of rounding to nearest.
inline constexpr long double kFp32Rounding = 0x1p-24L;
inline constexpr long double kFp64Rounding = 0x1p-53L;

/// An exact value and a bound on the error of its evaluation in float64.
struct Exact {
  long double value;
  long double error;
};

/// A sum of products, in any order: n + 1 roundings at most touch a term (Higham, "Accuracy and Stability of
/// Numerical Algorithms", 2002, section 3.1), and another one here, where long double may be no more than
/// float64.
struct Sum {
  long double value = 0;
  long double magnitude = 0;  ///< sum of the terms' magnitudes
  int64_t terms = 0;

  void add(long double term) {
    value += term;
    magnitude += std::fabs(term);
    ++terms;
  }
  long double error() const { return 2 * static_cast<long double>(terms + 1) * kFp64Rounding * magnitude; }
  Exact exact() const { return {value, error()}; }
};

/// A handful of elementary operations and library calls on exact inputs.
inline Exact elementwise(long double value) {
  return {value, 16 * kFp64Rounding * std::fabs(value)};
}

inline long double sigmoid(long double x) {
  return 1 / (1 + std::exp(-x));
}
inline long double silu(long double x) {
  return x / (1 + std::exp(-x));
}

/// True when `got` is `expected`, evaluated within its error, then rounded once to fp32.
inline ::testing::AssertionResult rounds_to(float got, Exact expected) {
  const long double smallest_step = 0x1p-150L;  // half of the smallest fp32 number
  const long double half_step = kFp32Rounding * (std::fabs(expected.value) + expected.error) + smallest_step;
  const long double distance = std::fabs(got - expected.value);
  if (distance <= half_step + expected.error) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << got << " is not " << expected.value << ": " << distance
                                       << " off, at most " << half_step + expected.error << " expected";
}

inline ::testing::AssertionResult rounds_to(float got, long double expected) {
  return rounds_to(got, elementwise(expected));
}

}  // namespace lirio::testing
