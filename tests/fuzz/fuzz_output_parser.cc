// Fuzzes the output parser. The first byte of the input chooses the options, the second how the rest, which
// is the model's output, is cut. Checked: any cut gives the same as the whole; events come in an order and
// form that clients can follow; arguments are JSON with every key once when complete, and not before; without
// tools, the texts are those that a few lines of plain string handling give; with tools, every byte that
// can't be part of a tag is delivered, in order.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "text/loose_json.h"
#include "text/output_parser.h"

namespace {

using namespace lirio;

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kThinkOpen = "<think>";
constexpr std::string_view kThinkClose = "</think>";

void require(bool condition) {
  if (!condition) std::abort();
}

struct Parsed {
  std::vector<OutputEvent> events;
  OutputMessage message;
  OutputSummary summary;
};

/// Parses in pieces whose lengths follow from `seed`; the whole at once for 0.
Parsed parse(const OutputParserOptions& options, OutputEnd end, std::string_view output, uint8_t seed) {
  OutputParser parser(options);
  Parsed parsed;
  uint32_t random = seed;
  while (seed != 0 && !output.empty()) {
    random = random * 1664525u + 1013904223u;
    const std::size_t length = seed == 1 ? 1 : std::min<std::size_t>(output.size(), random >> 28);
    parser.push(output.substr(0, length), parsed.events);
    output.remove_prefix(length);
  }
  parser.push(output, parsed.events);
  parsed.summary = parser.finish(end, parsed.events);
  for (const OutputEvent& event : parsed.events)
    parsed.message.add(event);
  return parsed;
}

bool same(const Parsed& a, const Parsed& b) {
  const auto same_call = [](const OutputMessage::Call& x, const OutputMessage::Call& y) {
    return x.name == y.name && x.arguments == y.arguments && x.complete == y.complete;
  };
  const std::vector<OutputMessage::Call>& calls = a.message.calls;
  return a.message.reasoning == b.message.reasoning && a.message.content == b.message.content &&
         std::equal(calls.begin(), calls.end(), b.message.calls.begin(), b.message.calls.end(), same_call) &&
         a.summary.finish == b.summary.finish && a.summary.complete_calls == b.summary.complete_calls &&
         a.summary.unfinished_call == b.summary.unfinished_call &&
         a.summary.in_reasoning == b.summary.in_reasoning && a.summary.stopped == b.summary.stopped;
}

void check_events(const Parsed& parsed) {
  int calls = 0;
  bool open = false;
  for (const OutputEvent& event : parsed.events) {
    using Kind = OutputEvent::Kind;
    require(to_valid_utf8(event.text) == event.text);
    require(event.text.empty() == (event.kind == Kind::kCallEnd));
    const bool of_call = event.kind == Kind::kArguments || event.kind == Kind::kCallEnd;
    require(open == of_call);
    if (event.kind == Kind::kReasoning) require(calls == 0);
    if (event.kind == Kind::kCallStart) require(event.call == calls++);
    if (of_call) require(event.call == calls - 1);
    open = event.kind == Kind::kCallStart || event.kind == Kind::kArguments;
  }
  require(open == parsed.summary.unfinished_call);
}

void check_arguments(const OutputMessage& message) {
  for (const OutputMessage::Call& call : message.calls) {
    const auto members = read_loose_object(call.arguments);
    require(members.has_value() == call.complete);
    if (!members) continue;
    require(read_loose_json(call.arguments)->json == call.arguments);
    std::set<std::string> keys;
    for (const LooseMember& member : *members)
      require(keys.insert(member.key).second);
  }
}

std::string_view trim_left(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kSpace), text.size()));
}

