#include "text/output_parser.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "text/loose_json.h"

namespace lirio {
namespace {

using Kind = Tag::Kind;

constexpr std::string_view kThinkClose = "</think>";
// Between a call in JSON and its closer.
constexpr std::size_t kMaxSpaceBytes = 256;

/// The arguments of a call in JSON, as one object with every key once; nothing when they are no object.
std::optional<std::string> to_json_arguments(const LooseValue& value) {
  const bool encoded = value.kind == LooseValue::Kind::kString;
  if (value.kind == LooseValue::Kind::kNull) return "{}";
  const auto members = read_loose_object(encoded ? value.text : value.json);
  if (!members) return std::nullopt;
  std::set<std::string_view> seen;
  std::string out = "{";
  for (const LooseMember& member : *members) {
    if (!seen.insert(member.key).second) continue;
    if (out.size() > 1) out += ',';
    json::append_string(out, member.key);
    out += ':';
    out += member.value.json;
  }
  return out + "}";
}

}  // namespace

OutputParser::OutputParser(OutputParserOptions options)
    : options_(std::move(options)),
      state_(options_.thinking == ThinkingStart::kOpen ? State::kReasoningStart : State::kAnswerStart),
      reasoning_(options_.stop_in_reasoning ? StopMatcher(options_.stop_strings) : StopMatcher()),
      answer_(StopMatcher(options_.stop_strings)),
      keeps_leading_space_(options_.thinking != ThinkingStart::kOpen) {}

void OutputParser::push(std::string_view bytes, std::vector<OutputEvent>& out) {
  if (finished_ || stopped_) return;
  EventWriter writer(out, out.size());
  decode(bytes);
  run(writer);
}

OutputSummary OutputParser::finish(OutputEnd end, std::vector<OutputEvent>& out) {
  EventWriter writer(out, out.size());
  if (!finished_ && !stopped_) {
    buffer_ += to_valid_utf8(undecoded_);
    undecoded_.clear();
    end_ = end == OutputEnd::kTurn ? InputEnd::kEndOfTurn : InputEnd::kCut;
    run(writer);
    if (!stopped_) finish_state(writer);
  }
  finished_ = true;
  OutputSummary summary;
  summary.complete_calls = complete_calls_;
  summary.unfinished_call = calls_ > complete_calls_;
  summary.in_reasoning = state_ == State::kReasoningStart || state_ == State::kReasoning;
  summary.stopped = stopped_;
  if (end == OutputEnd::kCut && !stopped_) {
    summary.finish = OutputSummary::Finish::kLength;
  } else if (complete_calls_ > 0) {
    summary.finish = OutputSummary::Finish::kToolCalls;
  }
  return summary;
}

void OutputParser::decode(std::string_view bytes) {
  if (!undecoded_.empty()) {
    undecoded_ += bytes;
    bytes = undecoded_;
  }
  std::string unfinished;
  while (!bytes.empty()) {
    const Utf8Unit unit = decode_utf8(bytes);
    if (unit.truncated) {
      unfinished = bytes;
      break;
    }
    append_utf8(buffer_, unit.code_point);
    bytes.remove_prefix(unit.length);
  }
  undecoded_ = std::move(unfinished);
}

void OutputParser::run(EventWriter& out) {
  while (!stopped_ && step(out)) {
  }
  if (stopped_) {
    buffer_.clear();
    at_ = 0;
    return;
  }
  const std::size_t done = state_ == State::kReasoningCall ? candidate_begin_ : at_;
  buffer_.erase(0, done);
  at_ -= done;
  candidate_begin_ = 0;
}

bool OutputParser::step(EventWriter& out) {
  if (at_ == buffer_.size() && end_ == InputEnd::kOpen) return false;
  switch (state_) {
    case State::kReasoningStart:
      return step_reasoning_start();
    case State::kReasoning:
      return step_reasoning(out);
    case State::kReasoningCall:
      return step_reasoning_call(out);
    case State::kAnswerStart:
      return step_answer_start(out);
    case State::kAnswer:
      return step_answer(out);
    case State::kCall:
      return step_call(out);
    case State::kJsonCall:
      return step_json_call(out);
    case State::kAfterCall:
      return step_after_call();
  }
  return false;
}

/// What the output ends in.
void OutputParser::finish_state(EventWriter& out) {
  if (state_ == State::kAnswerStart && keeps_leading_space_) add_answer(leading_space_, out);
  std::string text;
  reasoning_.finish(text);
  out.reasoning(text);
  text.clear();
  answer_.finish(text);
  out.content(text);
}

void OutputParser::add_reasoning(std::string_view text, EventWriter& out) {
  reasoning_.append(text);
  std::string certain;
  reasoning_.release(certain);
  out.reasoning(certain);
  stopped_ = reasoning_.stopped();
}

void OutputParser::add_answer(std::string_view text, EventWriter& out) {
  const std::size_t newline = text.rfind('\n');
  if (newline != std::string_view::npos) line_blank_ = true;
  const std::string_view line = newline == std::string_view::npos ? text : text.substr(newline + 1);
  line_blank_ = line_blank_ && line.find_first_not_of(" \t") == std::string_view::npos;
  answer_.append(text);
  std::string certain;
  answer_.release(certain);
  out.content(certain);
  stopped_ = answer_.stopped();
}

void OutputParser::end_reasoning(EventWriter& out) {
  std::string text;
  reasoning_.interrupt(text);
  out.reasoning(text);
  keeps_leading_space_ = false;
}

bool OutputParser::step_reasoning_start() {
  const std::string_view ahead = rest();
  if (ahead.empty()) return false;
  if (is_layout_space(ahead.front())) {
    ++at_;
    return true;
  }
  const Tag tag = tag_here();
  if (tag.kind == Kind::kUnsure) return false;
  if (tag.kind == Kind::kThinkOpen) {
    at_ += tag.length;
  } else {
    state_ = State::kReasoning;
  }
  return true;
}

bool OutputParser::step_reasoning(EventWriter& out) {
  const std::string_view ahead = rest();
  if (ahead.empty()) return false;
  const std::size_t plain = std::min(ahead.find('<'), ahead.size());
  if (plain > 0) {
    add_reasoning(ahead.substr(0, plain), out);
    at_ += plain;
    return true;
  }
  const Tag tag = tag_here();
  if (tag.kind == Kind::kUnsure) return false;
  if (tag.kind == Kind::kThinkClose) {
    end_reasoning(out);
    at_ += tag.length;
    state_ = State::kAnswerStart;
    return true;
  }
  if (tag.kind == Kind::kCallOpen && has_tools()) {
    const CallOpening opening = read_call_opening(ahead, end_, *options_.tools);
    if (opening.kind == CallOpening::Kind::kUnsure) return false;
    if (opening.kind == CallOpening::Kind::kJson) return begin_json_call(opening);
    if (opening.kind == CallOpening::Kind::kXml) {
      candidate_begin_ = at_;
      candidate_events_.clear();
      call_.emplace(*options_.tools, *opening.tool, calls_, ToolCallReader::Mode::kStrict);
      EventWriter candidate(candidate_events_, 0);
      call_->begin(candidate);
      at_ += opening.length;
      state_ = State::kReasoningCall;
      return true;
    }
  }
  const std::size_t length = std::max<std::size_t>(tag.length, 1);
  add_reasoning(ahead.substr(0, length), out);
  at_ += length;
  return true;
}

bool OutputParser::step_reasoning_call(EventWriter& out) {
  EventWriter candidate(candidate_events_, 0);
  const auto [status, consumed] = call_->read(rest(), end_, candidate);
  at_ += consumed;
  if (status == ToolCallReader::Status::kMore) return false;
  if (status == ToolCallReader::Status::kComplete) {
    end_reasoning(out);
    out.append(candidate_events_);
    ++calls_;
    ++complete_calls_;
    state_ = State::kAfterCall;
  } else {
    state_ = State::kReasoning;
    add_reasoning(std::string_view(buffer_).substr(candidate_begin_, at_ - candidate_begin_), out);
  }
  candidate_events_.clear();
  return true;
}

bool OutputParser::step_answer_start(EventWriter& out) {
  const std::string_view ahead = rest();
  if (ahead.empty()) return false;
  if (is_layout_space(ahead.front())) {
    leading_space_ += ahead.front();
    ++at_;
    return true;
  }
  const Tag tag = tag_here();
  if (tag.kind == Kind::kUnsure) return false;
  const bool lone_closer = tag.kind == Kind::kThinkClose || (tag.is_closer() && has_tools());
  const bool opens_thinking = tag.kind == Kind::kThinkOpen && options_.thinking != ThinkingStart::kNone;
  if (lone_closer || opens_thinking) {
    at_ += tag.length;
    leading_space_.clear();
    keeps_leading_space_ = false;
    if (opens_thinking) state_ = State::kReasoningStart;
    return true;
  }
  state_ = State::kAnswer;
  if (keeps_leading_space_) add_answer(leading_space_, out);
  leading_space_.clear();
  return true;
}

bool OutputParser::step_answer(EventWriter& out) {
  const std::string_view ahead = rest();
  if (ahead.empty()) return false;
  const std::size_t plain = std::min(ahead.find('<'), ahead.size());
  if (plain > 0) {
    add_answer(ahead.substr(0, plain), out);
    at_ += plain;
    return true;
  }
  const Tag tag = tag_here();
  return tag.kind != Kind::kUnsure && answer_tag(tag, out);
}

/// `tag`, perhaps none, at a '<' of the answer.
bool OutputParser::answer_tag(const Tag& tag, EventWriter& out) {
  const std::string_view ahead = rest();
  const bool may_open_call = tag.kind == Kind::kCallOpen || (tag.kind == Kind::kFunctionOpen && line_blank_);
  if (may_open_call && has_tools()) {
    const CallOpening opening = read_call_opening(ahead, end_, *options_.tools);
    if (opening.kind == CallOpening::Kind::kUnsure) return false;
    if (opening.kind == CallOpening::Kind::kJson) return begin_json_call(opening);
    if (opening.kind == CallOpening::Kind::kXml) {
      begin_call(opening, out);
      return true;
    }
    has_literal_opener_ = true;
  }
  const std::size_t length = std::max<std::size_t>(tag.length, 1);
  const std::string_view text = ahead.substr(0, length);
  const bool lone_closer = tag.kind == Kind::kCallClose && has_tools() && !has_literal_opener_;
  if (tag.kind == Kind::kThinkOpen || tag.kind == Kind::kThinkClose || lone_closer) {
    answer_.append_droppable(text);
    stopped_ = answer_.stopped();
    std::string certain;
    answer_.release(certain);
    out.content(certain);
  } else {
    if (tag.kind == Kind::kCallClose) has_literal_opener_ = false;
    add_answer(text, out);
  }
  at_ += length;
  return true;
}

void OutputParser::begin_call(const CallOpening& opening, EventWriter& out) {
  std::string text;
  answer_.interrupt(text);
  out.content(text);
  call_.emplace(*options_.tools, *opening.tool, calls_++, ToolCallReader::Mode::kForgiving);
  call_->begin(out);
  at_ += opening.length;
  state_ = State::kCall;
}

bool OutputParser::step_call(EventWriter& out) {
  const auto [status, consumed] = call_->read(rest(), end_, out);
  at_ += consumed;
  if (status == ToolCallReader::Status::kMore) return false;
  if (status == ToolCallReader::Status::kComplete) ++complete_calls_;
  state_ = State::kAfterCall;
  return true;
}

bool OutputParser::step_after_call() {
  const std::string_view ahead = rest();
  if (ahead.empty()) return false;
  if (is_layout_space(ahead.front())) {
    leading_space_ += ahead.front();
    ++at_;
    return true;
  }
  const Tag tag = tag_here();
  if (tag.kind == Kind::kUnsure) return false;
  if (tag.is_closer() || tag.kind == Kind::kThinkClose) {
    at_ += tag.length;
    leading_space_.clear();
    return true;
  }
  // One separator between the text before a call and the text after it; none where there is no text before.
  if (answer_.started() && !answer_.has_separator()) answer_.append_separator(leading_space_);
  leading_space_.clear();
  line_blank_ = true;
  has_literal_opener_ = false;
  state_ = State::kAnswer;
  return true;
}

bool OutputParser::begin_json_call(const CallOpening& opening) {
  json_ = {};
  json_.in_reasoning = state_ == State::kReasoning;
  json_.opener_length = opening.length;
  json_.read = opening.length;
  state_ = State::kJsonCall;
  return true;
}

/// Goes on to the end of the object; false when that is not here.
bool OutputParser::find_json_end() {
  const std::string_view ahead = rest();
  while (json_.read < ahead.size()) {
    const char c = ahead[json_.read++];
    if (json_.in_string) {
      if (json_.escaped) {
        json_.escaped = false;
      } else if (c == '\\') {
        json_.escaped = true;
      } else if (c == '"') {
        json_.in_string = false;
      }
    } else if (c == '"') {
      json_.in_string = true;
    } else if (c == '{' || c == '[') {
      ++json_.depth;
    } else if ((c == '}' || c == ']') && --json_.depth == 0) {
      return true;
    }
    if (c == '>' && json_.in_reasoning && ahead.substr(0, json_.read).ends_with(kThinkClose)) return true;
  }
  return false;
}

bool OutputParser::step_json_call(EventWriter& out) {
  const std::string_view ahead = rest();
  // Depth is 0 before the object and, for good, after it.
  const bool over = json_.read > json_.opener_length && json_.depth == 0;
  if (!over && !find_json_end()) {
    if (end_ == InputEnd::kOpen) return false;
    reject_json_call(out);
    return true;
  }
  const std::string_view object = ahead.substr(json_.opener_length, json_.read - json_.opener_length);
  if (json_.depth != 0) {
    json_.read -= kThinkClose.size();
    reject_json_call(out);
    return true;
  }
  std::size_t length = json_.read;
  if (json_.in_reasoning) {
    const std::size_t limit = std::min(ahead.size(), json_.read + kMaxSpaceBytes);
    while (length < limit && is_layout_space(ahead[length]))
      ++length;
    const Tag tag = read_tag(ahead.substr(length), end_);
    if (end_ == InputEnd::kOpen && (length == ahead.size() || tag.kind == Kind::kUnsure)) return false;
    if (tag.kind != Kind::kCallClose) {
      reject_json_call(out);
      return true;
    }
    length += tag.length;
  }
  if (!read_json_call(object, out)) {
    reject_json_call(out);
    return true;
  }
  at_ += length;
  state_ = State::kAfterCall;
  return true;
}

/// Yields the call that `text` is; false, with nothing yielded, when it is none.
bool OutputParser::read_json_call(std::string_view text, EventWriter& out) {
  const auto members = read_loose_object(text);
  if (!members || members->empty()) return false;
  const ToolSchema* tool = options_.tools->find(members->front().value.text);
  if (tool == nullptr) return false;
  std::optional<std::string> arguments;
  for (const LooseMember& member : *members) {
    if (arguments || (member.key != "arguments" && member.key != "parameters")) continue;
    arguments = to_json_arguments(member.value);
    if (!arguments) return false;
  }
  if (json_.in_reasoning) {
    end_reasoning(out);
  } else {
    std::string answer;
    answer_.interrupt(answer);
    out.content(answer);
  }
  out.call_start(calls_, tool->name());
  out.arguments(calls_, arguments.value_or("{}"));
  out.call_end(calls_);
  ++calls_;
  ++complete_calls_;
  return true;
}

/// What was read so far is text.
void OutputParser::reject_json_call(EventWriter& out) {
  const std::string text(rest().substr(0, json_.read));
  at_ += json_.read;
  if (json_.in_reasoning) {
    state_ = State::kReasoning;
    add_reasoning(text, out);
  } else {
    state_ = State::kAnswer;
    has_literal_opener_ = true;
    add_answer(text, out);
  }
}

}  // namespace lirio
