#include "support/affine_builder.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace lirio::testing {
namespace {

/// A number of a binary format: its pattern and what it is worth.
struct Encoded {
  uint32_t bits;
  float value;
};

/// The nearest number with `mantissa_bits` and a smallest normal number of 2^min_exponent, ties to even.
Encoded encode(float value, int mantissa_bits, int min_exponent) {
  const double magnitude = std::fabs(double{value});
  const int exponent = magnitude == 0 ? min_exponent : std::max(std::ilogb(magnitude), min_exponent);
  const double steps = std::nearbyint(std::ldexp(magnitude, mantissa_bits - exponent));
  // A normal number's leading 1 is one step of the exponent field, and so is a mantissa that rounds up to 2.
  const uint32_t field = static_cast<uint32_t>(exponent - min_exponent) << mantissa_bits;
  const uint32_t sign = std::signbit(value) ? 0x8000u : 0u;
  const double rounded = std::ldexp(steps, exponent - mantissa_bits);
  return {sign | (field + static_cast<uint32_t>(steps)), static_cast<float>(std::copysign(rounded, value))};
}

}  // namespace

AffineBuilder::Array::Array(int64_t size, int distance)
    : bytes(static_cast<size_t>(size + distance)), offset(distance) {
  CHECK(reinterpret_cast<uintptr_t>(bytes.data()) % 16 == 0);
}

AffineBuilder::AffineBuilder(const AffineShape& shape)
    : shape_(shape),
      codes_(shape.matrices * shape.rows * shape.columns * shape.bits / 8, shape.code_offset),
      scales_(shape.matrices * shape.rows * (shape.columns / 64) * scale_bytes(shape.scale_type),
              shape.scale_offset),
      biases_(shape.matrices * shape.rows * (shape.columns / 64) * scale_bytes(shape.scale_type),
              shape.bias_offset),
      scale_values_(static_cast<size_t>(shape.matrices * shape.rows * (shape.columns / 64))),
      bias_values_(scale_values_.size()) {
  CHECK((shape.bits == 4 || shape.bits == 8) && shape.columns % 64 == 0);
}

AffineBuilder AffineBuilder::random(const AffineShape& shape, Random& random) {
  AffineBuilder builder(shape);
  std::byte* codes = builder.codes_.data();
  std::byte* const end = builder.codes_.bytes.data() + builder.codes_.bytes.size();
  for (; codes != end; codes += 4) {  // rows are multiples of 64 elements, so of 4 bytes
    const auto word = static_cast<uint32_t>(random.bits() >> 32);
    std::memcpy(codes, &word, sizeof word);
  }
  const double highest_code = shape.bits == 4 ? 15 : 255;
  const double spread =
      std::sqrt(12.0 / static_cast<double>(shape.columns));  // of weights of variance 1 / columns
  for (int64_t i = 0; i < static_cast<int64_t>(builder.scale_values_.size()); ++i) {
    const double sign = random.integer(0, 1) == 0 ? 1 : -1;
    const double range = sign * spread * random.uniform(0.5, 1.5);
    const auto scale = static_cast<float>(range / highest_code);
    const auto bias = static_cast<float>(-range / 2 + 0.1 * spread * random.normal());
    builder.scale_values_[static_cast<size_t>(i)] = builder.store_scale(builder.scales_, i, scale);
    builder.bias_values_[static_cast<size_t>(i)] = builder.store_scale(builder.biases_, i, bias);
  }
  return builder;
}

AffineMatrix AffineBuilder::view() const {
  return {codes_.data(), scales_.data(),  biases_.data(), shape_.scale_type,
          shape_.bits,   shape_.matrices, shape_.rows,    shape_.columns};
}

int64_t AffineBuilder::group_index(int64_t matrix, int64_t row, int64_t group) const {
  CHECK(matrix < shape_.matrices && row < shape_.rows && group < groups());
  return (matrix * shape_.rows + row) * groups() + group;
}

AffineBuilder::Place AffineBuilder::place(int64_t matrix, int64_t row, int64_t column) const {
  CHECK(matrix < shape_.matrices && row < shape_.rows && column < shape_.columns);
  const int64_t codes_per_word = 32 / shape_.bits;
  const int64_t words_per_row = shape_.columns / codes_per_word;
  const int64_t word = (matrix * shape_.rows + row) * words_per_row + column / codes_per_word;
  return {word * 4, static_cast<int>(column % codes_per_word) * shape_.bits};
}

void AffineBuilder::set_code(int64_t matrix, int64_t row, int64_t column, int code) {
  const uint32_t mask = (1u << shape_.bits) - 1;
  CHECK(code >= 0 && static_cast<uint32_t>(code) <= mask);
  const Place at = place(matrix, row, column);
  uint32_t word;
  std::memcpy(&word, codes_.data() + at.byte, sizeof word);
  word = (word & ~(mask << at.shift)) | static_cast<uint32_t>(code) << at.shift;
  std::memcpy(codes_.data() + at.byte, &word, sizeof word);
}

float AffineBuilder::store_scale(Array& array, int64_t index, float value) {
  std::byte* address = array.data() + index * scale_bytes(shape_.scale_type);
  if (shape_.scale_type == ScaleType::kF32) {
    std::memcpy(address, &value, sizeof value);
    return value;
  }
  const Encoded number =
      shape_.scale_type == ScaleType::kBf16 ? encode(value, 7, -126) : encode(value, 10, -14);
  const auto bits = static_cast<uint16_t>(number.bits);
  CHECK((bits & 0x7fffu) < (shape_.scale_type == ScaleType::kBf16 ? 0x7f80u : 0x7c00u));
  std::memcpy(address, &bits, sizeof bits);
  return number.value;
}

void AffineBuilder::set_scale(int64_t matrix, int64_t row, int64_t group, float value) {
  const int64_t index = group_index(matrix, row, group);
  scale_values_[static_cast<size_t>(index)] = store_scale(scales_, index, value);
}

void AffineBuilder::set_bias(int64_t matrix, int64_t row, int64_t group, float value) {
  const int64_t index = group_index(matrix, row, group);
  bias_values_[static_cast<size_t>(index)] = store_scale(biases_, index, value);
}

void AffineBuilder::fill_row(int64_t matrix, int64_t row, int code, float scale, float bias) {
  for (int64_t column = 0; column < shape_.columns; ++column)
    set_code(matrix, row, column, code);
  for (int64_t group = 0; group < groups(); ++group) {
    set_scale(matrix, row, group, scale);
    set_bias(matrix, row, group, bias);
  }
}

int AffineBuilder::code(int64_t matrix, int64_t row, int64_t column) const {
  const Place at = place(matrix, row, column);
  uint32_t word;
  std::memcpy(&word, codes_.data() + at.byte, sizeof word);
  return static_cast<int>(word >> at.shift & ((1u << shape_.bits) - 1));
}

long double AffineBuilder::value(int64_t matrix, int64_t row, int64_t column) const {
  const auto group = static_cast<size_t>(group_index(matrix, row, column / 64));
  return static_cast<long double>(scale_values_[group]) * code(matrix, row, column) + bias_values_[group];
}

Sum AffineBuilder::product(int64_t matrix, int64_t row, const float* x) const {
  Sum sum;
  for (int64_t column = 0; column < shape_.columns; ++column)
    sum.add(value(matrix, row, column) * x[column]);
  return sum;
}

}  // namespace lirio::testing
