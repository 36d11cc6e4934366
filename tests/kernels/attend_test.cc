// kv_append and attend: causal softmax attention over paged keys and values (spec 4.2, steps 5 and 6).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <vector>

#include "kernels/ref/kernels.h"
#include "support/guarded.h"
#include "support/naive.h"
#include "support/random.h"

namespace lirio {
namespace {

using testing::Exact;
using testing::Guarded;
using testing::Random;
using testing::rounds_to;
using testing::Sum;

constexpr int64_t kDim = 256, kPage = 64;

/// Keys and values of one sequence, and its pages in the layout of args.h.
class Cache {
 public:
  Cache(int64_t kv_heads, std::vector<float> k, std::vector<float> v)
      : kv_heads_(kv_heads), k_(std::move(k)), v_(std::move(v)) {
    for (int64_t page = 0; page * kPage < tokens(); ++page) {
      pages_.emplace_back(2 * kv_heads * kPage * kDim);
      addresses_.push_back(pages_.back().data());
    }
  }

  int64_t tokens() const { return static_cast<int64_t>(k_.size()) / (kv_heads_ * kDim); }
  const float* key(int64_t position, int64_t head) const {
    return k_.data() + (position * kv_heads_ + head) * kDim;
  }
  const float* value(int64_t position, int64_t head) const {
    return v_.data() + (position * kv_heads_ + head) * kDim;
  }
  BlockPointers<float> pages() const { return {0, addresses_}; }
  const Guarded<float>& page(size_t number) const { return pages_[number]; }

  /// Appends rows [start, end), given alone as a step.
  void append(int64_t start, int64_t end) {
    const std::vector<KvSequence> sequences{{{0, static_cast<int32_t>(end - start), start}, pages()}};
    ref::kv_append({key(start, 0), value(start, 0), kv_heads_, sequences}, 0, 1);
  }

