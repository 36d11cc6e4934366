// Scalar pieces that several reference kernels share. Thread-safe.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/affine_matrix.h"

namespace lirio::ref {

inline double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}
inline double silu(double x) {
  return x * sigmoid(x);
}
/// log(1 + e^x) without overflow.
inline double softplus(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

/// 1 / sqrt(mean(x^2) + epsilon)
inline double inverse_rms(const float* x, int64_t width, double epsilon) {
  double sum = 0;
  for (int64_t i = 0; i < width; ++i)
    sum += double{x[i]} * x[i];
  return 1.0 / std::sqrt(sum / static_cast<double>(width) + epsilon);
}

/// Sum of w[i] x[i] for a width that is a multiple of 8, in eight interleaved partial sums added in ascending
/// order: one fixed order that compilers can vectorise.
template <typename X>
double dot(const double* w, const X* x, int64_t width) {
  double lanes[8] = {};
  for (int64_t i = 0; i < width; i += 8) {
    for (int lane = 0; lane < 8; ++lane)
      lanes[lane] += w[i + lane] * static_cast<double>(x[i + lane]);
  }
  double sum = 0;
  for (double lane : lanes)
    sum += lane;
  return sum;
}

/// Row `row` of matrix `matrix` as numbers: scale * code + bias, exact in float64. `out` has weight.columns
/// elements.
void dequantize_row(const AffineMatrix& weight, int64_t matrix, int64_t row, double* out);

}  // namespace lirio::ref
