// What the output parser yields: a stream of deltas, and the message they add up to. Called by the
// parser, the server and the commands. Values without threads of their own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lirio {

struct OutputEvent {
  enum class Kind {
    kReasoning,  ///< `text` goes on the reasoning
    kContent,    ///< `text` goes on the answer
    kCallStart,  ///< call number `call` begins; `text` is the tool's name, complete
    kArguments,  ///< `text` goes on the JSON text of the arguments of `call`
    kCallEnd,    ///< `call` is complete: its arguments are a JSON object. A call cut off never gets this
  };

  Kind kind;
  int call = -1;     ///< 0, 1, 2... in order; -1 for text
  std::string text;  ///< valid UTF-8, never half a character; not empty except for kCallEnd
};

/// The whole message, for replies that are not streamed.
struct OutputMessage {
  struct Call {
    std::string name;
    std::string arguments;  ///< JSON text; unfinished, perhaps empty, when not complete
    bool complete = false;
  };

  std::string reasoning;
  std::string content;
  std::vector<Call> calls;

  /// Takes the events of one parser in their order.
  void add(const OutputEvent& event) {
    switch (event.kind) {
      case OutputEvent::Kind::kReasoning:
        reasoning += event.text;
        break;
      case OutputEvent::Kind::kContent:
        content += event.text;
        break;
      case OutputEvent::Kind::kCallStart:
        calls.push_back({event.text, {}, false});
        break;
      case OutputEvent::Kind::kArguments:
        calls.back().arguments += event.text;
        break;
      case OutputEvent::Kind::kCallEnd:
        calls.back().complete = true;
        break;
    }
  }
};

/// Appends events to a list, joining neighbouring deltas of one kind.
class EventWriter {
 public:
  /// Joins nothing to the first `kept` events.
  EventWriter(std::vector<OutputEvent>& out, std::size_t kept) : out_(out), kept_(kept) {}

  void reasoning(std::string_view text) { delta(OutputEvent::Kind::kReasoning, -1, text); }
  void content(std::string_view text) { delta(OutputEvent::Kind::kContent, -1, text); }
  void arguments(int call, std::string_view text) { delta(OutputEvent::Kind::kArguments, call, text); }
  void call_start(int call, std::string_view name) {
    out_.push_back({OutputEvent::Kind::kCallStart, call, std::string(name)});
  }
  void call_end(int call) { out_.push_back({OutputEvent::Kind::kCallEnd, call, {}}); }
  /// Takes over events that were written elsewhere.
  void append(std::vector<OutputEvent>& events) {
    for (OutputEvent& event : events)
      out_.push_back(std::move(event));
    events.clear();
  }

 private:
  void delta(OutputEvent::Kind kind, int call, std::string_view text) {
    if (text.empty()) return;
    if (out_.size() > kept_ && out_.back().kind == kind && out_.back().call == call) {
      out_.back().text += text;
    } else {
      out_.push_back({kind, call, std::string(text)});
    }
  }

  std::vector<OutputEvent>& out_;
  std::size_t kept_;
};

}  // namespace lirio
