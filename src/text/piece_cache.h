// The ids of pieces seen lately: running text repeats its words, and a hit costs a tenth of BPE. A
// direct-mapped table of fixed size that belongs to one caller's scratch; made at first use, then it
// allocates nothing. Not thread-safe.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "text/bpe.h"

namespace lirio {

class PieceCache {
 public:
  static constexpr std::size_t kMaxPieceBytes = 24;
  static constexpr std::size_t kMaxIds = 9;

  struct alignas(64) Entry {
    uint64_t words[kMaxPieceBytes / 8];  ///< the piece, padded with zeros
    uint8_t piece_bytes;                 ///< 0 for an empty entry
    uint8_t ids_count;
    TokenId ids[kMaxIds];

    std::span<const TokenId> tokens() const { return {ids, ids_count}; }
  };

  /// Where a piece is looked up and stored.
  struct Key {
    uint64_t words[kMaxPieceBytes / 8] = {};
    uint8_t piece_bytes;
    std::size_t index;
  };

  /// Must precede find and store; forgets everything when `owner` is not the tokenizer of the last call.
  void open(uint64_t owner) {
    if (owner == owner_) return;
    owner_ = owner;
    entries_.assign(kEntries, Entry{});
  }

  /// `piece` has 1 to kMaxPieceBytes bytes.
  static Key key_of(std::string_view piece) {
    Key key;
    key.piece_bytes = static_cast<uint8_t>(piece.size());
    std::memcpy(key.words, piece.data(), piece.size());
    uint64_t hash = key.words[0] * 0x9E3779B97F4A7C15u;
    hash = (hash ^ hash >> 32 ^ key.words[1]) * 0xC2B2AE3D27D4EB4Fu;
    hash = (hash ^ hash >> 32 ^ key.words[2]) * 0x9E3779B97F4A7C15u;
    key.index = hash >> (64 - std::countr_zero(kEntries));
    return key;
  }

  const Entry* find(const Key& key) const {
    const Entry& entry = entries_[key.index];
    const bool same = entry.piece_bytes == key.piece_bytes &&
                      std::equal(std::begin(key.words), std::end(key.words), entry.words);
    return same ? &entry : nullptr;
  }

  /// Replaces what was there. Pieces of more than kMaxIds tokens are not kept.
  void store(const Key& key, std::span<const TokenId> ids) {
    if (ids.size() > kMaxIds) return;
    Entry& entry = entries_[key.index];
    std::copy(std::begin(key.words), std::end(key.words), entry.words);
    entry.piece_bytes = key.piece_bytes;
    entry.ids_count = static_cast<uint8_t>(ids.size());
    std::copy(ids.begin(), ids.end(), entry.ids);
  }

 private:
  static constexpr std::size_t kEntries = 8192;  // 512 KiB

  uint64_t owner_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace lirio
