// Finds stop strings in text that arrives in pieces. Called by the text gate. One matcher per stream,
// not thread-safe. Linear time: one Knuth-Morris-Pratt automaton per string.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lirio {

class StopMatcher {
 public:
  /// Where a stop string ended.
  struct Match {
    std::size_t end_bytes;     ///< of the text just pushed: how much of it was read
    std::size_t length_bytes;  ///< of the stop string; it may have begun in an earlier piece
  };

  StopMatcher() = default;
  /// Empty strings are ignored.
  explicit StopMatcher(std::span<const std::string> strings);

  /// Reads on. The match that ends first counts, so the result does not depend on how text is cut; of
  /// those that end together, the longest.
  std::optional<Match> push(std::string_view text);

  /// How many of the last bytes read may be the beginning of a stop string.
  std::size_t held_bytes() const;

  /// Forgets the text read so far.
  void reset();

 private:
  struct Automaton {
    std::string word;
    std::vector<std::size_t> fallback;  // [n]: the longest proper prefix of word[0, n) that also ends it
    std::size_t matched = 0;
  };

  std::vector<Automaton> automata_;
};

}  // namespace lirio
