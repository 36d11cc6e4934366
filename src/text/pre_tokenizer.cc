#include "text/pre_tokenizer.h"

#include <cstddef>
#include <cstdint>

namespace lirio {
namespace {

constexpr uint8_t kWordClasses = kLetter | kMark;
constexpr uint8_t kNoSymbol = kLetter | kMark | kNumber | kWhiteSpace;
constexpr char32_t kLongS = 0x17F;  // equals s when case is ignored

struct Character {
  char32_t code_point;
  uint8_t classes;
  uint8_t length;  ///< bytes; 0 past the end
};

/// Decodes and classifies; the text is known to be valid.
class Reader {
 public:
  Reader(std::string_view text, const CharacterTable& table) : text_(text), table_(table) {}

  Character at(std::size_t position) const {
    if (position >= text_.size()) return {0, 0, 0};
    const auto byte = [&](std::size_t i) {
      return static_cast<char32_t>(static_cast<uint8_t>(text_[position + i]));
    };
    const char32_t lead = byte(0);
    if (lead < 0x80) return {lead, table_[lead], 1};
    if (lead < 0xE0) return classified((lead & 0x1F) << 6 | (byte(1) & 0x3F), 2);
    if (lead < 0xF0) return classified((lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3);
    return classified((lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F),
                      4);
  }

 private:
  Character classified(char32_t code_point, uint8_t length) const {
    return {code_point, table_[code_point], length};
  }

  std::string_view text_;
  const CharacterTable& table_;
};

bool is_line_end(char32_t code_point) {
  return code_point == '\r' || code_point == '\n';
}

/// The end of a contraction whose apostrophe ends at `position`, or 0.
std::size_t contraction_end(const Reader& reader, std::size_t position) {
  const Character first = reader.at(position);
  const auto lower = [](char32_t c) { return c < 0x80 ? c | 0x20 : c; };
  const std::size_t after_first = position + first.length;
  switch (lower(first.code_point)) {
    case 's':
    case kLongS:
    case 't':
    case 'm':
    case 'd':
      return after_first;
    default:
      break;
  }
  const char32_t second = lower(reader.at(after_first).code_point);
  switch (lower(first.code_point)) {
    case 'r':
    case 'v':
      return second == 'e' ? after_first + 1 : 0;
    case 'l':
      return second == 'l' ? after_first + 1 : 0;
    default:
      return 0;
  }
}

std::size_t word_end(const Reader& reader, std::size_t position) {
  for (Character c = reader.at(position); (c.classes & kWordClasses) != 0; c = reader.at(position)) {
    position += c.length;
  }
  return position;
}

/// The end of a run of symbols and of the line ends after it.
std::size_t symbols_end(const Reader& reader, std::size_t position) {
  Character c = reader.at(position);
  while (c.length != 0 && (c.classes & kNoSymbol) == 0) {
    position += c.length;
    c = reader.at(position);
  }
  while (is_line_end(c.code_point)) {
    position += c.length;
    c = reader.at(position);
  }
  return position;
}

/// The end of a piece of whitespace that starts the text.
std::size_t white_space_end(const Reader& reader) {
  std::size_t position = 0;
  std::size_t last_start = 0;
  std::size_t after_line_end = 0;
  Character c = reader.at(0);
  while ((c.classes & kWhiteSpace) != 0) {
    last_start = position;
    position += c.length;
    if (is_line_end(c.code_point)) after_line_end = position;
    c = reader.at(position);
  }
  if (after_line_end != 0) return after_line_end;
  // The last character before a word or symbol is left to join it, unless it is all there is.
  return c.length == 0 || last_start == 0 ? position : last_start;
}

std::size_t piece_end(const Reader& reader) {
  const Character first = reader.at(0);
  if ((first.classes & kWordClasses) != 0) return word_end(reader, first.length);
  if ((first.classes & kNumber) != 0) return first.length;
  if (first.code_point == '\'') {
    if (const std::size_t end = contraction_end(reader, first.length)) return end;
  }
  const Character second = reader.at(first.length);
  if (!is_line_end(first.code_point) && (second.classes & kWordClasses) != 0) {
    return word_end(reader, first.length + second.length);
  }
  if ((first.classes & kWhiteSpace) == 0) return symbols_end(reader, first.length);
  if (first.code_point == ' ' && second.length != 0 && (second.classes & kNoSymbol) == 0) {
    return symbols_end(reader, first.length + second.length);
  }
  return white_space_end(reader);
}

}  // namespace

std::string_view PieceScanner::next() {
  if (rest_.empty()) return rest_;
  const std::string_view piece = rest_.substr(0, piece_end(Reader(rest_, table_)));
  rest_.remove_prefix(piece.size());
  return piece;
}

}  // namespace lirio
