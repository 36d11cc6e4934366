// What    out = softmax(q . k / sqrt(256)) v over the positions up to the row's own; query head h reads
//         key-value head h / (heads / kv_heads)
// Layout  q, out [rows, heads, 256]; pages as in kv_append
// Map     one query head an item
// Round   once, to fp32; scores, softmax and sums in float64, positions ascending
// Moves   2 KB a position and key-value head; 1024 FLOPs a position and query head
#include <algorithm>
#include <vector>

#include "kernels/ref/kernels.h"
#include "kernels/ref/math.h"

namespace lirio::ref {
namespace {

constexpr double kScale = 1.0 / 16;  // 256^-1/2

void attend_row(const AttendArgs& args, const KvSequence& sequence, int64_t row, int64_t positions,
                int64_t head, std::vector<double>& scores) {
  const int64_t kv_head = head / (args.heads / args.kv_heads);
  const int64_t head_offset = kv_head * kKvPageTokens * kHeadDim;
  const int64_t values_offset = args.kv_heads * kKvPageTokens * kHeadDim;
  const auto entry = [&](int64_t position) {
    return sequence.pages.at(position / kKvPageTokens) + head_offset + position % kKvPageTokens * kHeadDim;
  };

  double q[kHeadDim];
  std::copy_n(args.q + (row * args.heads + head) * kHeadDim, kHeadDim, q);
  scores.resize(static_cast<size_t>(positions));
  for (int64_t p = 0; p < positions; ++p)
    scores[static_cast<size_t>(p)] = dot(q, entry(p), kHeadDim) * kScale;
  const double highest = *std::max_element(scores.begin(), scores.end());

  double total = 0;
  double sums[kHeadDim] = {};
  for (int64_t p = 0; p < positions; ++p) {
    const double weight = std::exp(scores[static_cast<size_t>(p)] - highest);
    const float* v = entry(p) + values_offset;
    total += weight;
    for (int i = 0; i < kHeadDim; ++i)
      sums[i] += weight * v[i];
  }
  float* out = args.out + (row * args.heads + head) * kHeadDim;
  for (int i = 0; i < kHeadDim; ++i)
    out[i] = static_cast<float>(sums[i] / total);
}

}  // namespace

void attend(const AttendArgs& args, int64_t begin, int64_t end) {
  std::vector<double> scores;
  for (const KvSequence& sequence : args.sequences) {
    for (int64_t i = 0; i < sequence.span.rows; ++i) {
      const int64_t positions = sequence.span.start + i + 1;
      for (int64_t head = begin; head < end; ++head) {
        attend_row(args, sequence, sequence.span.first_row + i, positions, head, scores);
      }
    }
  }
}

}  // namespace lirio::ref
