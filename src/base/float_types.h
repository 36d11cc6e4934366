// bfloat16 and IEEE half: the storage formats of checkpoints and caches, as bit patterns, with conversions to
// float. Conversions to float are exact. Thread-safe.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace lirio {

inline float float_from_bf16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// Rounds to nearest, ties to even; NaN stays NaN.
inline uint16_t bf16_from_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float float_from_f16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;  // zero and subnormals
  return sign != 0 ? -magnitude : magnitude;
}

/// Reads a T from any address; mapped checkpoints give no alignment.
template <typename T>
T load_unaligned(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}

}  // namespace lirio
