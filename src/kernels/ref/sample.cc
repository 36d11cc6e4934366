// What    one token per row. Temperature 0: the highest logit. Otherwise, in this order: divide by the
// temperature, keep
//         the top_k highest, softmax, keep the smallest leading set whose probability reaches top_p, draw.
//         Equal logits are ordered by id. The draw's uniform number is a function of (seed, position) alone
//         (docs/numerics.md).
// Layout  logits [rows, vocab_size]; ids >= vocabulary are padding and never drawn; NaN counts as minus
// infinity Map     one row an item Round   probabilities in float64 Moves   4 bytes a vocabulary row
#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/ref/kernels.h"
#include "kernels/ref/math.h"

namespace lirio::ref {
namespace {

constexpr float kImpossible = -std::numeric_limits<float>::infinity();

/// The finalizer of SplitMix64 (Steele, Lea, Flood, 2014).
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// In [0, 1), from (seed, position) alone.
double uniform(uint64_t seed, int64_t position) {
  const uint64_t bits =
      mix(mix(seed + 0x9e3779b97f4a7c15u) + static_cast<uint64_t>(position) * 0x9e3779b97f4a7c15u);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

struct Candidate {
  float logit;
  int32_t id;
  bool operator<(const Candidate& other) const {
    return logit != other.logit ? logit > other.logit : id < other.id;
  }
};

/// The `top_k` first candidates, in order.
void keep_top(std::vector<Candidate>& candidates, int32_t top_k) {
  const size_t count =
      top_k <= 0 ? candidates.size() : std::min(candidates.size(), static_cast<size_t>(top_k));
  const auto middle = candidates.begin() + static_cast<int64_t>(count);
  std::partial_sort(candidates.begin(), middle, candidates.end());
  candidates.resize(count);
}

int32_t draw(const std::vector<Candidate>& candidates, const SampleRow& row) {
  std::vector<double> weights(candidates.size());
  double total = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const bool highest = candidates[i].logit == candidates[0].logit;
    weights[i] =
        highest ? 1.0 : std::exp((double{candidates[i].logit} - candidates[0].logit) / row.temperature);
    total += weights[i];
  }
  double kept = 0;
  size_t count = 0;
  while (count < weights.size() && (count == 0 || kept < double{row.top_p} * total))
    kept += weights[count++];

  double rest = uniform(row.seed, row.position) * kept;
  for (size_t i = 0; i + 1 < count; ++i) {
    if (rest < weights[i]) return candidates[i].id;
    rest -= weights[i];
  }
  return candidates[count - 1].id;
}

}  // namespace

void sample(const SampleArgs& args, int64_t begin, int64_t end) {
  std::vector<Candidate> candidates;
  for (int64_t i = begin; i < end; ++i) {
    const float* logits = args.logits + i * args.vocab_size;
    const SampleRow& row = args.rows[static_cast<size_t>(i)];
    candidates.clear();
    for (int32_t id = 0; id < args.vocabulary; ++id) {
      candidates.push_back({std::isnan(logits[id]) ? kImpossible : logits[id], id});
    }
    if (row.temperature <= 0) {
      args.tokens[i] = std::min_element(candidates.begin(), candidates.end())->id;
      continue;
    }
    keep_top(candidates, row.top_k);
    args.tokens[i] = draw(candidates, row);
  }
}

}  // namespace lirio::ref
