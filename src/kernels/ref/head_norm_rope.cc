// What    per head of 256: RMS norm times weight, then rotary embedding of dims 0..63, pairing i with i + 32:
//         a' = a cos - b sin, b' = b cos + a sin, angle = position * theta^(-2 i / 64).
//         Of a row's (time, height, width) position, pair i uses height where i % 3 == 1, width where i % 3
//         == 2 and i < 30, else time (interleaved multimodal RoPE); text has all three equal.
// Layout  x [rows, heads, head_stride], the head first in its stride; out [rows, heads, 256]
// Map     one row an item
// Round   once, to fp32; angles in float64
// Moves   8 bytes an element
#include "kernels/ref/kernels.h"
#include "kernels/ref/math.h"

namespace lirio::ref {
namespace {

constexpr int kPairs = kRotaryDim / 2;

int position_axis(int pair) {
  if (pair % 3 == 1) return 1;
  return pair % 3 == 2 && pair < 30 ? 2 : 0;
}

}  // namespace

void head_norm_rope(const HeadNormRopeArgs& args, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    double cosine[kPairs], sine[kPairs];
    for (int i = 0; i < kPairs; ++i) {
      const double position = args.positions[static_cast<size_t>(row)][static_cast<size_t>(position_axis(i))];
      const double angle = position * std::pow(args.theta, -2.0 * i / kRotaryDim);
      cosine[i] = std::cos(angle);
      sine[i] = std::sin(angle);
    }
    for (int64_t head = 0; head < args.heads; ++head) {
      const float* x = args.x + (row * args.heads + head) * args.head_stride;
      float* out = args.out + (row * args.heads + head) * kHeadDim;
      const double factor = inverse_rms(x, kHeadDim, args.epsilon);
      const auto normed = [&](int i) { return x[i] * factor * args.weight[i]; };
      for (int i = 0; i < kPairs; ++i) {
        const double a = normed(i), b = normed(i + kPairs);
        out[i] = static_cast<float>(a * cosine[i] - b * sine[i]);
        out[i + kPairs] = static_cast<float>(b * cosine[i] + a * sine[i]);
      }
      for (int i = kRotaryDim; i < kHeadDim; ++i)
        out[i] = static_cast<float>(normed(i));
    }
  }
}

}  // namespace lirio::ref
