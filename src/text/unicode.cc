#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/utf8.h"

namespace lirio {
namespace {

struct Assignment {
  char32_t first;
  char32_t last;
  uint8_t classes;
};

// Letters, marks and numbers that Unicode 15.1 and 16 added; utf8proc 2.8 has Unicode 15.
constexpr Assignment kAssignedAfter15[] = {
    {0x0897, 0x0897, kMark},     {0x1C89, 0x1C8A, kLetter},   {0xA7CB, 0xA7CD, kLetter},
    {0xA7DA, 0xA7DC, kLetter},   {0x105C0, 0x105F3, kLetter}, {0x10D40, 0x10D49, kNumber},
    {0x10D4A, 0x10D65, kLetter}, {0x10D69, 0x10D6D, kMark},   {0x10D6F, 0x10D85, kLetter},
    {0x10EC2, 0x10EC4, kLetter}, {0x10EFC, 0x10EFC, kMark},   {0x11380, 0x11389, kLetter},
    {0x1138B, 0x1138B, kLetter}, {0x1138E, 0x1138E, kLetter}, {0x11390, 0x113B5, kLetter},
    {0x113B7, 0x113B7, kLetter}, {0x113B8, 0x113C0, kMark},   {0x113C2, 0x113C2, kMark},
    {0x113C5, 0x113C5, kMark},   {0x113C7, 0x113CA, kMark},   {0x113CC, 0x113D0, kMark},
    {0x113D1, 0x113D1, kLetter}, {0x113D2, 0x113D2, kMark},   {0x113D3, 0x113D3, kLetter},
    {0x113E1, 0x113E2, kMark},   {0x116D0, 0x116E3, kNumber}, {0x11BC0, 0x11BE0, kLetter},
    {0x11BF0, 0x11BF9, kNumber}, {0x11F5A, 0x11F5A, kLetter}, {0x13460, 0x143FA, kLetter},
    {0x16100, 0x1611D, kLetter}, {0x1611E, 0x1612F, kMark},   {0x16130, 0x16139, kNumber},
    {0x16D40, 0x16D6C, kLetter}, {0x16D70, 0x16D79, kNumber}, {0x18CFF, 0x18CFF, kLetter},
    {0x1CCF0, 0x1CCF9, kNumber}, {0x1E5D0, 0x1E5ED, kLetter}, {0x1E5EE, 0x1E5EF, kMark},
    {0x1E5F0, 0x1E5F0, kLetter}, {0x1E5F1, 0x1E5FA, kNumber}, {0x2EBF0, 0x2EE5D, kLetter},
};

struct Range {
  char32_t first;
  char32_t last;
};

// Added after Unicode 9 with a combining class, or as the second half of a composition (U+11930). To the
// reference pipeline they are starters that never move and never combine.
constexpr Range kCombiningAfter9[] = {
    {0x07FD, 0x07FD},   {0x0897, 0x089F},   {0x08CA, 0x08D3},   {0x09FE, 0x09FE},   {0x0C3C, 0x0C3C},
    {0x0D3B, 0x0D3C},   {0x0EBA, 0x0EBA},   {0x1715, 0x1715},   {0x1ABF, 0x1ACE},   {0x1DF6, 0x1DFA},
    {0xA82C, 0xA82C},   {0x10D24, 0x10D27}, {0x10D69, 0x10D6D}, {0x10EAB, 0x10EAC}, {0x10EFC, 0x10EFF},
    {0x10F46, 0x10F50}, {0x10F82, 0x10F85}, {0x11070, 0x11070}, {0x1133B, 0x1133B}, {0x1145E, 0x1145E},
    {0x11839, 0x1183A}, {0x11930, 0x11930}, {0x1193D, 0x1193E}, {0x11943, 0x11943}, {0x119E0, 0x119E0},
    {0x11A34, 0x11A34}, {0x11A47, 0x11A47}, {0x11A99, 0x11A99}, {0x11D42, 0x11D42}, {0x11D44, 0x11D45},
    {0x11D97, 0x11D97}, {0x11F41, 0x11F42}, {0x16FF0, 0x16FF1}, {0x1E08F, 0x1E08F}, {0x1E130, 0x1E136},
    {0x1E2AE, 0x1E2AE}, {0x1E2EC, 0x1E2EF}, {0x1E4EC, 0x1E4EF}, {0x1E5EE, 0x1E5EF},
};

// The property White_Space; utf8proc does not have it.
constexpr Range kWhiteSpaceRanges[] = {
    {0x0009, 0x000D}, {0x0020, 0x0020}, {0x0085, 0x0085}, {0x00A0, 0x00A0}, {0x1680, 0x1680},
    {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000},
};

// Below this every code point is settled: combining marks start here.
constexpr char32_t kFirstCombining = 0x300;
constexpr auto kCanonical = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);

uint8_t category_classes(char32_t code_point) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code_point))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return kLetter;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return kMark;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return kNumber;
    default:
      return 0;
  }
}

