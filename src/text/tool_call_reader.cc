#include "text/tool_call_reader.h"

#include <algorithm>

#include "base/json.h"
#include "text/text_gate.h"

namespace lirio {
namespace {

using Kind = Tag::Kind;

bool may_become_null(std::string_view text) {
  if (text.size() > 4) return false;
  const std::string tail("null", text.size(), 4 - text.size());
  const std::string none_tail("none", text.size(), 4 - text.size());
  return spells_null(std::string(text) + tail) || spells_null(std::string(text) + none_tail);
}

}  // namespace

ToolCallReader::ToolCallReader(const ToolSet& tools, const ToolSchema& tool, int index, Mode mode)
    : call_{&tools, &tool, {}}, index_(index), mode_(mode) {}

ToolCallReader::Result ToolCallReader::read(std::string_view text, InputEnd end, EventWriter& out) {
  text_ = text;
  at_ = 0;
  end_ = end;
  bool goes_on = true;
  while (goes_on) {
    switch (state_) {
      case State::kBetweenParameters:
        goes_on = read_between(out);
        break;
      case State::kValueBegin:
        goes_on = read_value_begin();
        break;
      case State::kValue:
        goes_on = read_value(out);
        break;
      case State::kBeforeCallClose:
        goes_on = read_before_call_close(out);
        break;
      case State::kOver:
        goes_on = false;
    }
  }
  text_ = {};
  return {status_, at_};
}

bool ToolCallReader::over(Status status) {
  state_ = State::kOver;
  status_ = status;
  return false;
}

bool ToolCallReader::complete(EventWriter& out) {
  out.arguments(index_, any_argument_ ? "}" : "{}");
  out.call_end(index_);
  return over(Status::kComplete);
}

bool ToolCallReader::has_required() const {
  const auto& required = call_.tool->required();
  return !call_.keys.empty() && std::all_of(required.begin(), required.end(),
                                            [&](const auto& key) { return call_.keys.contains(key); });
}

/// Outside of a value. The parameters are complete, so only closers can be missing; but after a cut, further
/// parameters may be missing as well.
bool ToolCallReader::output_ended(EventWriter& out) {
  const std::string_view rest = text_.substr(at_);
  at_ = text_.size();
  if (mode_ == Mode::kStrict) return over(Status::kFailed);
  const bool in_parameter_tag = !rest.empty() && !rest.starts_with("</");
  const bool more_to_come = in_parameter_tag || (end_ == InputEnd::kCut && !has_required());
  return more_to_come ? over(Status::kUnfinished) : complete(out);
}

bool ToolCallReader::read_between(EventWriter& out) {
  while (at_ < text_.size() && is_layout_space(text_[at_]))
    ++at_;
  if (at_ == text_.size()) return end_ != InputEnd::kOpen && output_ended(out);
  const Tag tag = read_tag(text_.substr(at_), end_);
  const bool strict = mode_ == Mode::kStrict;
  switch (tag.kind) {
    case Kind::kUnsure:
      return false;
    case Kind::kBroken:
      return output_ended(out);
    case Kind::kParameterOpen:
      begin_value(tag.name, out);
      at_ += tag.length;
      return true;
    case Kind::kParameterClose:
      if (strict) return over(Status::kFailed);
      at_ += tag.length;
      return true;
    case Kind::kFunctionClose:
      if (strict && !tag.exact) return over(Status::kFailed);
      at_ += tag.length;
      if (!strict) return complete(out);
      state_ = State::kBeforeCallClose;
      return true;
    default:
      return strict ? over(Status::kFailed) : complete(out);
  }
}

bool ToolCallReader::read_before_call_close(EventWriter& out) {
  while (at_ < text_.size() && is_layout_space(text_[at_]))
    ++at_;
  if (at_ == text_.size()) return end_ != InputEnd::kOpen && output_ended(out);
  const Tag tag = read_tag(text_.substr(at_), end_);
  if (tag.kind == Kind::kUnsure) return false;
  if (tag.kind != Kind::kCallClose || !tag.exact) return over(Status::kFailed);
  at_ += tag.length;
  return complete(out);
}

void ToolCallReader::begin_value(std::string_view key, EventWriter& out) {
  state_ = State::kValueBegin;
  place_ = {};
  buffered_.clear();
  key_ = key;
  type_ = &call_.tool->type_of(key);
  if (!call_.keys.insert(key_).second) {
    value_mode_ = ValueMode::kDropped;
  } else if (!type_->is_text()) {
    value_mode_ = ValueMode::kBuffered;
  } else if (type_->nullable) {
    value_mode_ = ValueMode::kMaybeNull;
  } else {
    value_mode_ = ValueMode::kText;
    write_key(out);
    out.arguments(index_, "\"");
  }
}

bool ToolCallReader::read_value_begin() {
  if (at_ == text_.size() && end_ == InputEnd::kOpen) return false;
  if (at_ < text_.size() && text_[at_] == '\n') ++at_;
  state_ = State::kValue;
  return true;
}

bool ToolCallReader::read_value(EventWriter& out) {
  const std::size_t stop = std::min(text_.find_first_of("<\n", at_), text_.size());
  add_to_value(text_.substr(at_, stop - at_), out);
  at_ = stop;
  if (at_ == text_.size()) {
    if (end_ == InputEnd::kOpen) return false;
    end_text(out);
    return over(mode_ == Mode::kStrict ? Status::kFailed : Status::kUnfinished);
  }
  if (text_[at_] == '<') return read_tag_of_value(at_, out);
  // A newline is the value's unless its closer follows.
  if (at_ + 1 == text_.size() && end_ == InputEnd::kOpen) return false;
  if (at_ + 1 < text_.size() && text_[at_ + 1] == '<') return read_tag_of_value(at_ + 1, out);
  add_to_value("\n", out);
  ++at_;
  return true;
}

/// The tag at `tag_at`, which is at_ or, behind a newline, at_ + 1.
bool ToolCallReader::read_tag_of_value(std::size_t tag_at, EventWriter& out) {
  ValuePlace place = place_;
  if (tag_at > at_) place.line_start = place.line_blank = true;
  const TagInValue found = read_tag_in_value(text_.substr(tag_at), end_, place, call_);
  if (found.meaning == TagInValue::Meaning::kUnsure) return false;
  const bool strict = mode_ == Mode::kStrict;
  if (found.meaning == TagInValue::Meaning::kEndsValue) {
    if (strict && (found.closer_length == 0 || !found.tag.exact)) return over(Status::kFailed);
    end_value(out);
    at_ = tag_at + found.closer_length;
    state_ = State::kBetweenParameters;
    return true;
  }
  // Thinking that ends here was not ended by a call before.
  if (strict && found.tag.kind == Kind::kThinkClose) return over(Status::kFailed);
  const std::size_t text_end = tag_at + std::max<std::size_t>(found.tag.length, 1);
  add_to_value(text_.substr(at_, text_end - at_), out);
  place_.nesting = found.nesting;
  at_ = text_end;
  return true;
}

void ToolCallReader::add_to_value(std::string_view text, EventWriter& out) {
  if (text.empty()) return;
  const std::size_t newline = text.rfind('\n');
  const std::string_view line = newline == std::string_view::npos ? text : text.substr(newline + 1);
  const bool from_line_start = newline != std::string_view::npos;
  place_.line_start = from_line_start && line.empty();
  place_.line_blank =
      (from_line_start || place_.line_blank) && line.find_first_not_of(" \t") == std::string_view::npos;
  switch (value_mode_) {
    case ValueMode::kText:
      write_text(text, out);
      break;
    case ValueMode::kMaybeNull:
      buffered_ += text;
      if (!may_become_null(buffered_)) end_text(out);
      break;
    case ValueMode::kBuffered:
      buffered_ += text;
      break;
    case ValueMode::kDropped:
      break;
  }
}

/// A text that waited whether it is null goes out: it isn't, or there is no telling any more.
void ToolCallReader::end_text(EventWriter& out) {
  if (value_mode_ != ValueMode::kMaybeNull) return;
  value_mode_ = ValueMode::kText;
  write_key(out);
  out.arguments(index_, "\"");
  write_text(buffered_, out);
  buffered_.clear();
}

void ToolCallReader::end_value(EventWriter& out) {
  switch (value_mode_) {
    case ValueMode::kText:
      out.arguments(index_, "\"");
      break;
    case ValueMode::kMaybeNull:
    case ValueMode::kBuffered:
      write_key(out);
      out.arguments(index_, to_json_argument(buffered_, *type_));
      break;
    case ValueMode::kDropped:
      break;
  }
}

void ToolCallReader::write_key(EventWriter& out) {
  std::string text = any_argument_ ? "," : "{";
  any_argument_ = true;
  json::append_string(text, key_);
  text += ':';
  out.arguments(index_, text);
}

void ToolCallReader::write_text(std::string_view text, EventWriter& out) {
  std::string escaped;
  json::append_string(escaped, text);
  out.arguments(index_, std::string_view(escaped).substr(1, escaped.size() - 2));
}

}  // namespace lirio
