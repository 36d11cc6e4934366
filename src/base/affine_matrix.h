// AffineMatrix: a view of one affine-quantised weight in the checkpoint's own bytes (spec of the format:
// docs/formats.md). Non-owning; the checkpoint outlives it. Thread-safe. Used by checkpoint loading and by
// every kernel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/float_types.h"

namespace lirio {

/// Elements of the input dimension that share one scale and one bias.
inline constexpr int kQuantGroup = 64;

/// How scales and biases are stored.
enum class ScaleType : uint8_t { kBf16, kF16, kF32 };

inline int scale_bytes(ScaleType type) {
  return type == ScaleType::kF32 ? 4 : 2;
}

/// `matrices` stacked matrices [rows, columns] (experts; 1 for a plain linear), each row a run of groups of
/// 64 codes: w = scale * code + bias. Codes are unsigned, little-endian in the row: 4-bit byte k holds
/// element 2k in its low nibble; 8-bit is one byte an element. Scales may be negative. Addresses have no
/// alignment at all.
struct AffineMatrix {
  const std::byte* codes = nullptr;   ///< [matrices, rows, columns * bits / 8] bytes
  const std::byte* scales = nullptr;  ///< [matrices, rows, columns / 64] of scale_type
  const std::byte* biases = nullptr;  ///< like scales
  ScaleType scale_type = ScaleType::kBf16;
  int bits = 0;  ///< 4 or 8
  int64_t matrices = 1;
  int64_t rows = 0;     ///< output features
  int64_t columns = 0;  ///< input features, a multiple of 64

  int64_t groups() const { return columns / kQuantGroup; }
  int64_t row_code_bytes() const { return columns * bits / 8; }
  int64_t code_bytes() const { return matrices * rows * row_code_bytes(); }
  int64_t total_bytes() const {
    return code_bytes() + 2 * matrices * rows * groups() * scale_bytes(scale_type);
  }
};

/// Element `index` of a scale or bias array.
inline float load_scale(const std::byte* array, ScaleType type, int64_t index) {
  const std::byte* address = array + index * scale_bytes(type);
  switch (type) {
    case ScaleType::kBf16:
      return float_from_bf16(load_unaligned<uint16_t>(address));
    case ScaleType::kF16:
      return float_from_f16(load_unaligned<uint16_t>(address));
    case ScaleType::kF32:
      break;
  }
  return load_unaligned<float>(address);
}

}  // namespace lirio
