#include "text/pre_tokenizer.h"

#include <gtest/gtest.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/utf8.h"
#include "support/paths.h"

namespace lirio {
namespace {

std::vector<std::string> pieces_of(std::string_view text) {
  std::vector<std::string> pieces;
  PieceScanner scanner(text);
  for (std::string_view piece = scanner.next(); !piece.empty(); piece = scanner.next())
    pieces.emplace_back(piece);
  return pieces;
}

/// A pattern in PCRE2 with Unicode properties.
class Pattern {
 public:
  explicit Pattern(std::string_view pattern) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                              PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr));
    EXPECT_NE(code_, nullptr);
    pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);
    data_.reset(pcre2_match_data_create(1, nullptr));
  }

  /// The end of a match that starts at `from`, or `from` when there is none.
  std::size_t match_at(std::string_view text, std::size_t from) const {
    const int groups = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                                   PCRE2_ANCHORED, data_.get(), nullptr);
    return groups > 0 ? pcre2_get_ovector_pointer(data_.get())[1] : from;
  }

 private:
  struct Free {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  };
  std::unique_ptr<pcre2_code, Free> code_;
  std::unique_ptr<pcre2_match_data, Free> data_;
};

std::vector<std::string> pieces_by_pcre2(const Pattern& rule, std::string_view text) {
  std::vector<std::string> pieces;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = rule.match_at(text, at);
    if (end == at) break;
    pieces.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return pieces;
}

bool is_scalar_value(char32_t code_point) {
  return code_point < 0xD800 || code_point > 0xDFFF;
}

/// PCRE2's Unicode is older, so what it calls unassigned proves nothing.
bool pcre2_knows(const Pattern& unassigned, char32_t code_point) {
  std::string text;
  append_utf8(text, code_point);
  return unassigned.match_at(text, 0) == 0;
}

TEST(PreTokenizer, SplitsTheReferenceVectorsAsTheReferencePipelineDoes) {
  const auto document = json::Document::from_file(testing::golden_dir() / "tokenizer_vectors.json");
  const auto vectors = json::get_array(document.root_object(), "vectors", document.source());
  for (const json::Element element : *vectors) {
    const json::Object vector = element.get_object();
    const auto normalised = json::get_string(vector, "normalised", "vectors");
    const std::string_view text = normalised ? *normalised : *json::get_string(vector, "text", "vectors");
    std::vector<std::string> expected;
    std::size_t at = 0;
    const auto piece_bytes = json::get_array(vector, "piece_bytes", "vectors");
    for (const json::Element length : *piece_bytes) {
      expected.emplace_back(text.substr(at, length.get_uint64()));
      at += expected.back().size();
    }
    EXPECT_EQ(pieces_of(text), expected);
  }
}

TEST(PreTokenizer, GivesEveryAssignedCodePointTheClassThatPcre2GivesIt) {
  const Pattern letter("\\p{L}");
  const Pattern mark("\\p{M}");
  const Pattern number("\\p{N}");
  const Pattern space("\\s");
  const Pattern unassigned("\\p{Cn}");
  const CharacterTable& table = CharacterTable::instance();
  int differing = 0;
  std::string text;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (!is_scalar_value(c) || !pcre2_knows(unassigned, c)) continue;
    // Not White_Space since Unicode 6.3, but PCRE2 keeps it in \s.
    if (c == 0x180E) continue;
    text.clear();
    append_utf8(text, c);
    const int expected =
        (letter.match_at(text, 0) != 0 ? kLetter : 0) | (mark.match_at(text, 0) != 0 ? kMark : 0) |
        (number.match_at(text, 0) != 0 ? kNumber : 0) | (space.match_at(text, 0) != 0 ? kWhiteSpace : 0);
    differing += (table[c] & ~kUnsettled) != expected;
  }
  EXPECT_EQ(differing, 0);
}

TEST(PreTokenizer, EqualsPcre2OnRandomText) {
  const Pattern rule(kSplitRule);
  const Pattern unassigned("\\p{Cn}");
  const std::u32string alphabets[] = {
      U"ab Z\n\r\t'1.,",
      U"'sStTrReEvVmMlLdD\u017F \n",
      U" \u00A0\u2003\u3000\n\r\t\u0085\u2028\u200Bx1.",
      U"a\u0301\u0316\u0903 .1\n\u20DD",
      U"\u4E2D\u6587\u3053\uAC00\u1100\u1161 \uFF01\u3002",
      U"\u0661\u2167\u00BD\u0967 a.\n",
      U"\U0001F469\u200D\U0001F4BB\uFE0F\U0001F3FD \U000E0101a",
      U"  \n\n\r\r ",
  };
  std::mt19937 random(3);
  for (int round = 0; round < 20'000; ++round) {
    const std::u32string& first = alphabets[random() % std::size(alphabets)];
    const std::u32string& second = alphabets[random() % std::size(alphabets)];
    std::string text;
    for (std::size_t i = random() % 40; i > 0; --i) {
      const std::u32string& alphabet = random() % 3 != 0 ? first : second;
      char32_t c = alphabet[random() % alphabet.size()];
      if (random() % 16 == 0) c = static_cast<char32_t>(random() % 0x20000);
      if (!is_scalar_value(c) || c == 0x180E || !pcre2_knows(unassigned, c)) continue;
      append_utf8(text, c);
    }
    ASSERT_EQ(pieces_of(text), pieces_by_pcre2(rule, text)) << ::testing::PrintToString(text);
  }
}

TEST(PreTokenizer, LosesNothingOnAnyValidText) {
  std::mt19937 random(4);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (std::size_t i = random() % 60; i > 0; --i) {
      const auto c = static_cast<char32_t>(random() % 0x110000);
      if (is_scalar_value(c)) append_utf8(text, c);
    }
    std::string joined;
    for (const std::string& piece : pieces_of(text))
      joined += piece;
    EXPECT_EQ(joined, text);
  }
}

TEST(PreTokenizer, SplitsNumbersOneByOne) {
  EXPECT_EQ(pieces_of("a 123"), (std::vector<std::string>{"a", " ", "1", "2", "3"}));
}

TEST(PreTokenizer, TakesContractionsInAnyCase) {
  EXPECT_EQ(pieces_of("we'Re it'\u017Fx"), (std::vector<std::string>{"we", "'Re", " it", "'\u017F", "x"}));
  EXPECT_EQ(pieces_of("'rx"), (std::vector<std::string>{"'rx"})) << "an apostrophe may also begin a word";
}

TEST(PreTokenizer, KeepsMarksInsideWords) {
  EXPECT_EQ(pieces_of("\u0301!x\u0301y"), (std::vector<std::string>{"\u0301", "!x\u0301y"}));
}

TEST(PreTokenizer, LeavesTheLastSpaceToTheNextWord) {
  EXPECT_EQ(pieces_of("a   b  "), (std::vector<std::string>{"a", "  ", " b", "  "}));
  EXPECT_EQ(pieces_of(" \n  \n x"), (std::vector<std::string>{" \n  \n", " x"}));
}

}  // namespace
}  // namespace lirio
