// Random test data that is the same on every platform and with every standard library: only the engine is
// theirs. One Random per thread.
#pragma once

#include <bit>
#include <cstdint>
#include <random>
#include <vector>

namespace lirio::testing {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  uint64_t bits() { return engine_(); }

  /// In [low, high).
  double uniform(double low, double high) {
    return low + (high - low) * (static_cast<double>(engine_() >> 11) * 0x1p-53);
  }

  /// In [low, high], both included.
  int64_t integer(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
  }

  /// Mean 0, variance 1, within 3.5 of 0: the sum of four uniform numbers, near enough to normal for
  /// activations.
  double normal() {
    const uint64_t bits = engine_();
    double sum = -2.0 + 2 * 0x1p-16;
    for (int shift = 0; shift < 64; shift += 16)
      sum += static_cast<double>(bits >> shift & 0xffff) * 0x1p-16;
    return sum * 1.7320508075688772;  // sqrt(3): each of the four has variance 1 / 12
  }

  std::vector<float> normals(int64_t count, double scale = 1) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values)
      value = static_cast<float>(scale * normal());
    return values;
  }

  std::vector<float> uniforms(int64_t count, double low, double high) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values)
      value = static_cast<float>(uniform(low, high));
    return values;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace lirio::testing
