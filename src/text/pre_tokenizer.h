// The split rule in front of BPE: a hand-written scanner that cuts text into the pieces which the model's
// regular expression matches. Called by the tokenizer. A scanner belongs to one caller; linear time on any
// input. At each position the first of these that fits is the piece: a contraction ('s 't 're 've 'm 'll 'd,
// in any case); letters and marks with one other character before them; one number; other characters with a
// space before and line ends after them; whitespace to its last line end; whitespace but for the character
// that the next piece takes; whitespace.
#pragma once

#include <string_view>

#include "text/unicode.h"

namespace lirio {

/// The rule as tokenizer.json spells it; its leftmost alternative wins.
inline constexpr std::string_view kSplitRule =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";

class PieceScanner {
 public:
  /// `text` is valid UTF-8 and outlives the scanner.
  explicit PieceScanner(std::string_view text) : rest_(text), table_(CharacterTable::instance()) {}

  /// The next piece; empty at the end of the text.
  std::string_view next();

 private:
  std::string_view rest_;
  const CharacterTable& table_;
};

}  // namespace lirio
