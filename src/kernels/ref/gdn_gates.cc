// What    decay = -exp(A_log) softplus(a + dt_bias), the log of the state's decay (<= 0); beta = sigmoid(b)
// Layout  a, b, decay, beta [rows, Hv]; A_log, dt_bias [Hv]
// Map     one row an item
// Round   once, to fp32
// Moves   16 bytes a value head
#include "kernels/ref/kernels.h"
#include "kernels/ref/math.h"

namespace lirio::ref {

void gdn_gates(const GdnGatesArgs& args, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t head = 0; head < args.value_heads; ++head) {
      const int64_t i = row * args.value_heads + head;
      const double step = softplus(double{args.a[i]} + args.dt_bias[head]);
      args.decay[i] = static_cast<float>(-std::exp(double{args.a_log[head]}) * step);
      args.beta[i] = static_cast<float>(sigmoid(args.b[i]));
    }
  }
}

}  // namespace lirio::ref
