// What the tokenizer and the chat renderer need of Unicode: character classes, NFC, and Python's idea of
// whitespace. The only user of utf8proc. Called by the pre-tokenizer, the tokenizer and the chat renderer.
// Thread-safe; scratch belongs to one caller at a time.
//
// The authority is the Rust pipeline of the model's publisher (Hugging Face tokenizers 0.23): its
// regex engine knows the categories of Unicode 16, its normaliser the tables of Unicode 9. unicode.cc lists
// the code points where utf8proc knows less or more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lirio {

/// Classes of a code point, as bits. A letter, mark or number is one of the three; whitespace is none of
/// them.
enum CharacterClass : uint8_t {
  kLetter = 1,      ///< \p{L}
  kMark = 2,        ///< \p{M}
  kNumber = 4,      ///< \p{N}
  kWhiteSpace = 8,  ///< \s: the property White_Space
  /// May change, move or combine with what stands before it under NFC. Every other code point starts a part
  /// of the text that normalises on its own.
  kUnsettled = 16,
};

/// The classes of all code points; one table for the process, made at first use (about 2 ms).
class CharacterTable {
 public:
  static const CharacterTable& instance();

  /// Bits of CharacterClass; `code_point` is at most U+10FFFF.
  uint8_t operator[](char32_t code_point) const {
    return code_point < kTableEnd ? classes_[code_point] : rare(code_point);
  }

 private:
  CharacterTable();
  static uint8_t rare(char32_t code_point);

  // Planes 0 to 3 as far as anything is assigned; above it there are only a few variation selectors.
  static constexpr char32_t kTableEnd = 0x34000;
  std::vector<uint8_t> classes_;
};

/// Buffers of to_nfc; they keep their capacity.
struct NfcScratch {
  std::string text;
  std::vector<uint64_t> ordering;
  std::vector<int32_t> code_points;
};

/// `text` in NFC. Returns `text` itself when it is valid and needs no look, else a view of `scratch.text`.
/// The reference pipeline never meets invalid UTF-8; here each ill-formed sequence becomes U+FFFD as in
/// base/utf8.h, so the result is always valid. Time is n log n in the longest run of combining marks, linear
/// otherwise.
std::string_view to_nfc(std::string_view text, NfcScratch& scratch);

/// `text` without leading and trailing whitespace, as Python's str.strip(): White_Space and U+001C to U+001F.
/// Invalid bytes are not whitespace.
std::string_view strip(std::string_view text);

}  // namespace lirio
