#include "text/unicode.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/utf8.h"
#include "support/paths.h"

namespace lirio {
namespace {

std::string nfc(std::string_view text) {
  NfcScratch scratch;
  return std::string(to_nfc(text, scratch));
}

TEST(Unicode, NormalisesAsTheReferencePipelineDoes) {
  const auto document = json::Document::from_file(testing::golden_dir() / "tokenizer_vectors.json");
  const auto vectors = json::get_array(document.root_object(), "vectors", document.source());
  for (const json::Element element : *vectors) {
    const json::Object vector = element.get_object();
    const std::string_view text = *json::get_string(vector, "text", "vectors");
    const auto normalised = json::get_string(vector, "normalised", "vectors");
    EXPECT_EQ(nfc(text), normalised.value_or(text));
  }
}

TEST(Unicode, ReturnsTextThatIsNormalisedAsItIs) {
  NfcScratch scratch;
  for (const std::string_view text :
       {"", "plain ASCII, longer than a word", "caf\u00E9 \u4E2D\u6587 \uAC00 \U0001F469"}) {
    EXPECT_EQ(to_nfc(text, scratch).data(), text.data());
  }
}

TEST(Unicode, ComposesAndOrdersMarks) {
  EXPECT_EQ(nfc("e\u0301"), "\u00E9");
  EXPECT_EQ(nfc("q\u0307\u0323"), "q\u0323\u0307");
  EXPECT_EQ(nfc("s\u0307\u0323"), "\u1E69");
  EXPECT_EQ(nfc("\u212B"), "\u00C5");
  EXPECT_EQ(nfc("\u0958"), "\u0915\u093C");
}

TEST(Unicode, ComposesHangulByArithmetic) {
  EXPECT_EQ(nfc("\u1112\u1161\u11AB"), "\uD55C");
  EXPECT_EQ(nfc("\uAC00\u11A8"), "\uAC01");
  EXPECT_EQ(nfc("\uAC00\u11A7"), "\uAC00\u11A7") << "U+11A7 is no final consonant";
}

TEST(Unicode, KeepsWhatTheReferenceTablesDoNotKnow) {
  EXPECT_EQ(nfc("\U00011935\U00011930"), "\U00011935\U00011930");
  EXPECT_EQ(nfc("a\u1ABF\u0301"), "a\u1ABF\u0301") << "a mark of Unicode 13 stops composition";
}

TEST(Unicode, TurnsInvalidBytesIntoReplacementCharacters) {
  EXPECT_EQ(nfc("a\xFF"
                "b"),
            "a\uFFFD"
            "b");
  EXPECT_EQ(nfc("\xE4\xB8"), "\uFFFD");
  EXPECT_EQ(nfc("e\xCC"), "e\uFFFD");
  EXPECT_EQ(nfc("e\u0301\x80\u0301"), "\u00E9\uFFFD\u0301");
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 24, '\0');
    for (char& byte : bytes)
      byte = static_cast<char>(random() % 3 == 0 ? random() : 0x80 + random() % 0x60);
    EXPECT_EQ(nfc(bytes), nfc(to_valid_utf8(bytes)));
  }
}

TEST(Unicode, NormalisingTwiceChangesNothing) {
  const std::u32string alphabet =
      U"aeq\u00E9\u0301\u0316\u0327\u0345\u093C\u0915\u1100\u1161\u11A8\uAC00\u3099\u304B\u1ABF\U0001D165";
  std::mt19937 random(2);
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (std::size_t i = random() % 12; i > 0; --i)
      append_utf8(text, alphabet[random() % alphabet.size()]);
    const std::string once = nfc(text);
    EXPECT_EQ(nfc(once), once);
  }
}

TEST(Unicode, SortsLongRunsOfMarks) {
  std::string text = "a";
  for (int i = 0; i < 100'000; ++i)
    text += "\u0301\u0316";
  std::string sorted = "\u00E1";  // the first mark above composes, those below do not block it
  for (int i = 0; i < 100'000; ++i)
    sorted += "\u0316";
  for (int i = 1; i < 100'000; ++i)
    sorted += "\u0301";
  EXPECT_TRUE(nfc(text) == sorted);
}

TEST(Unicode, KnowsTheClassesOfEveryPlane) {
  const CharacterTable& table = CharacterTable::instance();
  const auto classes = [&](char32_t code_point) { return table[code_point] & ~kUnsettled; };
  EXPECT_EQ(classes('a'), kLetter);
  EXPECT_EQ(classes('7'), kNumber);
  EXPECT_EQ(classes('!'), 0);
  EXPECT_EQ(classes(0x0301), kMark);
  EXPECT_EQ(classes(0x4E2D), kLetter);
  EXPECT_EQ(classes(0x2167), kNumber);
  EXPECT_EQ(classes(0x1F600), 0);
  EXPECT_EQ(classes(0x32000), kLetter);
  EXPECT_EQ(classes(0xE0100), kMark);
  EXPECT_EQ(classes(0x10FFFF), 0);
  EXPECT_EQ(classes(0x1E5D0), kLetter) << "a letter of Unicode 16";
  EXPECT_EQ(classes(0x1C), 0) << "a separator to Python alone";
  for (const char32_t space :
       {0x09, 0x0A, 0x0D, 0x20, 0x85, 0xA0, 0x1680, 0x200A, 0x2028, 0x202F, 0x205F, 0x3000}) {
    EXPECT_EQ(classes(space), kWhiteSpace);
  }
  for (const char32_t none : {0x200B, 0xFEFF, 0x180E})
    EXPECT_EQ(classes(none), 0);
}

TEST(Strip, RemovesWhatPythonCallsWhitespace) {
  EXPECT_EQ(
      strip(
          " \t\n\v\f\r\x1C\x1D\x1E\x1F\u0085\u00A0\u1680\u2003\u2028\u2029\u202F\u205F\u3000x\u3000\u00A0 "),
      "x");
  EXPECT_EQ(strip("a b"), "a b");
  EXPECT_EQ(strip(" \n"), "");
  EXPECT_EQ(strip(""), "");
}

TEST(Strip, KeepsWhatOnlyLooksLikeWhitespace) {
  for (const std::string_view text :
       {"\u200Bx\u200B", "\uFEFFx\uFEFF", "\x85", "x\xA0", "x\x80\x80", "\u0105", "\U0001F600", "\x1B"}) {
    EXPECT_EQ(strip(text), text);
  }
}

}  // namespace
}  // namespace lirio
