// From what the model writes to what a client gets: reasoning, answer and tool calls, as events while
// the text arrives. Called by the server and the commands, with one parser per choice; not thread-safe.
// Never fails.
//
//   OutputParser parser({.thinking = ThinkingStart::kOpen, .tools = &tools});
//   for each token:  parser.push(tokenizer.token_bytes(id), events);  if (parser.stopped()) stop generating
//   at the end:      summary = parser.finish(OutputEnd::kTurn, events);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/output_events.h"
#include "text/text_gate.h"
#include "text/tool_call_grammar.h"
#include "text/tool_call_reader.h"
#include "text/tool_schema.h"

namespace lirio {

/// How the prompt leaves thinking.
enum class ThinkingStart : uint8_t {
  kNone,     ///< over, or switched off: all is answer
  kMayOpen,  ///< not begun: a <think> in front opens it
  kOpen,     ///< the prompt ends inside an open <think>
};

struct OutputParserOptions {
  ThinkingStart thinking = ThinkingStart::kNone;
  /// Only calls of these are calls. Null or empty (no tools, or tool_choice "none"): calls are text.
  /// Outlives the parser.
  const ToolSet* tools = nullptr;
  /// The output ends before the first of these in the answer. They don't act on calls.
  std::vector<std::string> stop_strings = {};
  /// They act on the reasoning too.
  bool stop_in_reasoning = false;
};

/// Why no more comes.
enum class OutputEnd : uint8_t {
  kTurn,  ///< the model ended its turn
  kCut,   ///< a token limit, or the client went away
};

struct OutputSummary {
  enum class Finish : uint8_t { kStop, kLength, kToolCalls };

  Finish finish = Finish::kStop;  ///< kToolCalls only with at least one complete call
  int complete_calls = 0;
  bool unfinished_call = false;  ///< the last call started and did not end
  bool in_reasoning = false;     ///< the output ended before thinking did
  bool stopped = false;          ///< by a stop string
};

/// What holds for every input:
///
/// Cuts don't matter. However the bytes are cut into pieces, the joined texts, the calls and the summary
/// are the same. Bytes are read as UTF-8, ill-formed ones as U+FFFD (base/utf8.h); no event ends inside
/// a character.
///
/// Text is never lost. Every byte is delivered, in order, as reasoning, as answer, or as name or value
/// in a call, except: tags of calls with the space between them, and </think>; one newline on each side
/// of a value, and all space around a value that isn't text; whitespace around the reasoning, in front
/// of the answer after thinking, and around calls; a <think> in front of the reasoning; closing tags
/// that stand alone in front of the answer or after a call; think tags and </tool_call> with nothing but
/// space or a call behind them, and that space; the value of a parameter that the call has already (the
/// first counts); what a call in JSON says beside name and arguments; where the output ends inside a
/// call, its last tag or a value that isn't text.
///
/// What is no call is text, to the byte: unknown tools, malformed openings, tags in prose.
///
/// A complete call's arguments are one JSON object with each key once, and no proper prefix of them is
/// JSON. An unfinished call's arguments are such a prefix. A call that was cut is complete only if all its
/// required parameters are there and the last one was closed.
///
/// A call inside thinking ends the thinking if it is complete and exactly in the format, from
/// <tool_call> to </tool_call>, with no </think> in it. Its events come when that is clear; else it is
/// reasoning.
///
/// Work is linear in the input. Held back are whitespace, a few hundred bytes that may be a tag, what
/// may be a stop string, values that aren't text, and calls in JSON or inside thinking; nothing after
/// finish().
class OutputParser {
 public:
  explicit OutputParser(OutputParserOptions options);

  /// Reads the next piece, of any length, and appends the events that follow from it to `out`. A token
  /// that stands for an end (<|im_end|>) is not text: don't push it. Does nothing after stopped() or
  /// finish().
  void push(std::string_view bytes, std::vector<OutputEvent>& out);

  /// True once a stop string was found: generating on is of no use.
  bool stopped() const { return stopped_; }

  /// Ends the output: appends what was held back.
  OutputSummary finish(OutputEnd end, std::vector<OutputEvent>& out);

 private:
  enum class State : uint8_t {
    kReasoningStart,
    kReasoning,
    kReasoningCall,  ///< a call inside thinking, not yet proven
    kAnswerStart,
    kAnswer,
    kCall,
    kJsonCall,
    kAfterCall,
  };

  // Each reads on from at_; false when it needs more text.
  bool step(EventWriter& out);
  bool step_reasoning_start();
  bool step_reasoning(EventWriter& out);
  bool step_reasoning_call(EventWriter& out);
  bool step_answer_start(EventWriter& out);
  bool step_answer(EventWriter& out);
  bool step_call(EventWriter& out);
  bool step_json_call(EventWriter& out);
  bool step_after_call();

  void decode(std::string_view bytes);
  void run(EventWriter& out);
  std::string_view rest() const { return std::string_view(buffer_).substr(at_); }
  bool has_tools() const { return options_.tools != nullptr && !options_.tools->empty(); }
  Tag tag_here() const { return read_tag(rest(), end_); }

  void add_reasoning(std::string_view text, EventWriter& out);
  void add_answer(std::string_view text, EventWriter& out);
  bool answer_tag(const Tag& tag, EventWriter& out);
  void end_reasoning(EventWriter& out);
  void begin_call(const CallOpening& opening, EventWriter& out);
  bool begin_json_call(const CallOpening& opening);
  bool find_json_end();
  bool read_json_call(std::string_view text, EventWriter& out);
  void reject_json_call(EventWriter& out);
  void finish_state(EventWriter& out);

  OutputParserOptions options_;
  State state_;
  InputEnd end_ = InputEnd::kOpen;
  bool finished_ = false;
  bool stopped_ = false;
  std::string undecoded_;  // an unfinished character
  std::string buffer_;     // valid UTF-8; what comes before at_ is done with, except in kReasoningCall
  std::size_t at_ = 0;

  TextGate reasoning_;
  TextGate answer_;
  std::string leading_space_;         // in front of the answer, which may still be nothing
  bool keeps_leading_space_ = false;  // no thinking and no tag came before it
  bool line_blank_ = true;            // the answer's current line has only blanks so far
  bool has_literal_opener_ = false;   // a <tool_call> that is text: its closer is text too

  std::optional<ToolCallReader> call_;
  int calls_ = 0;  // begun
  int complete_calls_ = 0;
  std::size_t candidate_begin_ = 0;            // kReasoningCall: where it begins in buffer_
  std::vector<OutputEvent> candidate_events_;  // and what it yields if it is a call

  struct JsonScan {
    bool in_reasoning = false;
    std::size_t opener_length = 0;  ///< from at_ to the {
    std::size_t read = 0;           ///< from at_; the scan goes on here
    int depth = 0;
    bool in_string = false;
    bool escaped = false;
  } json_;
};

}  // namespace lirio
