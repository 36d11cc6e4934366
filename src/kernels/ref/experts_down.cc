// What    out = sum over the 8 slots, in slot order, of weight * down_e x[slot]
// Layout  x [rows, 8, F]; down: E matrices [D, F]; out [rows, D]
// Map     one output feature an item
// Round   once, to fp32
// Moves   D F * 4.5 / 8 bytes an expert that some row chose; 2 D F FLOPs a slot
#include <vector>

#include "kernels/ref/kernels.h"
#include "kernels/ref/math.h"

namespace lirio::ref {

void experts_down(const ExpertsDownArgs& args, int64_t begin, int64_t end) {
  const int64_t width = args.down_proj.columns;
  std::vector<double> w(static_cast<size_t>(width));
  for (int64_t feature = begin; feature < end; ++feature) {
    for (int64_t row = 0; row < args.rows; ++row) {
      double sum = 0;
      for (int64_t slot = row * kTopK; slot < (row + 1) * kTopK; ++slot) {
        dequantize_row(args.down_proj, args.experts[slot], feature, w.data());
        sum += args.weights[slot] * dot(w.data(), args.x + slot * width, width);
      }
      args.out[row * args.down_proj.rows + feature] = static_cast<float>(sum);
    }
  }
}

}  // namespace lirio::ref
