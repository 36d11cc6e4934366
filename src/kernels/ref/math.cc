#include "kernels/ref/math.h"

namespace lirio::ref {

void dequantize_row(const AffineMatrix& weight, int64_t matrix, int64_t row, double* out) {
  const int64_t index = matrix * weight.rows + row;
  const std::byte* codes = weight.codes + index * weight.row_code_bytes();
  for (int64_t group = 0; group < weight.groups(); ++group, out += kQuantGroup) {
    const double scale = load_scale(weight.scales, weight.scale_type, index * weight.groups() + group);
    const double bias = load_scale(weight.biases, weight.scale_type, index * weight.groups() + group);
    if (weight.bits == 8) {
      for (int i = 0; i < kQuantGroup; ++i)
        out[i] = scale * static_cast<double>(*codes++) + bias;
      continue;
    }
    double values[16];
    for (int code = 0; code < 16; ++code)
      values[code] = scale * code + bias;
    for (int i = 0; i < kQuantGroup; i += 2, ++codes) {
      const auto pair = static_cast<uint8_t>(*codes);
      out[i] = values[pair & 15];
      out[i + 1] = values[pair >> 4];
    }
  }
}

}  // namespace lirio::ref
