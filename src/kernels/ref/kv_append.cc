// What    stores each row's keys and values in its sequence's pages
// Layout  k, v [rows, kv_heads, 256]; page: keys [kv_heads, 64, 256], then values of the same shape
// Map     one sequence an item
// Round   none
// Moves   16 bytes an element
#include <algorithm>

#include "kernels/ref/kernels.h"

namespace lirio::ref {

void kv_append(const KvAppendArgs& args, int64_t begin, int64_t end) {
  for (int64_t s = begin; s < end; ++s) {
    const KvSequence& sequence = args.sequences[static_cast<size_t>(s)];
    for (int64_t i = 0; i < sequence.span.rows; ++i) {
      const int64_t position = sequence.span.start + i;
      const int64_t row = sequence.span.first_row + i;
      float* page = sequence.pages.at(position / kKvPageTokens);
      for (int64_t head = 0; head < args.kv_heads; ++head) {
        const int64_t source = (row * args.kv_heads + head) * kHeadDim;
        const int64_t target = (head * kKvPageTokens + position % kKvPageTokens) * kHeadDim;
        std::copy_n(args.k + source, kHeadDim, page + target);
        std::copy_n(args.v + source, kHeadDim, page + args.kv_heads * kKvPageTokens * kHeadDim + target);
      }
    }
  }
}

}  // namespace lirio::ref