 private:
  int64_t kv_heads_;
  std::vector<float> k_, v_;
  std::deque<Guarded<float>> pages_;
  std::vector<float*> addresses_;
};

Cache random_cache(int64_t kv_heads, int64_t tokens, Random& random) {
  std::vector<float> k = random.normals(tokens * kv_heads * kDim),
                     v = random.normals(tokens * kv_heads * kDim);
  return Cache(kv_heads, std::move(k), std::move(v));
}

/// softmax(q . k / 16) v over positions 0 .. last, element by element.
std::vector<Exact> naive_attention(const float* q, const Cache& cache, int64_t kv_head, int64_t last) {
  std::vector<long double> scores;
  long double score_error = 0;
  for (int64_t p = 0; p <= last; ++p) {
    Sum score;
    for (int64_t i = 0; i < kDim; ++i)
      score.add(static_cast<long double>(q[i]) * cache.key(p, kv_head)[i]);
    scores.push_back(score.value / std::sqrt(256.0L));
    score_error = std::max(score_error, score.error() / 16);
  }
  const long double highest = *std::max_element(scores.begin(), scores.end());
  long double total = 0;
  for (long double& score : scores)
    total += score = std::exp(score - highest);
  std::vector<Exact> out;
  for (int64_t i = 0; i < kDim; ++i) {
    Sum sum;
    for (int64_t p = 0; p <= last; ++p)
      sum.add(scores[static_cast<size_t>(p)] / total * cache.value(p, kv_head)[i]);
    // An error e of a score is a relative error e of its weight, and of the total.
    out.push_back({sum.value, 2 * sum.error() + 4 * score_error * sum.magnitude});
  }
  return out;
}

void expect_attention(const float* out, const float* q, const Cache& cache, int64_t heads, int64_t kv_heads,
                      int64_t position) {
  for (int64_t head = 0; head < heads; ++head) {
    const std::vector<Exact> expected =
        naive_attention(q + head * kDim, cache, head / (heads / kv_heads), position);
    for (int64_t i = 0; i < kDim; ++i) {
      ASSERT_TRUE(rounds_to(out[head * kDim + i], expected[static_cast<size_t>(i)]))
          << "position " << position << " head " << head << " dim " << i;
    }
  }
}

/// Attention of the step's rows [start, end) of one sequence.
std::vector<float> attend(const std::vector<float>& q, const Cache& cache, int64_t heads, int64_t kv_heads,
                          int64_t start, int64_t end) {
  Guarded<float> out((end - start) * heads * kDim);
  const std::vector<KvSequence> sequences{{{0, static_cast<int32_t>(end - start), start}, cache.pages()}};
  ref::attend({q.data(), heads, kv_heads, sequences, out.data()}, 0, heads);
  return {out.span().begin(), out.span().end()};
}

TEST(KvAppend, PutsEachRowAtItsPlaceInItsPageAndNowhereElse) {
  Random random(1);
  constexpr int64_t kHeads = 2;
  Cache cache = random_cache(kHeads, 140, random);
  cache.append(61, 131);  // the last rows of page 0, all of page 1, the first of page 2
  for (size_t page = 0; page < 3; ++page) {
    for (int64_t i = 0; i < cache.page(page).size(); ++i) {
      const bool is_value = i >= kHeads * kPage * kDim;
      const int64_t head = i / (kPage * kDim) % kHeads;
      const int64_t position = static_cast<int64_t>(page) * kPage + i / kDim % kPage;
      if (position < 61 || position >= 131) {
        ASSERT_TRUE(cache.page(page).untouched(i)) << page << " " << i;
      } else {
        const float* row = is_value ? cache.value(position, head) : cache.key(position, head);
        ASSERT_EQ(cache.page(page)[i], row[i % kDim]) << page << " " << i;
      }
    }
  }
}

TEST(KvAppend, WritesTheSequencesOfItsRangeOnly) {
  Random random(2);
  std::deque<Cache> caches;
  for (int i = 0; i < 3; ++i)
    caches.push_back(random_cache(1, 2, random));
  const std::vector<float> k = random.normals(4 * kDim), v = random.normals(4 * kDim);
  // Rows in another order than the sequences, and lists of pages that start at the page written.
  const std::vector<KvSequence> sequences{{{3, 1, 0}, caches[0].pages()},
                                          {{0, 2, 64 * 5}, {5, caches[1].pages().pointers}},
                                          {{2, 1, 1}, caches[2].pages()}};
  const KvAppendArgs args{k.data(), v.data(), 1, sequences};
  ref::kv_append(args, 1, 2);
  EXPECT_TRUE(caches[0].page(0).untouched(0, caches[0].page(0).size()));
  EXPECT_TRUE(caches[2].page(0).untouched(0, caches[2].page(0).size()));
  EXPECT_EQ(caches[1].page(0)[kDim], k[kDim]);
  ref::kv_append(args, 0, 1);
  ref::kv_append(args, 2, 3);
  EXPECT_EQ(caches[0].page(0)[0], k[3 * kDim]);
  EXPECT_EQ(caches[2].page(0)[kDim], k[2 * kDim]);
  EXPECT_EQ(caches[2].page(0)[kPage * kDim + kDim], v[2 * kDim]);
}

TEST(Attend, OnePositionReturnsItsValue) {
  Random random(3);
  Cache cache = random_cache(1, 1, random);
  cache.append(0, 1);
  const std::vector<float> out = attend(random.normals(2 * kDim), cache, 2, 1, 0, 1);
  for (int64_t i = 0; i < 2 * kDim; ++i)
    EXPECT_EQ(out[static_cast<size_t>(i)], cache.value(0, 0)[i % kDim]);
}

TEST(Attend, IsSoftmaxAttentionAcrossPages) {
  Random random(4);
  constexpr int64_t kTokens = 131;
  Cache cache = random_cache(1, kTokens, random);
  cache.append(0, kTokens);
  const std::vector<float> q = random.normals(kTokens * 2 * kDim);
  const std::vector<float> out = attend(q, cache, 2, 1, 0, kTokens);
  for (const int64_t position : {0, 1, 2, 62, 63, 64, 65, 127, 128, 130}) {
    expect_attention(out.data() + position * 2 * kDim, q.data() + position * 2 * kDim, cache, 2, 1, position);
  }
}

TEST(Attend, EightQueryHeadsShareAKeyValueHead) {
  Random random(5);
  constexpr int64_t kHeads = 16, kKvHeads = 2, kTokens = 9;
  Cache cache = random_cache(kKvHeads, kTokens, random);
  cache.append(0, kTokens);
  const std::vector<float> q = random.normals(kHeads * kDim);
  const std::vector<float> out = attend(q, cache, kHeads, kKvHeads, kTokens - 1, kTokens);
  expect_attention(out.data(), q.data(), cache, kHeads, kKvHeads, kTokens - 1);
}

TEST(Attend, ARowSeesNoLaterRowOfItsStep) {
  Random random(6);
  Cache cache = random_cache(1, 70, random);
  const std::vector<float> q = random.normals(70 * kDim);
  std::vector<float> stepwise;
  for (int64_t p = 0; p < 70; ++p) {  // later positions are NaN still
    cache.append(p, p + 1);
    const std::vector<float> row =
        attend({q.begin() + p * kDim, q.begin() + (p + 1) * kDim}, cache, 1, 1, p, p + 1);
    stepwise.insert(stepwise.end(), row.begin(), row.end());
  }
  EXPECT_TRUE(testing::same_elements<float>(attend(q, cache, 1, 1, 0, 70), stepwise));
}

TEST(Attend, LargeScoresPickTheirPositionWithoutOverflow) {
  Random random(7);
  constexpr int64_t kTokens = 66;
  std::vector<float> k(kTokens * kDim, -1e18f);
  std::fill_n(k.begin() + 65 * kDim, kDim, 1e18f);
  Cache cache(1, k, random.normals(kTokens * kDim));
  cache.append(0, kTokens);
  for (const float sign : {1.0f, -1.0f}) {
    const std::vector<float> q(kDim, sign * 1e18f);  // scores of 1.6e37 and -1.6e37
    const std::vector<float> out = attend(q, cache, 1, 1, kTokens - 1, kTokens);
    for (int64_t i = 0; i < kDim; ++i) {
      if (sign > 0) {
        EXPECT_EQ(out[static_cast<size_t>(i)], cache.value(65, 0)[i]);
      } else {
        Sum mean;  // the others tie
        for (int64_t p = 0; p < 65; ++p)
          mean.add(static_cast<long double>(cache.value(p, 0)[i]) / 65);
        EXPECT_TRUE(rounds_to(out[static_cast<size_t>(i)], mean.exact()));
      }
    }
  }
}

TEST(Attend, EqualKeysWeighTheSame) {
  Random random(8);
  constexpr int64_t kTokens = 65;
  const std::vector<float> key = random.normals(kDim);
  std::vector<float> k;
  for (int64_t p = 0; p < kTokens; ++p)
    k.insert(k.end(), key.begin(), key.end());
  Cache cache(1, k, random.normals(kTokens * kDim));
  cache.append(0, kTokens);
  const std::vector<float> out = attend(random.normals(kDim), cache, 1, 1, kTokens - 1, kTokens);
  for (int64_t i = 0; i < kDim; ++i) {
    Sum mean;
    for (int64_t p = 0; p < kTokens; ++p)
      mean.add(static_cast<long double>(cache.value(p, 0)[i]) / kTokens);
    EXPECT_TRUE(rounds_to(out[static_cast<size_t>(i)], mean.exact())) << i;
  }
}

TEST(Attend, SeveralSequencesShareAStepAndARangeWritesItsOwnHeadsOnly) {
  Random random(9);
  Cache a = random_cache(1, 5, random), b = random_cache(1, 67, random);
  a.append(0, 5);
  b.append(0, 67);
  const std::vector<float> q = random.normals(5 * 2 * kDim);
  const std::vector<KvSequence> sequences{{{3, 2, 3}, a.pages()}, {{0, 3, 64}, b.pages()}};
  Guarded<float> out(5 * 2 * kDim);
  const AttendArgs args{q.data(), 2, 1, sequences, out.data()};
  ref::attend(args, 1, 2);
  for (int64_t i = 0; i < out.size(); ++i)
    ASSERT_EQ(out.untouched(i), i / kDim % 2 == 0) << i;
  ref::attend(args, 0, 1);
  for (int64_t row = 0; row < 5; ++row) {
    expect_attention(out.data() + row * 2 * kDim, q.data() + row * 2 * kDim, row < 3 ? b : a, 2, 1,
                     row < 3 ? 64 + row : row);
  }
}

}  // namespace
}  // namespace lirio
