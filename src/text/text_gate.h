// Holds back the end of running text that may turn out not to be text: whitespace before a tool call or
// before </think>, think tags after the answer, the beginning of a stop string. Called by the output
// parser, with one gate for the reasoning and one for the answer. Not thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "text/stop_strings.h"

namespace lirio {

/// Whitespace that the format puts around its tags.
inline constexpr std::string_view kLayoutSpace = " \t\r\n";

inline bool is_layout_space(char c) {
  return kLayoutSpace.find(c) != std::string_view::npos;
}

class TextGate {
 public:
  explicit TextGate(StopMatcher matcher = {}) : matcher_(std::move(matcher)) {}

  void append(std::string_view text);
  /// A piece that is text when other text follows, and nothing when the text ends with it.
  void append_droppable(std::string_view piece);

  /// After an interruption: whitespace that joins the text before it to text after it, and is nothing if
  /// none comes.
  void append_separator(std::string_view space) { tail_ += space; }

  /// Moves to `out` what is certain to be text.
  void release(std::string& out);

  /// Something else comes here (a call, the end of thinking): whitespace at the end waits for text that
  /// goes on afterwards, and is dropped if none does. Tags at the end are dropped.
  void interrupt(std::string& out);

  /// The text is over: nothing stays back.
  void finish(std::string& out);

  /// True once there was anything but whitespace.
  bool started() const { return started_; }
  /// True when whitespace from before an interruption waits.
  bool has_separator() const { return !tail_.empty(); }
  /// A stop string was found. The text ends before it, and later text is ignored.
  bool stopped() const { return stopped_; }

 private:
  void add(std::string_view text);

  StopMatcher matcher_;
  static constexpr std::size_t kNone = std::string::npos;

  std::string tail_;           // not yet moved out
  std::size_t run_begin_ = 0;  // in tail_: whitespace and droppable pieces begin here and go on to its end
  std::size_t droppable_at_ = kNone;  // in tail_: the run's first droppable piece
  bool run_is_separator_ = false;     // the run stood before an interruption
  bool started_ = false;
  bool stopped_ = false;
};

}  // namespace lirio
