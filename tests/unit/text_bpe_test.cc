#include "text/bpe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace lirio {
namespace {

std::array<TokenId, 256> bytes_as_ids() {
  std::array<TokenId, 256> ids;
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

std::vector<TokenId> encode(const Bpe& bpe, std::string_view piece) {
  BpeScratch scratch;
  std::vector<TokenId> out;
  bpe.encode(piece, scratch, out);
  return out;
}

/// The definition: again and again, the pair of lowest rank, the leftmost among equals.
std::vector<TokenId> encode_by_definition(const std::vector<Merge>& merges, std::string_view piece) {
  std::map<std::pair<TokenId, TokenId>, std::size_t> ranks;
  for (const Merge& merge : merges)
    ranks.emplace(std::pair(merge.left, merge.right), ranks.size());
  std::vector<TokenId> ids;
  for (const char byte : piece)
    ids.push_back(static_cast<uint8_t>(byte));
  while (true) {
    std::size_t best = merges.size();
    std::size_t place = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto found = ranks.find({ids[i], ids[i + 1]});
      if (found == ranks.end() || found->second >= best) continue;
      best = found->second;
      place = i;
    }
    if (best == merges.size()) return ids;
    ids[place] = merges[best].result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

/// Random merges over the letters a, b, c; in random order, so longer ones may come before their parts.
std::vector<Merge> random_merges(std::mt19937& random, int count) {
  std::vector<std::string> texts;
  for (int byte = 0; byte < 256; ++byte)
    texts.emplace_back(1, static_cast<char>(byte));
  std::vector<TokenId> letters = {'a', 'b', 'c'};
  std::map<std::string, TokenId> known;
  std::map<std::pair<TokenId, TokenId>, bool> used;
  std::vector<Merge> merges;
  while (static_cast<int>(merges.size()) < count) {
    const TokenId left = letters[random() % letters.size()];
    const TokenId right = letters[random() % letters.size()];
    if (!used.emplace(std::pair(left, right), true).second) continue;
    const std::string text = texts[static_cast<std::size_t>(left)] + texts[static_cast<std::size_t>(right)];
    const auto [place, is_new] = known.emplace(text, static_cast<TokenId>(texts.size()));
    if (is_new) {
      texts.push_back(text);
      letters.push_back(place->second);
    }
    merges.push_back({left, right, place->second});
  }
  std::shuffle(merges.begin(), merges.end(), random);
  return merges;
}

TEST(Bpe, EqualsTheDefinitionOnPiecesOfEveryLength) {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    const std::vector<Merge> merges = random_merges(random, 1 + round);
    const Bpe bpe(merges, bytes_as_ids());
    for (std::size_t length = 0; length < 100; ++length) {
      std::string piece(length, 'a');
      for (char& letter : piece)
        letter = static_cast<char>('a' + random() % 3);
      ASSERT_EQ(encode(bpe, piece), encode_by_definition(merges, piece)) << piece;
    }
  }
}

TEST(Bpe, MergesTheLeftmostOfEqualPairsFirst) {
  const std::vector<Merge> merges = {{'a', 'a', 256}};
  const Bpe bpe(merges, bytes_as_ids());
  EXPECT_EQ(encode(bpe, "aaa"), (std::vector<TokenId>{256, 'a'}));
  std::vector<TokenId> many(50, 256);
  many.push_back('a');
  EXPECT_EQ(encode(bpe, std::string(101, 'a')), many);
}

TEST(Bpe, WithoutMergesYieldsBytes) {
  const Bpe bpe({}, bytes_as_ids());
  EXPECT_EQ(encode(bpe, ""), (std::vector<TokenId>{}));
  EXPECT_EQ(encode(bpe, std::string_view("\x00\xFF", 2)), (std::vector<TokenId>{0, 255}));
}

}  // namespace
}  // namespace lirio