/// The full canonical decomposition of `code_point` into `out`; returns its length, 1 to 4.
int decompose(char32_t code_point, int32_t (&out)[4]) {
  int boundary_class = 0;
  const auto length =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code_point), out, 4, kCanonical, &boundary_class);
  CHECK(length >= 1 && length <= 4);
  return static_cast<int>(length);
}

int combining_class(int32_t code_point) {
  return utf8proc_get_property(code_point)->combining_class;
}

void mark_unsettled(std::vector<uint8_t>& classes) {
  const auto mark = [&](char32_t first, char32_t last) {
    for (char32_t c = first; c <= last; ++c)
      classes[c] |= kUnsettled;
  };
  for (char32_t c = kFirstCombining; c < classes.size(); ++c) {
    if (c >= 0xAC00 && c <= 0xDFFF) continue;  // Hangul syllables stay, surrogates are no characters
    if (combining_class(static_cast<int32_t>(c)) != 0) mark(c, c);
    int32_t parts[4];
    const int length = decompose(c, parts);
    if (length == 1 && parts[0] == static_cast<int32_t>(c)) continue;
    const int32_t last = parts[length - 1];
    const bool comes_back =
        utf8proc_normalize_utf32(parts, length, kCanonical) == 1 && parts[0] == static_cast<int32_t>(c);
    if (!comes_back) {
      mark(c, c);
    } else {
      mark(static_cast<char32_t>(last), static_cast<char32_t>(last));
    }
  }
  mark(0x1161, 0x1175);  // Hangul vowels and finals compose by arithmetic
  mark(0x11A8, 0x11C2);
  for (const Range& range : kCombiningAfter9) {
    for (char32_t c = range.first; c <= range.last; ++c)
      classes[c] &= static_cast<uint8_t>(~kUnsettled);
  }
}

/// Where the next part that NFC may change lies.
struct Unsettled {
  std::size_t start;  ///< the last code point before `position` that normalises with it, or `position`
  std::size_t position;
  uint8_t invalid_bytes;  ///< length of the ill-formed sequence at `position`, else 0
};

Unsettled find_unsettled(std::string_view text, std::size_t from, const CharacterTable& table) {
  std::size_t start = from;
  std::size_t at = from;
  while (at < text.size()) {
    if (static_cast<uint8_t>(text[at]) < 0x80) {
      uint64_t word;
      while (at + sizeof word <= text.size()) {
        std::memcpy(&word, text.data() + at, sizeof word);
        if ((word & 0x8080808080808080u) != 0) break;
        at += sizeof word;
      }
      while (at < text.size() && static_cast<uint8_t>(text[at]) < 0x80)
        ++at;
      start = at - 1;
      continue;
    }
    const Utf8Unit unit = decode_utf8(text.substr(at));
    if (!unit.valid) return {start, at, unit.length};
    if ((table[unit.code_point] & kUnsettled) != 0) return {start, at, 0};
    start = at;
    at += unit.length;
  }
  return {at, at, 0};
}

