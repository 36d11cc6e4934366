// What    out = W x, W affine-quantised
// Layout  x [rows, columns], W [N, columns], out [rows, N]
// Map     one output feature an item: its weights are unpacked once for all rows
// Round   once, to fp32
// Moves   N * columns * 4.5 / 8 bytes of weights at 4 bits; 2 N columns FLOPs a row
#include <vector>

#include "kernels/ref/kernels.h"
#include "kernels/ref/math.h"

namespace lirio::ref {

void project(const ProjectArgs& args, int64_t begin, int64_t end) {
  const AffineMatrix& weight = args.weight;
  std::vector<double> w(static_cast<size_t>(weight.columns));
  for (int64_t feature = begin; feature < end; ++feature) {
    dequantize_row(weight, 0, feature, w.data());
    for (int64_t row = 0; row < args.rows; ++row) {
      args.out[row * weight.rows + feature] =
          static_cast<float>(dot(w.data(), args.x + row * weight.columns, weight.columns));
    }
  }
}

}  // namespace lirio::ref
