#include "text/bpe.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "base/check.h"

namespace lirio {
namespace {

// Up to here a scan over all pairs for each merge beats the heap; nearly every piece of text is shorter.
constexpr std::size_t kShortPiece = 32;

}  // namespace

Bpe::Bpe(std::span<const Merge> merges, const std::array<TokenId, 256>& byte_tokens)
    : byte_tokens_(byte_tokens) {
  CHECK(merges.size() < kNoRank);
  const std::size_t capacity = std::bit_ceil(std::max<std::size_t>(2 * merges.size(), 2));
  shift_ = 64 - std::countr_zero(capacity);
  slots_.assign(capacity, {0, kNoRank});
  results_.reserve(merges.size());
  for (const Merge& merge : merges) {
    const uint64_t pair = pair_of(merge.left, merge.right);
    Slot& slot = slots_[slot_of(pair)];
    CHECK(slot.rank == kNoRank);
    slot = {pair, static_cast<uint32_t>(results_.size())};
    results_.push_back(merge.result);
  }
}

std::size_t Bpe::slot_of(uint64_t pair) const {
  std::size_t index = (pair ^ pair >> 29) * 0x9E3779B97F4A7C15u >> shift_;
  while (slots_[index].rank != kNoRank && slots_[index].pair != pair)
    index = (index + 1) & (slots_.size() - 1);
  return index;
}

uint32_t Bpe::rank(TokenId left, TokenId right) const {
  return slots_[slot_of(pair_of(left, right))].rank;
}

void Bpe::encode(std::string_view piece, BpeScratch& scratch, std::vector<TokenId>& out) const {
  if (piece.size() <= kShortPiece) {
    encode_short(piece, out);
  } else {
    encode_long(piece, scratch, out);
  }
}

void Bpe::encode_short(std::string_view piece, std::vector<TokenId>& out) const {
  if (piece.empty()) return;
  TokenId ids[kShortPiece];
  uint32_t ranks[kShortPiece];  // of the pair that starts at each symbol; the last one has none
  std::size_t count = piece.size();
  for (std::size_t i = 0; i < count; ++i)
    ids[i] = byte_token(static_cast<uint8_t>(piece[i]));
  for (std::size_t i = 0; i + 1 < count; ++i)
    ranks[i] = rank(ids[i], ids[i + 1]);
  ranks[count - 1] = kNoRank;

  while (true) {
    const auto best = static_cast<std::size_t>(std::min_element(ranks, ranks + count) - ranks);
    if (ranks[best] == kNoRank) break;
    ids[best] = results_[ranks[best]];
    std::copy(ids + best + 2, ids + count, ids + best + 1);
    std::copy(ranks + best + 2, ranks + count, ranks + best + 1);
    --count;
    ranks[best] = best + 1 < count ? rank(ids[best], ids[best + 1]) : kNoRank;
    if (best > 0) ranks[best - 1] = rank(ids[best - 1], ids[best]);
  }
  out.insert(out.end(), ids, ids + count);
}

void Bpe::encode_long(std::string_view piece, BpeScratch& scratch, std::vector<TokenId>& out) const {
  CHECK(piece.size() < kNoRank);
  const auto count = static_cast<uint32_t>(piece.size());
  const uint32_t end = count;
  std::vector<TokenId>& ids = scratch.ids;
  std::vector<uint32_t>& previous = scratch.previous;
  std::vector<uint32_t>& next = scratch.next;
  std::vector<uint32_t>& ranks = scratch.ranks;  // of the pair that starts at each symbol
  std::vector<uint64_t>& heap = scratch.heap;
  ids.resize(count);
  previous.resize(count);
  next.resize(count);
  ranks.resize(count);
  heap.clear();
  for (uint32_t i = 0; i < count; ++i) {
    ids[i] = byte_token(static_cast<uint8_t>(piece[i]));
    previous[i] = i == 0 ? end : i - 1;
    next[i] = i + 1;
  }

  // Rank above position: the smallest entry is the lowest rank and, among equals, the leftmost. An entry is
  // stale when the pair at its position has another rank by now.
  const auto entry = [&](uint32_t position) {
    return static_cast<uint64_t>(ranks[position]) << 32 | position;
  };
  for (uint32_t i = 0; i + 1 < count; ++i) {
    ranks[i] = rank(ids[i], ids[i + 1]);
    if (ranks[i] != kNoRank) heap.push_back(entry(i));
  }
  ranks[count - 1] = kNoRank;
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  const auto update = [&](uint32_t position) {
    const uint32_t right = next[position];
    ranks[position] = right == end ? kNoRank : rank(ids[position], ids[right]);
    if (ranks[position] == kNoRank) return;
    heap.push_back(entry(position));
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };

  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const uint64_t top = heap.back();
    heap.pop_back();
    const auto position = static_cast<uint32_t>(top);
    if (ranks[position] != top >> 32) continue;
    const uint32_t gone = next[position];
    ids[position] = results_[ranks[position]];
    ranks[gone] = kNoRank;
    next[position] = next[gone];
    if (next[gone] != end) previous[next[gone]] = position;
    update(position);
    if (previous[position] != end) update(previous[position]);
  }
  for (uint32_t i = 0; i != end; i = next[i])
    out.push_back(ids[i]);
}

}  // namespace lirio
