// What    out = row of the embedding matrix for a token, or a given embedding row.
// Layout  tokens [rows] -> out [rows, D]
// Map     one row an item
// Round   once, to fp32 (the product scale * code + bias is exact in float64)
// Moves   D * 4.5 / 8 bytes a row
#include <algorithm>
#include <vector>

#include "kernels/ref/kernels.h"
#include "kernels/ref/math.h"

namespace lirio::ref {

void embed(const EmbedArgs& args, int64_t begin, int64_t end) {
  const int64_t width = args.embed_tokens.columns;
  std::vector<double> values(static_cast<size_t>(width));
  for (int64_t row = begin; row < end; ++row) {
    const int32_t token = args.tokens[static_cast<size_t>(row)];
    float* out = args.out + row * width;
    if (token < 0) {
      std::copy_n(args.embeddings + (-1 - int64_t{token}) * width, width, out);
      continue;
    }
    dequantize_row(args.embed_tokens, 0, token, values.data());
    std::transform(values.begin(), values.end(), out, [](double v) { return static_cast<float>(v); });
  }
}

}  // namespace lirio::ref
