// What    out = W x for the rows that need logits
// Layout  x [rows, D], W [V, D], out [logit rows, V]
// Map     one vocabulary row an item
// Round   once, to fp32
// Moves   V * D * 4.5 / 8 bytes at 4 bits, once for all rows
#include <vector>

#include "kernels/ref/kernels.h"
#include "kernels/ref/math.h"

namespace lirio::ref {

void logits_head(const LogitsHeadArgs& args, int64_t begin, int64_t end) {
  const int64_t width = args.lm_head.columns;
  std::vector<double> w(static_cast<size_t>(width));
  for (int64_t id = begin; id < end; ++id) {
    dequantize_row(args.lm_head, 0, id, w.data());
    for (size_t i = 0; i < args.logit_rows.size(); ++i) {
      const float* x = args.x + args.logit_rows[i] * width;
      args.out[static_cast<int64_t>(i) * args.lm_head.rows + id] =
          static_cast<float>(dot(w.data(), x, width));
    }
  }
}

}  // namespace lirio::ref
