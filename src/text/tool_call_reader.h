// Reads one tool call as it arrives and yields its events: the arguments as JSON text whose pieces,
// joined, are complete only with the last one. Called by the output parser, which finds where a call
// begins. Not thread-safe.
//
// A value that is text goes out while it arrives, all but its last newline and what may be its closer.
// Other values go out when they are complete, since their type may turn out not to fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "text/output_events.h"
#include "text/tool_call_grammar.h"

namespace lirio {

class ToolCallReader {
 public:
  enum class Mode : uint8_t {
    kForgiving,  ///< missing, doubled and misspelt closers are put right
    kStrict,     ///< anything but a complete call, exactly in the format, fails
  };
  enum class Status : uint8_t {
    kMore,        ///< needs more text
    kComplete,    ///< the call has ended; what follows does not belong to it
    kUnfinished,  ///< the output ended within the call
    kFailed,      ///< kStrict only: no well-formed call
  };

  struct Result {
    Status status;
    std::size_t consumed_bytes;
  };

  ToolCallReader(const ToolSet& tools, const ToolSchema& tool, int index, Mode mode);

  /// Yields the start of the call.
  void begin(EventWriter& out) { out.call_start(index_, call_.tool->name()); }

  /// Reads `text`, which follows what was consumed so far. kMore comes only while `end` is kOpen.
  Result read(std::string_view text, InputEnd end, EventWriter& out);

 private:
  enum class State : uint8_t { kBetweenParameters, kValueBegin, kValue, kBeforeCallClose, kOver };
  enum class ValueMode : uint8_t {
    kText,       ///< goes out as it arrives
    kMaybeNull,  ///< text, unless it is null: waits until that is clear
    kBuffered,   ///< converted at its end
    kDropped,    ///< of a parameter that the call has already
  };

  // Each reads on from at_ in text_; false when it needs more text or the call is over.
  bool read_between(EventWriter& out);
  bool read_value_begin();
  bool read_value(EventWriter& out);
  bool read_tag_of_value(std::size_t tag_at, EventWriter& out);
  bool read_before_call_close(EventWriter& out);

  void begin_value(std::string_view key, EventWriter& out);
  void add_to_value(std::string_view text, EventWriter& out);
  void end_value(EventWriter& out);
  void end_text(EventWriter& out);

  bool over(Status status);
  bool complete(EventWriter& out);
  bool output_ended(EventWriter& out);
  bool has_required() const;
  void write_key(EventWriter& out);
  void write_text(std::string_view text, EventWriter& out);

  CallInProgress call_;
  int index_;
  Mode mode_;

  State state_ = State::kBetweenParameters;
  Status status_ = Status::kMore;
  std::string_view text_;  // during read()
  std::size_t at_ = 0;
  InputEnd end_ = InputEnd::kOpen;

  bool any_argument_ = false;
  std::string key_;
  const ArgumentType* type_ = nullptr;
  ValueMode value_mode_ = ValueMode::kText;
  std::string buffered_;
  ValuePlace place_;
};

}  // namespace lirio
