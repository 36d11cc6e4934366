#include "text/tool_call_grammar.h"

#include <algorithm>

#include "text/text_gate.h"

namespace lirio {
namespace {

using Kind = Tag::Kind;
using Meaning = TagInValue::Meaning;

constexpr std::size_t kMaxNameBytes = 128;
constexpr std::size_t kMaxCloserTailBytes = 8;
// What decides about a tag must follow within this distance, so that little is ever held back.
constexpr std::size_t kMaxLookBytes = 512;

enum class Shape : uint8_t { kFixed, kNamed, kCloser };

struct Word {
  std::string_view text;
  Kind kind;
  Shape shape;
};

constexpr Word kWords[] = {
    {"<think>", Kind::kThinkOpen, Shape::kFixed},
    {"</think>", Kind::kThinkClose, Shape::kFixed},
    {"<tool_call>", Kind::kCallOpen, Shape::kFixed},
    {"</tool_call", Kind::kCallClose, Shape::kCloser},
    {"<function=", Kind::kFunctionOpen, Shape::kNamed},
    {"</function", Kind::kFunctionClose, Shape::kCloser},
    {"<parameter=", Kind::kParameterOpen, Shape::kNamed},
    {"</parameter", Kind::kParameterClose, Shape::kCloser},
};

Tag unfinished(InputEnd end) {
  return {end == InputEnd::kOpen ? Kind::kUnsure : Kind::kBroken, 0, {}, true};
}

Tag read_name(const Word& word, std::string_view text, InputEnd end) {
  const std::string_view rest = text.substr(word.text.size());
  const std::size_t length = rest.substr(0, kMaxNameBytes + 1).find_first_of("<>\n");
  if (length == std::string_view::npos) return rest.size() > kMaxNameBytes ? Tag{} : unfinished(end);
  if (rest[length] != '>' || length == 0) return {};
  return {word.kind, word.text.size() + length + 1, rest.substr(0, length), true};
}

Tag read_closer_tail(const Word& word, std::string_view text, InputEnd end) {
  const std::string_view rest = text.substr(word.text.size());
  const std::size_t length = rest.substr(0, kMaxCloserTailBytes + 1).find_first_not_of("/0123456789 \t");
  if (length == std::string_view::npos) return rest.size() > kMaxCloserTailBytes ? Tag{} : unfinished(end);
  if (rest[length] != '>') return {};
  return {word.kind, word.text.size() + length + 1, {}, length == 0};
}

std::size_t skip_layout_space(std::string_view text, std::size_t at) {
  while (at < text.size() && at < kMaxLookBytes && is_layout_space(text[at]))
    ++at;
  return at;
}

/// Compares what follows at `at`, after spaces, with `word`; moves `at` behind it.
enum class Match : uint8_t { kNo, kYes, kUnsure };
Match match_word(std::string_view text, std::size_t& at, std::string_view word) {
  at = skip_layout_space(text, at);
  const std::string_view found = text.substr(at, word.size());
  if (!word.starts_with(found)) return Match::kNo;
  at += found.size();
  return found.size() == word.size() ? Match::kYes : Match::kUnsure;
}

/// {"name": "NAME", with `text` starting at the {.
CallOpening read_json_opening(std::string_view text, InputEnd end, const ToolSet& tools) {
  const CallOpening unsure = {end == InputEnd::kOpen ? CallOpening::Kind::kUnsure : CallOpening::Kind::kNone};
  std::size_t at = 0;
  for (const std::string_view word : {"{", "\"name\"", ":", "\""}) {
    const Match match = match_word(text, at, word);
    if (match == Match::kNo) return {};
    if (match == Match::kUnsure) return unsure;
  }
  const std::string_view rest = text.substr(at, kMaxNameBytes + 1);
  const std::size_t length = rest.find('"');
  if (length == std::string_view::npos) return rest.size() > kMaxNameBytes ? CallOpening{} : unsure;
  const ToolSchema* tool = tools.find(rest.substr(0, length));
  if (tool == nullptr) return {};
  return {CallOpening::Kind::kJson, tool, 0};
}

/// Closers one after another, and what follows them.
struct ClosingRun {
  enum class Next : uint8_t {
    kText,
    kUnsure,
    kEnd,        ///< the end of the output, perhaps within a tag
    kLineEnd,    ///< the end of the line of a </tool_call>
    kParameter,  ///< a parameter, directly after a </parameter>: one that the call may begin, or on a new
                 ///< line
    kCall,       ///< a call of a declared tool
  };

