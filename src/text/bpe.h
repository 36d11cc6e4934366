// Byte-pair encoding by merge rank: from the bytes of one piece to token ids. Owns the merge table. Called by
// the tokenizer. Immutable, so thread-safe; scratch belongs to one caller at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace lirio {

using TokenId = int32_t;

/// `left` and `right`, standing next to each other, become `result`.
struct Merge {
  TokenId left;
  TokenId right;
  TokenId result;
};

/// Buffers for long pieces; they keep their capacity.
struct BpeScratch {
  std::vector<TokenId> ids;
  std::vector<uint32_t> previous;
  std::vector<uint32_t> next;
  std::vector<uint32_t> ranks;
  std::vector<uint64_t> heap;
};

class Bpe {
 public:
  /// `merges` in order of rank, no pair twice, ids not negative; `byte_tokens[b]` stands for byte b alone.
  Bpe(std::span<const Merge> merges, const std::array<TokenId, 256>& byte_tokens);

  /// Appends the ids of `piece`: starting from single bytes, the pair of lowest rank merges first, of equal
  /// pairs the leftmost. Time is n log n in the piece's length, which is below 4 GiB.
  void encode(std::string_view piece, BpeScratch& scratch, std::vector<TokenId>& out) const;

  /// The token of byte `byte` alone.
  TokenId byte_token(uint8_t byte) const { return byte_tokens_[byte]; }

 private:
  static constexpr uint32_t kNoRank = ~uint32_t{0};

  struct Slot {
    uint64_t pair;
    uint32_t rank;
  };

  static uint64_t pair_of(TokenId left, TokenId right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  std::size_t slot_of(uint64_t pair) const;
  /// The rank at which the pair merges, or kNoRank.
  uint32_t rank(TokenId left, TokenId right) const;
  void encode_short(std::string_view piece, std::vector<TokenId>& out) const;
  void encode_long(std::string_view piece, BpeScratch& scratch, std::vector<TokenId>& out) const;

  std::array<TokenId, 256> byte_tokens_;
  std::vector<TokenId> results_;  // by rank
  std::vector<Slot> slots_;       // open addressing, at most half full
  int shift_ = 0;                 // 64 - log2(slots)
};

}  // namespace lirio