/// Appends the NFC of `part`, which is valid UTF-8 and independent of its surroundings.
void append_normalised(std::string_view part, const CharacterTable& table, NfcScratch& scratch) {
  // utf8proc's own ordering is quadratic in the run of marks, so marks are sorted here: class, then place in
  // the text.
  std::vector<uint64_t>& keys = scratch.ordering;
  keys.clear();
  std::size_t run = 0;  // where the current run of marks begins
  const auto sort_run = [&] {
    if (keys.size() - run > 1) std::sort(keys.begin() + static_cast<std::ptrdiff_t>(run), keys.end());
  };
  while (!part.empty()) {
    const Utf8Unit unit = decode_utf8(part);
    part.remove_prefix(unit.length);
    int32_t parts[4];
    const int length = decompose(unit.code_point, parts);
    for (int i = 0; i < length; ++i) {
      // By the table, since to the reference pipeline some marks are starters.
      const bool settled = (table[static_cast<char32_t>(parts[i])] & kUnsettled) == 0;
      const uint64_t order = settled ? 0 : static_cast<uint64_t>(combining_class(parts[i]));
      if (order == 0) sort_run();
      keys.push_back(order << 56 | static_cast<uint64_t>(keys.size()) << 21 |
                     static_cast<uint64_t>(parts[i]));
      if (order == 0) run = keys.size();
    }
  }
  sort_run();

  std::vector<int32_t>& code_points = scratch.code_points;
  code_points.clear();
  for (const uint64_t key : keys)
    code_points.push_back(static_cast<int32_t>(key & 0x1FFFFF));
  const auto composed = utf8proc_normalize_utf32(
      code_points.data(), static_cast<utf8proc_ssize_t>(code_points.size()), kCanonical);
  for (utf8proc_ssize_t i = 0; i < composed; ++i) {
    append_utf8(scratch.text, static_cast<char32_t>(code_points[static_cast<std::size_t>(i)]));
  }
}

bool is_strip_space(char32_t code_point) {
  return (code_point >= 0x1C && code_point <= 0x1F) ||
         (CharacterTable::instance()[code_point] & kWhiteSpace) != 0;
}

}  // namespace

CharacterTable::CharacterTable() : classes_(kTableEnd) {
  for (char32_t c = 0; c < kTableEnd; ++c)
    classes_[c] = category_classes(c);
  for (const Assignment& added : kAssignedAfter15) {
    for (char32_t c = added.first; c <= added.last; ++c)
      classes_[c] = added.classes;
  }
  for (const Range& range : kWhiteSpaceRanges) {
    for (char32_t c = range.first; c <= range.last; ++c)
      classes_[c] = kWhiteSpace;
  }
  mark_unsettled(classes_);
}

const CharacterTable& CharacterTable::instance() {
  static const CharacterTable table;
  return table;
}

uint8_t CharacterTable::rare(char32_t code_point) {
  return category_classes(code_point);
}

std::string_view to_nfc(std::string_view text, NfcScratch& scratch) {
  const CharacterTable& table = CharacterTable::instance();
  Unsettled next = find_unsettled(text, 0, table);
  if (next.position == text.size()) return text;

  scratch.text.clear();
  std::size_t copied = 0;
  while (next.position < text.size()) {
    std::size_t end;
    if (next.invalid_bytes != 0) {
      scratch.text += text.substr(copied, next.position - copied);
      append_utf8(scratch.text, kReplacementCharacter);
      end = next.position + next.invalid_bytes;
    } else {
      scratch.text += text.substr(copied, next.start - copied);
      end = next.position;
      while (end < text.size()) {
        const Utf8Unit unit = decode_utf8(text.substr(end));
        if (!unit.valid || (table[unit.code_point] & kUnsettled) == 0) break;
        end += unit.length;
      }
      append_normalised(text.substr(next.start, end - next.start), table, scratch);
    }
    copied = end;
    next = find_unsettled(text, end, table);
  }
  scratch.text += text.substr(copied);
  return scratch.text;
}

std::string_view strip(std::string_view text) {
  while (!text.empty()) {
    const Utf8Unit unit = decode_utf8(text);
    if (!unit.valid || !is_strip_space(unit.code_point)) break;
    text.remove_prefix(unit.length);
  }
  while (!text.empty()) {
    // All of these characters have at most three bytes.
    std::size_t start = text.size() - 1;
    while (start > 0 && text.size() - start < 3 && (static_cast<uint8_t>(text[start]) & 0xC0) == 0x80)
      --start;
    const Utf8Unit unit = decode_utf8(text.substr(start));
    if (!unit.valid || unit.length != text.size() - start || !is_strip_space(unit.code_point)) break;
    text.remove_suffix(unit.length);
  }
  return text;
}

}  // namespace lirio
