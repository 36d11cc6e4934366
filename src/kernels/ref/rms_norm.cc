// What    out = x / sqrt(mean(x^2) + eps) * weight (spec: RMSNorm of Zhang and Sennrich, 2019, without bias)
// Layout  x, out [rows, width]; weight [width]
// Map     one row an item
// Round   once, to fp32
// Moves   8 bytes an element
#include "kernels/ref/kernels.h"
#include "kernels/ref/math.h"

namespace lirio::ref {

void rms_norm(const RmsNormArgs& args, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const float* x = args.x + row * args.width;
    float* out = args.out + row * args.width;
    const double factor = inverse_rms(x, args.width, args.epsilon);
    for (int64_t i = 0; i < args.width; ++i)
      out[i] = static_cast<float>(x[i] * factor * args.weight[i]);
  }
}

}  // namespace lirio::ref
