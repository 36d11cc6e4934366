#include "text/detokenizer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "support/paths.h"

namespace lirio {
namespace {

const Tokenizer& pocket() {
  static const Tokenizer tokenizer = Tokenizer::from_directory(testing::pocket_dir());
  return tokenizer;
}

TokenId byte_token(uint8_t byte) {
  for (TokenId id = 0; id < pocket().vocabulary_end(); ++id) {
    const std::string_view bytes = pocket().token_bytes(id);
    if (bytes.size() == 1 && static_cast<uint8_t>(bytes[0]) == byte) return id;
  }
  ADD_FAILURE() << "no token for the byte";
  return -1;
}

TEST(Detokenizer, HoldsBackHalfACharacter) {
  Detokenizer detokenizer(pocket());
  std::string out;
  for (const uint8_t byte : {0xF0, 0x9F, 0x98}) {
    detokenizer.push(byte_token(byte), out);
    EXPECT_EQ(out, "");
  }
  detokenizer.push(byte_token(0x80), out);
  EXPECT_EQ(out, "\U0001F600");
}

TEST(Detokenizer, EndsAnUnfinishedCharacterWithOneReplacementCharacter) {
  Detokenizer detokenizer(pocket());
  std::string out;
  detokenizer.push(byte_token(0xE4), out);
  detokenizer.push(byte_token(0xB8), out);
  detokenizer.flush(out);
  EXPECT_EQ(out, "\uFFFD");
  detokenizer.push(byte_token('x'), out);
  detokenizer.flush(out);
  EXPECT_EQ(out, "\uFFFDx") << "a flushed detokenizer is as new";
}

TEST(Detokenizer, EqualsTheWholeTextForAnyBytes) {
  std::vector<TokenId> by_byte;
  for (int byte = 0; byte < 256; ++byte)
    by_byte.push_back(byte_token(static_cast<uint8_t>(byte)));
  std::mt19937 random(6);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes(random() % 20, '\0');
    for (char& byte : bytes)
      byte = static_cast<char>(random() % 4 == 0 ? random() : 0x80 + random() % 0x78);
    Detokenizer detokenizer(pocket());
    std::string out;
    for (const char byte : bytes) {
      detokenizer.push(by_byte[static_cast<uint8_t>(byte)], out);
      EXPECT_EQ(to_valid_utf8(out), out);
    }
    detokenizer.flush(out);
    EXPECT_EQ(out, to_valid_utf8(bytes));
  }
}

TEST(Detokenizer, SkipsSpecialTokensAndKeepsTheOtherAddedOnes) {
  const std::vector<TokenId> ids = {*pocket().added_token("<think>"), byte_token('a'),
                                    *pocket().added_token("<|im_end|>")};
  std::string skipping;
  std::string keeping;
  Detokenizer skip(pocket());
  Detokenizer keep(pocket(), Detokenizer::SpecialTokens::kKeep);
  for (const TokenId id : ids) {
    skip.push(id, skipping);
    keep.push(id, keeping);
  }
  EXPECT_EQ(skipping, "<think>a");
  EXPECT_EQ(keeping, "<think>a<|im_end|>");
}

TEST(Detokenizer, IgnoresIdsThatStandForNothing) {
  Detokenizer detokenizer(pocket());
  std::string out;
  for (const TokenId id : {-1, pocket().vocabulary_end(), 1 << 30})
    detokenizer.push(id, out);
  detokenizer.flush(out);
  EXPECT_EQ(out, "");
}

}  // namespace
}  // namespace lirio
