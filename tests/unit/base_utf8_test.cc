// base/utf8 against the Unicode standard: the well-formed sequences of table 3-7, and the ill-formed ones of
// tables 3-8 to 3-11 with the number of U+FFFD that the recommended practice ("maximal subpart") gives.
#include "base/utf8.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace lirio {
namespace {

struct ByteRange {
  uint8_t low, high;
  bool holds(uint8_t byte) const { return byte >= low && byte <= high; }
};

/// A row of table 3-7.
struct WellFormed {
  int length;
  std::array<ByteRange, 4> bytes;
};

constexpr ByteRange kTail{0x80, 0xBF};
constexpr std::array<WellFormed, 9> kTable37 = {{
    {1, {{{0x00, 0x7F}}}},
    {2, {{{0xC2, 0xDF}, kTail}}},
    {3, {{{0xE0, 0xE0}, {0xA0, 0xBF}, kTail}}},
    {3, {{{0xE1, 0xEC}, kTail, kTail}}},
    {3, {{{0xED, 0xED}, {0x80, 0x9F}, kTail}}},
    {3, {{{0xEE, 0xEF}, kTail, kTail}}},
    {4, {{{0xF0, 0xF0}, {0x90, 0xBF}, kTail, kTail}}},
    {4, {{{0xF1, 0xF3}, kTail, kTail, kTail}}},
    {4, {{{0xF4, 0xF4}, {0x80, 0x8F}, kTail, kTail}}},
}};

/// What the table says of the start of `text`: the longest prefix that begins a well-formed sequence.
Utf8Unit expected_unit(std::string_view text) {
  Utf8Unit best{kReplacementCharacter, 1, false, false};
  for (const WellFormed& row : kTable37) {
    int matched = 0;
    while (matched < row.length && matched < static_cast<int>(text.size()) &&
           row.bytes[matched].holds(static_cast<uint8_t>(text[matched]))) {
      ++matched;
    }
    if (matched == 0) continue;
    best.length = static_cast<uint8_t>(matched);
    best.valid = matched == row.length;
    best.truncated = !best.valid && matched == static_cast<int>(text.size());
    if (best.valid) {
      const uint8_t lead = static_cast<uint8_t>(text[0]);
      best.code_point = row.length == 1 ? lead : lead & ((1u << (7 - row.length)) - 1);
      for (int i = 1; i < row.length; ++i)
        best.code_point = best.code_point * 64 + (text[i] & 0x3F);
    }
    break;  // the rows' first bytes are disjoint
  }
  return best;
}

void expect_as_in_the_table(std::string_view text) {
  const Utf8Unit expected = expected_unit(text);
  const Utf8Unit actual = decode_utf8(text);
  if (actual.code_point == expected.code_point && actual.length == expected.length &&
      actual.valid == expected.valid && actual.truncated == expected.truncated) {
    return;
  }
  std::string bytes;
  for (const char c : text)
    bytes += fmt::format("{:02X} ", static_cast<uint8_t>(c));
  ADD_FAILURE() << bytes
                << fmt::format("gave U+{:04X}, {} bytes, valid {}, truncated {}",
                               static_cast<uint32_t>(actual.code_point), actual.length, actual.valid,
                               actual.truncated);
}

std::string encoded(char32_t code_point) {
  std::string text;
  append_utf8(text, code_point);
  return text;
}

/// U+FFFD as `to_valid_utf8` writes it, `count` times.
std::string replacements(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += "\xEF\xBF\xBD";
  return text;
}

TEST(Utf8, EveryScalarValueSurvivesARoundTrip) {
  for (char32_t code_point = 0; code_point <= 0x10FFFF; ++code_point) {
    if (code_point >= 0xD800 && code_point <= 0xDFFF) continue;
    const std::string text = encoded(code_point);
    const Utf8Unit unit = decode_utf8(text);
    ASSERT_TRUE(unit.valid) << static_cast<uint32_t>(code_point);
    ASSERT_EQ(unit.code_point, code_point);
    ASSERT_EQ(unit.length, text.size());
    ASSERT_FALSE(unit.truncated);
  }
}

TEST(Utf8, OneAndTwoBytesDecodeAsInTheTable) {
  for (int first = 0; first < 256; ++first) {
    expect_as_in_the_table(std::string(1, static_cast<char>(first)));
    for (int second = 0; second < 256; ++second) {
      expect_as_in_the_table(std::string{static_cast<char>(first), static_cast<char>(second)});
    }
  }
}

TEST(Utf8, ThreeAndFourBytesDecodeAsInTheTableAtEveryBoundary) {
  constexpr std::array<uint8_t, 24> kEdges = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0,
                                              0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC,
                                              0xED, 0xEE, 0xEF, 0xF0, 0xF3, 0xF4, 0xF5, 0xFF};
  std::string text(4, '\0');
  for (const uint8_t a : kEdges) {
    for (const uint8_t b : kEdges) {
      for (const uint8_t c : kEdges) {
        text[0] = static_cast<char>(a);
        text[1] = static_cast<char>(b);
        text[2] = static_cast<char>(c);
        expect_as_in_the_table(std::string_view(text).substr(0, 3));
        for (const uint8_t d : kEdges) {
          text[3] = static_cast<char>(d);
          expect_as_in_the_table(text);
        }
      }
    }
  }
}

