// What    out = silu(gate) * up
// Layout  gate, up, out [rows, width]
// Map     one row an item
// Round   once, to fp32
// Moves   12 bytes an element
#include "kernels/ref/kernels.h"
#include "kernels/ref/math.h"

namespace lirio::ref {

void swiglu(const SwiGluArgs& args, int64_t begin, int64_t end) {
  for (int64_t i = begin * args.width; i < end * args.width; ++i) {
    args.out[i] = static_cast<float>(silu(args.gate[i]) * args.up[i]);
  }
}

}  // namespace lirio::ref
