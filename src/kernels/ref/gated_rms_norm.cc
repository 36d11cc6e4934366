// What    per head of 128: out = x / sqrt(mean(x^2) + eps) * weight * silu(z)
// Layout  x, z, out [rows, heads, 128]; weight [128], shared by the heads
// Map     one row an item
// Round   once, to fp32
// Moves   12 bytes an element
#include "kernels/ref/kernels.h"
#include "kernels/ref/math.h"

namespace lirio::ref {

void gated_rms_norm(const GatedRmsNormArgs& args, int64_t begin, int64_t end) {
  for (int64_t head = begin * args.heads; head < end * args.heads; ++head) {
    const float* x = args.x + head * kGdnHeadDim;
    const float* z = args.z + head * kGdnHeadDim;
    float* out = args.out + head * kGdnHeadDim;
    const double factor = inverse_rms(x, kGdnHeadDim, args.epsilon);
    for (int i = 0; i < kGdnHeadDim; ++i)
      out[i] = static_cast<float>(x[i] * factor * args.weight[i] * silu(z[i]));
  }
}

}  // namespace lirio::ref