TEST(Utf8, NonShortestFormsAreOneReplacementForEachByte) {  // table 3-8
  EXPECT_EQ(to_valid_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), replacements(8) + "A");
}

TEST(Utf8, SurrogatesAreOneReplacementForEachByte) {  // table 3-9
  EXPECT_EQ(to_valid_utf8("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), replacements(8) + "A");
}

TEST(Utf8, BytesPastTheLastCodePointAreOneReplacementEach) {  // table 3-10
  EXPECT_EQ(to_valid_utf8("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
            replacements(5) + "A" + replacements(2) + "B");
}

TEST(Utf8, CutSequencesAreOneReplacementForEachMaximalPart) {  // table 3-11
  EXPECT_EQ(to_valid_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), replacements(4) + "A");
}

TEST(Utf8, OldFiveAndSixByteFormsAreNotKnown) {
  EXPECT_EQ(to_valid_utf8("\xF8\x88\x80\x80\x80"), replacements(5));
  EXPECT_EQ(to_valid_utf8("\xFC\x84\x80\x80\x80\x80"), replacements(6));
}

TEST(Utf8, ValidTextStaysAsItIs) {
  std::string text = "caf\xC3\xA9 \xE6\xBC\xA2\xE5\xAD\x97 \xF0\x9F\x99\x82 ";
  text += '\0';
  text += " \xEF\xBF\xBD end";
  EXPECT_EQ(to_valid_utf8(text), text);
  EXPECT_EQ(to_valid_utf8(""), "");
}

TEST(Utf8, ACharacterCutByTheEndIsTruncated) {
  for (const char32_t code_point : {U'\u00E9', U'\u6F22', U'\U0001F642', U'\U0010FFFF'}) {
    const std::string text = encoded(code_point);
    for (std::size_t length = 1; length < text.size(); ++length) {
      const Utf8Unit unit = decode_utf8(std::string_view(text).substr(0, length));
      EXPECT_FALSE(unit.valid);
      EXPECT_TRUE(unit.truncated);
      EXPECT_EQ(unit.length, length);
      EXPECT_EQ(unit.code_point, kReplacementCharacter);
    }
  }
}

TEST(Utf8, WhatMoreTextCantMendIsNotTruncated) {
  const std::vector<std::string_view> texts = {"\x80",     "\xC0",  "\xFF",      "\xE0\x80",     "\xED\xA0",
                                               "\xF4\x90", "\xC3(", "\xE6\xBC(", "\xF0\x9F\x99("};
  for (const std::string_view text : texts) {
    const Utf8Unit unit = decode_utf8(text);
    EXPECT_FALSE(unit.valid);
    EXPECT_FALSE(unit.truncated);
  }
}

}  // namespace
}  // namespace lirio
