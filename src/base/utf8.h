// UTF-8 decoding that never fails: an ill-formed sequence yields one invalid unit of its maximal valid
// prefix, as in the Unicode standard's table 3-7 (and the WHATWG decoder). Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lirio {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

struct Utf8Unit {
  char32_t code_point;  ///< kReplacementCharacter when not valid
  uint8_t length;       ///< bytes consumed, 1 to 4
  bool valid;
  bool truncated;  ///< not valid only because the text ends here
};

/// Decodes the unit at the start of `text`, which is not empty.
Utf8Unit decode_utf8(std::string_view text);

/// Appends `code_point` (a Unicode scalar value) as UTF-8.
void append_utf8(std::string& out, char32_t code_point);

/// `text` with every ill-formed sequence replaced by U+FFFD.
std::string to_valid_utf8(std::string_view text);

}  // namespace lirio