  Next next = Next::kText;
  int parameter_closers = 0;  // before any other closer
  int function_closers = 0;
  bool closes_parameter_later = false;  // after another closer: then what comes before is the value's own
  bool doubled_on_new_line = false;     // the second </parameter> begins a line
};

/// `text` starts with a closer. The run goes on beyond the line of a </tool_call> only if `across_lines`.
ClosingRun read_closing_run(std::string_view text, InputEnd end, const CallInProgress& call,
                            bool across_lines) {
  using Next = ClosingRun::Next;
  ClosingRun run;
  Kind last = Kind::kNone;
  std::size_t at = 0;
  while (at < kMaxLookBytes) {
    if (at == text.size()) {
      run.next = end == InputEnd::kOpen ? Next::kUnsure : Next::kEnd;
      return run;
    }
    if (is_layout_space(text[at])) {
      if (text[at] == '\n' && last == Kind::kCallClose && !across_lines) {
        run.next = Next::kLineEnd;
        return run;
      }
      ++at;
      continue;
    }
    const Tag tag = read_tag(text.substr(at), end);
    const bool line_start = at > 0 && text[at - 1] == '\n';
    switch (tag.kind) {
      case Kind::kUnsure:
        run.next = Next::kUnsure;
        return run;
      case Kind::kBroken:
        run.next = Next::kEnd;
        return run;
      case Kind::kParameterOpen:
        if (last == Kind::kParameterClose && (line_start || call.may_begin(tag.name)))
          run.next = Next::kParameter;
        return run;
      case Kind::kCallOpen:
      case Kind::kFunctionOpen: {
        const CallOpening opening = read_call_opening(text.substr(at), end, *call.tools);
        run.next = opening.kind == CallOpening::Kind::kNone     ? Next::kText
                   : opening.kind == CallOpening::Kind::kUnsure ? Next::kUnsure
                                                                : Next::kCall;
        return run;
      }
      case Kind::kCallClose:
      case Kind::kFunctionClose:
      case Kind::kParameterClose:
        if (tag.kind == Kind::kFunctionClose) ++run.function_closers;
        if (tag.kind == Kind::kParameterClose) {
          const bool first_of_all = last == Kind::kNone || last == Kind::kParameterClose;
          run.parameter_closers += first_of_all ? 1 : 0;
          run.closes_parameter_later |= !first_of_all;
          run.doubled_on_new_line |= run.parameter_closers == 2 && line_start;
        }
        last = tag.kind;
        at += tag.length;
        break;
      default:
        return run;
    }
  }
  return run;
}

/// A closer while the value has an open function of its own. It belongs to that, unless the output ends with
/// fewer closers than are needed for both: then the value only mentioned a function.
Meaning read_nested_closer(const Tag& tag, std::string_view text, InputEnd end, const Nesting& nesting,
                           const CallInProgress& call) {
  if (tag.kind == Kind::kCallClose) return Meaning::kText;
  const ClosingRun run = read_closing_run(text, end, call, true);
  if (run.next == ClosingRun::Next::kUnsure) return Meaning::kUnsure;
  const bool ends_turn = run.next == ClosingRun::Next::kEnd && end == InputEnd::kEndOfTurn;
  return ends_turn && run.function_closers > 0 && run.function_closers <= nesting.functions
             ? Meaning::kEndsValue
             : Meaning::kText;
}

/// </parameter> outside of the value's own functions.
Meaning read_parameter_closer(std::string_view text, InputEnd end, const ValuePlace& place,
                              const CallInProgress& call) {
  using Next = ClosingRun::Next;
  const ClosingRun run = read_closing_run(text, end, call, false);
  if (run.next == Next::kUnsure) return Meaning::kUnsure;
  if (run.next == Next::kText || run.closes_parameter_later) return Meaning::kText;
  // Behind text on its line, with the real closer on the next: the last words of the value.
  if (run.doubled_on_new_line && !place.line_blank) return Meaning::kText;
  // After a cut only the form that the model was trained on is taken for an end: never make a whole call of
  // half.
  if (run.next == Next::kEnd && end == InputEnd::kCut && !place.line_start) return Meaning::kText;
  if (place.nesting.parameters == 0) return Meaning::kEndsValue;
  const bool closes_own = run.next == Next::kParameter || run.parameter_closers > place.nesting.parameters;
  return closes_own ? Meaning::kText : Meaning::kEndsValue;
}

/// </function> in a value, whose own closer would then be missing.
Meaning read_function_closer(std::string_view text, InputEnd end, const ValuePlace& place,
                             const CallInProgress& call) {
  using Next = ClosingRun::Next;
  const ClosingRun run = read_closing_run(text, end, call, false);
  if (run.next == Next::kUnsure) return Meaning::kUnsure;
  if (run.next == Next::kText || run.next == Next::kParameter || run.closes_parameter_later)
    return Meaning::kText;
  if (run.next == Next::kEnd && end == InputEnd::kCut && !place.line_start) return Meaning::kText;
  return Meaning::kEndsValue;
}

/// </tool_call> in a value, with two closers missing.
Meaning read_call_closer(std::string_view text, InputEnd end, const ValuePlace& place,
                         const CallInProgress& call) {
  using Next = ClosingRun::Next;
  if (!place.line_blank) return Meaning::kText;
  const ClosingRun run = read_closing_run(text, end, call, true);
  if (run.next == Next::kUnsure) return Meaning::kUnsure;
  const bool ends_turn = run.next == Next::kEnd && end == InputEnd::kEndOfTurn;
  return ends_turn || run.next == Next::kCall ? Meaning::kEndsValue : Meaning::kText;
}

Meaning read_closer(const Tag& tag, std::string_view text, InputEnd end, const ValuePlace& place,
                    const CallInProgress& call) {
  const Nesting& nesting = place.nesting;
  if (nesting.functions > 0) return read_nested_closer(tag, text, end, nesting, call);
  switch (tag.kind) {
    case Kind::kParameterClose:
      return read_parameter_closer(text, end, place, call);
    case Kind::kFunctionClose:
      return read_function_closer(text, end, place, call);
    default:
      return nesting.calls > 0 ? Meaning::kText : read_call_closer(text, end, place, call);
  }
}

/// The value's own tags after `tag`, which is text.
Nesting nesting_after(const Tag& tag, const ValuePlace& place) {
  Nesting nesting = place.nesting;
  const auto close = [](int& open) { open = std::max(0, open - 1); };
  switch (tag.kind) {
    case Kind::kCallOpen:
      nesting.calls += place.line_blank ? 1 : 0;
      break;
    case Kind::kFunctionOpen:
      nesting.functions += place.line_blank ? 1 : 0;
      break;
    case Kind::kParameterOpen:
      nesting.parameters += place.line_blank && nesting.functions == 0 ? 1 : 0;
      break;
    case Kind::kCallClose:
      close(nesting.calls);
      break;
    case Kind::kFunctionClose:
      close(nesting.functions);
      break;
    case Kind::kParameterClose:
      if (nesting.functions == 0) close(nesting.parameters);
      break;
    default:
      break;
  }
  return nesting;
}

}  // namespace

Tag read_tag(std::string_view text, InputEnd end) {
  bool may_begin = false;
  for (const Word& word : kWords) {
    if (text.size() < word.text.size()) {
      may_begin |= word.text.starts_with(text);
      continue;
    }
    if (!text.starts_with(word.text)) continue;
    switch (word.shape) {
      case Shape::kFixed:
        return {word.kind, word.text.size(), {}, true};
      case Shape::kNamed:
        return read_name(word, text, end);
      case Shape::kCloser:
        return read_closer_tail(word, text, end);
    }
  }
  return may_begin ? unfinished(end) : Tag{};
}

CallOpening read_call_opening(std::string_view text, InputEnd end, const ToolSet& tools) {
  using Opening = CallOpening::Kind;
  const CallOpening unsure = {end == InputEnd::kOpen ? Opening::kUnsure : Opening::kNone};
  bool wrapped = false;
  std::size_t at = 0;
  Tag tag = read_tag(text, end);
  while (tag.kind == Kind::kCallOpen) {
    wrapped = true;
    at = skip_layout_space(text, at + tag.length);
    if (at == text.size()) return unsure;
    if (at >= kMaxLookBytes) return {};
    if (text[at] == '{') {
      CallOpening opening = read_json_opening(text.substr(at), end, tools);
      opening.length = at;
      return opening;
    }
    tag = read_tag(text.substr(at), end);
  }
  if (tag.kind == Kind::kUnsure) return unsure;
  if (tag.kind != Kind::kFunctionOpen) return {};
  const ToolSchema* tool = tools.find(tag.name);
  if (tool == nullptr) return {};
  const CallOpening opening = {Opening::kXml, tool, at + tag.length};
  at = skip_layout_space(text, opening.length);
  if (at == text.size()) return end == InputEnd::kOpen ? unsure : wrapped ? opening : CallOpening{};
  const Tag next = read_tag(text.substr(at), end);
  if (next.kind == Kind::kUnsure) return unsure;
  const bool fits = next.kind == Kind::kParameterOpen || next.kind == Kind::kFunctionClose ||
                    next.kind == Kind::kCallClose || (next.kind == Kind::kBroken && wrapped);
  return fits ? opening : CallOpening{};
}

TagInValue read_tag_in_value(std::string_view text, InputEnd end, const ValuePlace& place,
                             const CallInProgress& call) {
  TagInValue result;
  result.nesting = place.nesting;
  result.tag = read_tag(text, end);
  const Tag& tag = result.tag;
  if (tag.kind == Kind::kUnsure) {
    result.meaning = Meaning::kUnsure;
  } else if (tag.is_closer()) {
    result.meaning = read_closer(tag, text, end, place, call);
  } else if (tag.kind == Kind::kParameterOpen && place.line_start && place.nesting.functions == 0 &&
             call.may_begin(tag.name)) {
    result.meaning = Meaning::kEndsValue;
  }
  if (result.meaning == Meaning::kText) result.nesting = nesting_after(tag, place);
  if (result.meaning == Meaning::kEndsValue && tag.kind == Kind::kParameterClose)
    result.closer_length = tag.length;
  return result;
}

}  // namespace lirio
