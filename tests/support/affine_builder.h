// AffineBuilder: owns one affine-quantised weight for a test, with any codes, scales and biases, and each of
// the three arrays at any byte alignment. Packing and values follow the format's description (spec 3.1), not
// the engine's code, so that value() is an oracle. The arrays end where their data ends: AddressSanitizer
// sees a read past them. Used by the kernel tests of every backend. Reading is thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/affine_matrix.h"
#include "support/naive.h"
#include "support/random.h"

namespace lirio::testing {

struct AffineShape {
  int64_t rows = 0;
  int64_t columns = 0;  ///< a multiple of 64
  int bits = 4;         ///< 4 or 8
  int64_t matrices = 1;
  ScaleType scale_type = ScaleType::kBf16;
  /// Bytes between an address that is a multiple of 16 and the array's first byte.
  int code_offset = 0, scale_offset = 0, bias_offset = 0;
};

class AffineBuilder {
 public:
  /// All codes, scales and biases 0.
  explicit AffineBuilder(const AffineShape& shape);

  /// Codes over their whole range; half of the scales negative; weights about zero, sized so that a row's
  /// product with normal activations is about 1.
  static AffineBuilder random(const AffineShape& shape, Random& random);

  const AffineShape& shape() const { return shape_; }
  int64_t groups() const { return shape_.columns / 64; }
  AffineMatrix view() const;

  void set_code(int64_t matrix, int64_t row, int64_t column, int code);
  /// `value` is rounded to the scale type (to nearest, ties to even) and must be finite in it.
  void set_scale(int64_t matrix, int64_t row, int64_t group, float value);
  void set_bias(int64_t matrix, int64_t row, int64_t group, float value);
  /// Every code of a row the same, every scale and bias of it too: all weights are scale * code + bias.
  void fill_row(int64_t matrix, int64_t row, int code, float scale, float bias);

  int code(int64_t matrix, int64_t row, int64_t column) const;
  /// The weight itself, scale * code + bias.
  long double value(int64_t matrix, int64_t row, int64_t column) const;
  /// Product of a row with `x` [columns].
  Sum product(int64_t matrix, int64_t row, const float* x) const;

 private:
  /// Bytes at a chosen distance from a multiple of 16.
  struct Array {
    Array(int64_t bytes, int offset);
    std::byte* data() { return bytes.data() + offset; }
    const std::byte* data() const { return bytes.data() + offset; }
    std::vector<std::byte> bytes;
    int offset;
  };

  int64_t group_index(int64_t matrix, int64_t row, int64_t group) const;
  /// Where the word of an element is, and the element's lowest bit in it.
  struct Place {
    int64_t byte;
    int shift;
  };
  Place place(int64_t matrix, int64_t row, int64_t column) const;
  float store_scale(Array& array, int64_t index, float value);

  AffineShape shape_;
  Array codes_, scales_, biases_;
  std::vector<float> scale_values_, bias_values_;
};

}  // namespace lirio::testing
