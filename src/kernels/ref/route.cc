// What    the 8 largest router logits, falling, ties to the lowest expert; weights = softmax over those 8,
// which equals
//         softmax over all experts, top 8, renormalised
// Layout  router_logits [rows, experts]; experts, weights [rows, 8]
// Map     one row an item
// Round   once, to fp32. A NaN counts as minus infinity.
// Moves   4 bytes an expert
#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/ref/kernels.h"
#include "kernels/ref/math.h"

namespace lirio::ref {

void route(const RouteArgs& args, int64_t begin, int64_t end) {
  std::vector<int32_t> order(static_cast<size_t>(args.expert_count));
  for (int64_t row = begin; row < end; ++row) {
    const float* logits = args.router_logits + row * args.expert_count;
    const auto rank = [&](int32_t e) {
      return std::isnan(logits[e]) ? -std::numeric_limits<float>::infinity() : logits[e];
    };
    for (size_t e = 0; e < order.size(); ++e)
      order[e] = static_cast<int32_t>(e);
    std::partial_sort(order.begin(), order.begin() + kTopK, order.end(),
                      [&](int32_t a, int32_t b) { return rank(a) != rank(b) ? rank(a) > rank(b) : a < b; });
    double total = 0;
    double weights[kTopK];
    for (int slot = 0; slot < kTopK; ++slot) {
      const float logit = rank(order[static_cast<size_t>(slot)]), highest = rank(order[0]);
      weights[slot] = logit == highest ? 1.0 : std::exp(double{logit} - highest);
      total += weights[slot];
    }
    for (int slot = 0; slot < kTopK; ++slot) {
      args.experts[row * kTopK + slot] = order[static_cast<size_t>(slot)];
      args.weights[row * kTopK + slot] = static_cast<float>(weights[slot] / total);
    }
  }
}

}  // namespace lirio::ref
