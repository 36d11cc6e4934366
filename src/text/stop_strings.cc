#include "text/stop_strings.h"

#include <algorithm>

#include "base/utf8.h"

namespace lirio {

StopMatcher::StopMatcher(std::span<const std::string> strings) {
  for (const std::string& string : strings) {
    if (string.empty()) continue;
    // The text is valid UTF-8; a stop string that isn't could otherwise hold back half a character.
    Automaton automaton{to_valid_utf8(string), {}, 0};
    const std::string& word = automaton.word;
    automaton.fallback.assign(word.size() + 1, 0);
    std::size_t length = 0;
    for (std::size_t i = 1; i < word.size(); ++i) {
      while (length > 0 && word[i] != word[length])
        length = automaton.fallback[length];
      if (word[i] == word[length]) ++length;
      automaton.fallback[i + 1] = length;
    }
    automata_.push_back(std::move(automaton));
  }
}

std::optional<StopMatcher::Match> StopMatcher::push(std::string_view text) {
  if (automata_.empty()) return std::nullopt;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::size_t longest = 0;
    for (Automaton& automaton : automata_) {
      std::size_t& matched = automaton.matched;
      while (matched > 0 && automaton.word[matched] != text[at])
        matched = automaton.fallback[matched];
      if (automaton.word[matched] == text[at]) ++matched;
      if (matched == automaton.word.size()) {
        longest = std::max(longest, matched);
        matched = automaton.fallback[matched];
      }
    }
    if (longest > 0) return Match{at + 1, longest};
  }
  return std::nullopt;
}

std::size_t StopMatcher::held_bytes() const {
  std::size_t held = 0;
  for (const Automaton& automaton : automata_)
    held = std::max(held, automaton.matched);
  return held;
}

void StopMatcher::reset() {
  for (Automaton& automaton : automata_)
    automaton.matched = 0;
}

}  // namespace lirio
