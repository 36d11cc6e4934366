// What    out[slot] = silu(gate_e x) * (up_e x) for the expert e of each slot
// Layout  x [rows, D]; gate, up: E matrices [F, D]; out [rows, 8, F]
// Map     one expert an item: its weights are unpacked once for all the rows that chose it
// Round   once, to fp32
// Moves   2 F D * 4.5 / 8 bytes an expert that some row chose; 4 F D FLOPs a slot
#include <vector>

#include "kernels/ref/kernels.h"
#include "kernels/ref/math.h"

namespace lirio::ref {

void experts_gate_up(const ExpertsGateUpArgs& args, int64_t begin, int64_t end) {
  const int64_t features = args.gate_proj.rows, width = args.gate_proj.columns;
  std::vector<double> gate(static_cast<size_t>(width)), up(static_cast<size_t>(width));
  std::vector<int64_t> slots;
  for (int64_t expert = begin; expert < end; ++expert) {
    slots.clear();
    for (int64_t slot = 0; slot < args.rows * kTopK; ++slot) {
      if (args.experts[slot] == expert) slots.push_back(slot);
    }
    for (int64_t feature = 0; feature < features && !slots.empty(); ++feature) {
      dequantize_row(args.gate_proj, expert, feature, gate.data());
      dequantize_row(args.up_proj, expert, feature, up.data());
      for (int64_t slot : slots) {
        const float* x = args.x + slot / kTopK * width;
        args.out[slot * features + feature] =
            static_cast<float>(silu(dot(gate.data(), x, width)) * dot(up.data(), x, width));
      }
    }
  }
}

}  // namespace lirio::ref