std::string_view trim_right(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

/// The answer without the tags, and the whitespace around them, that it ends with.
std::string without_trailing_tags(std::string_view text) {
  std::string_view rest = text;
  bool any = false;
  while (true) {
    rest = trim_right(rest);
    const std::string_view tag = rest.ends_with(kThinkOpen)    ? kThinkOpen
                                 : rest.ends_with(kThinkClose) ? kThinkClose
                                                               : "";
    if (tag.empty()) break;
    rest.remove_suffix(tag.size());
    any = true;
  }
  return std::string(any ? rest : text);
}

/// What the parser must give without tools and stop strings.
OutputMessage plain_parse(std::string_view text, ThinkingStart thinking) {
  OutputMessage message;
  std::string separator;
  bool reasoning = thinking == ThinkingStart::kOpen;
  bool keeps_space = !reasoning;
  while (true) {
    const std::string_view trimmed = trim_left(text);
    if (reasoning) {
      text = trimmed;
      if (text.starts_with(kThinkOpen)) {
        text.remove_prefix(kThinkOpen.size());
        continue;
      }
      const std::size_t close = text.find(kThinkClose);
      const std::string_view part = text.substr(0, close);
      if (!part.empty()) {
        const std::string_view kept = close == std::string_view::npos ? part : trim_right(part);
        message.reasoning += separator;
        message.reasoning += kept;
        separator = part.substr(kept.size());
      }
      if (close == std::string_view::npos) return message;
      text.remove_prefix(close + kThinkClose.size());
      reasoning = keeps_space = false;
    } else if (trimmed.starts_with(kThinkClose)) {
      text = trimmed.substr(kThinkClose.size());
      keeps_space = false;
    } else if (trimmed.starts_with(kThinkOpen) && thinking != ThinkingStart::kNone) {
      text = trimmed.substr(kThinkOpen.size());
      reasoning = true;
    } else {
      message.content = without_trailing_tags(keeps_space ? text : trimmed);
      return message;
    }
  }
}

/// `text` without the bytes that tags and the space around them consist of.
std::string without_tag_bytes(std::string_view text) {
  static constexpr std::string_view kTagBytes = " \t\r\n<>/_=0123456789acefhiklmnoprtu";
  std::string out;
  for (const char c : text) {
    if (kTagBytes.find(c) == std::string_view::npos) out += c;
  }
  return out;
}

/// All that the strings in `json`, which may be cut off, say, one after another.
std::string strings_of(std::string_view json) {
  std::string out;
  std::size_t at = 0;
  while ((at = json.find('"', at)) != std::string_view::npos) {
    std::size_t end = at + 1;
    while (end < json.size() && json[end] != '"')
      end += json[end] == '\\' ? 2 : 1;
    // The parser never cuts an escape, so a closing quote makes it whole.
    std::string string(json.substr(at, end - at));
    const auto value = read_loose_json(string + '"');
    require(value.has_value());
    out += value->text;
    at = end + 1;
  }
  return out;
}

/// For tools whose parameters are all text.
void check_nothing_is_lost(const Parsed& parsed, const std::string& text) {
  std::string delivered;
  std::size_t call = 0;
  for (const OutputEvent& event : parsed.events) {
    if (event.kind == OutputEvent::Kind::kArguments || event.kind == OutputEvent::Kind::kCallEnd) continue;
    delivered += event.text;
    if (event.kind == OutputEvent::Kind::kCallStart)
      delivered += strings_of(parsed.message.calls[call++].arguments);
  }
  const std::string expected = without_tag_bytes(text);
  const std::string found = without_tag_bytes(delivered);
  // Some is dropped on purpose: a repeated parameter, a tag that the end cuts, what a call in JSON says
  // besides.
  std::set<std::string> names;
  bool may_drop = text.find("\"name\"") != std::string::npos || text.rfind('>') + 1 < text.rfind('<') + 1;
  for (std::size_t at = 0; (at = text.find("<parameter=", at)) != std::string::npos; ++at)
    may_drop |= !names.insert(text.substr(at, text.find('>', at) - at)).second;
  if (!may_drop) {
    require(found == expected);
  } else if (text.find("\"name\"") == std::string::npos) {
    std::size_t at = 0;
    for (const char c : expected)
      at += at < found.size() && found[at] == c ? 1 : 0;
    require(at == found.size());
  }
}

const ToolSet& text_tools() {
  static const ToolSet tools = [] {
    ToolSet set;
    set.add_text(
        "write",
        R"({"properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path"]})");
    set.add_text("glob", R"({"properties":{"pattern":{"type":"string"}}})");
    set.add_text("ping", "{}");
    return set;
  }();
  return tools;
}

const ToolSet& typed_tools() {
  static const ToolSet tools = [] {
    ToolSet set;
    set.add_text(
        "f",
        R"({"properties":{"a":{"type":"integer"},"b":{"type":"object"},"c":{"type":"array"},)"
        R"("d":{"type":"boolean"},"e":{"type":["string","null"]},"g":{"type":"any"},"h":{"type":"number"}}})");
    set.add_text("ping", "{}");
    return set;
  }();
  return tools;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const uint8_t flags = data[0];
  const std::string_view output(reinterpret_cast<const char*>(data) + 2, size - 2);
  OutputParserOptions options;
  options.thinking = static_cast<ThinkingStart>(flags % 3);
  const int tools = flags / 3 % 3;
  options.tools = tools == 0 ? nullptr : tools == 1 ? &text_tools() : &typed_tools();
  const int stop = flags / 9 % 3;
  if (stop > 0) options.stop_strings = {"own fox", "\n\n", "aab", "<think>"};
  options.stop_in_reasoning = stop == 2;
  const OutputEnd end = flags / 27 % 2 == 0 ? OutputEnd::kTurn : OutputEnd::kCut;

  const Parsed whole = parse(options, end, output, 0);
  check_events(whole);
  check_arguments(whole.message);
  for (const uint8_t seed : {uint8_t{1}, static_cast<uint8_t>(data[1] | 2)}) {
    const Parsed pieces = parse(options, end, output, seed);
    check_events(pieces);
    require(same(pieces, whole));
  }
  if (stop > 0) return 0;
  const std::string text = to_valid_utf8(output);
  if (tools == 0) {
    const OutputMessage expected = plain_parse(text, options.thinking);
    require(whole.message.reasoning == expected.reasoning && whole.message.content == expected.content);
    require(whole.message.calls.empty());
  } else if (tools == 1) {
    check_nothing_is_lost(whole, text);
  }
  return 0;
}
