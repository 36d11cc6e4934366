// What    out = x * sigmoid(gate), the gate being elements 256..511 of each head of q_gate
// Layout  x, out [rows, heads, 256]; q_gate [rows, heads, 512]
// Map     one row an item
// Round   once, to fp32
// Moves   12 bytes an element
#include "kernels/ref/kernels.h"
#include "kernels/ref/math.h"

namespace lirio::ref {

void sigmoid_gate(const SigmoidGateArgs& args, int64_t begin, int64_t end) {
  for (int64_t head = begin * args.heads; head < end * args.heads; ++head) {
    const float* gate = args.q_gate + head * 2 * kHeadDim + kHeadDim;
    for (int i = 0; i < kHeadDim; ++i) {
      args.out[head * kHeadDim + i] = static_cast<float>(args.x[head * kHeadDim + i] * sigmoid(gate[i]));
    }
  }
}

}  // namespace lirio::ref
