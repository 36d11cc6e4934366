// What    out = x + (routed + sigmoid(shared_gate) * shared)
// Layout  x, routed, shared, out [rows, width]; shared_gate [rows]
// Map     one row an item
// Round   once, to fp32
// Moves   16 bytes an element
#include "kernels/ref/kernels.h"
#include "kernels/ref/math.h"

namespace lirio::ref {

void add_experts(const AddExpertsArgs& args, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const double gate = sigmoid(args.shared_gate[row]);
    for (int64_t i = row * args.width; i < (row + 1) * args.width; ++i) {
      args.out[i] = static_cast<float>(args.x[i] + (args.routed[i] + gate * args.shared[i]));
    }
  }
}

}  // namespace lirio::ref
