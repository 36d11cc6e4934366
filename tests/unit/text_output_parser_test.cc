#include "text/output_parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "support/paths.h"
#include "support/random.h"
#include "text/tokenizer.h"

namespace lirio {
namespace {

/// One file of tests/cases/output_parser; tests/cases/README.md describes the format.
struct Case {
  std::string title;
  ToolSet tools;
  OutputParserOptions options;
  OutputEnd end = OutputEnd::kTurn;
  std::string output;
  OutputMessage expected;
  std::string finish;
};

std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    switch (text.at(++i)) {
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 's':
        out += ' ';
        break;
      case '\\':
        out += '\\';
        break;
      case 'x':
        out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
        i += 2;
        break;
      default:
        ADD_FAILURE() << "unknown escape \\" << text[i];
    }
  }
  return out;
}

/// "name(key: type, ...)" or "name {schema}".
void add_tool(std::string_view declaration, ToolSet& tools) {
  const std::size_t name_end = declaration.find_first_of("( ");
  std::string name(declaration.substr(0, name_end));
  if (declaration.at(name_end) == ' ') {
    tools.add_text(std::move(name), declaration.substr(name_end + 1));
    return;
  }
  std::string properties;
  std::string required;
  std::istringstream list(std::string(declaration.substr(name_end + 1, declaration.size() - name_end - 2)));
  for (std::string parameter; std::getline(list, parameter, ',');) {
    const std::size_t colon = parameter.find(": ");
    const std::string key =
        parameter.substr(parameter.find_first_not_of(' '), colon - parameter.find_first_not_of(' '));
    const std::string comma = required.empty() ? "" : ",";
    properties += fmt::format(R"({}"{}":{{"type":"{}"}})", comma, key, parameter.substr(colon + 2));
    required += fmt::format(R"({}"{}")", comma, key);
  }
  tools.add_text(std::move(name), fmt::format(R"({{"type":"object","properties":{{{}}},"required":[{}]}})",
                                              properties, required));
}

void add_call(std::string_view value, bool complete, OutputMessage& message) {
  const std::size_t space = std::min(value.find(' '), value.size());
  const std::string_view arguments = value.substr(std::min(space + 1, value.size()));
  message.calls.push_back({std::string(value.substr(0, space)), std::string(arguments), complete});
}

void read_field(const std::string& field, const std::string& value, Case& out) {
  if (field == "title") {
    out.title = value;
  } else if (field == "tool") {
    add_tool(value, out.tools);
  } else if (field == "thinking") {
    out.options.thinking = value == "open"       ? ThinkingStart::kOpen
                           : value == "may open" ? ThinkingStart::kMayOpen
                                                 : ThinkingStart::kNone;
  } else if (field == "stop") {
    out.options.stop_strings.push_back(unescape(value));
  } else if (field == "stop in reasoning") {
    out.options.stop_in_reasoning = value == "yes";
  } else if (field == "end") {
    out.end = value == "cut" ? OutputEnd::kCut : OutputEnd::kTurn;
  } else if (field == "call" || field == "unfinished call") {
    add_call(value, field == "call", out.expected);
  } else if (field == "finish") {
    out.finish = value;
  } else if (field != "case") {
    ADD_FAILURE() << "unknown field " << field;
  }
}

void read_case(const std::filesystem::path& path, Case& out) {
  std::ifstream file(path, std::ios::binary);
  std::string* text = nullptr;
  bool first = true;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    if (line.starts_with('|')) {
      ASSERT_NE(text, nullptr) << "a text without a field";
      if (!first) *text += '\n';
      first = false;
      *text += unescape(std::string_view(line).substr(std::min<std::size_t>(2, line.size())));
      continue;
    }
    const std::size_t colon = line.find(':');
    ASSERT_NE(colon, std::string::npos) << line;
    const std::string field = line.substr(0, colon);
    text = field == "output"      ? &out.output
           : field == "reasoning" ? &out.expected.reasoning
           : field == "content"   ? &out.expected.content
                                  : nullptr;
    first = true;
    if (text == nullptr) read_field(field, line.substr(std::min(colon + 2, line.size())), out);
  }
  EXPECT_FALSE(out.title.empty());
  EXPECT_FALSE(out.finish.empty());
}

struct Parsed {
  OutputMessage message;
  std::vector<OutputEvent> events;
  OutputSummary summary;
};

/// Parses `output` in pieces that end at `cuts`.
Parsed parse(const OutputParserOptions& options, OutputEnd end, std::string_view output,
             const std::vector<std::size_t>& cuts = {}) {
  OutputParser parser(options);
  Parsed parsed;
  std::size_t begin = 0;
  for (const std::size_t cut : cuts) {
    parser.push(output.substr(begin, cut - begin), parsed.events);
    begin = cut;
  }
  parser.push(output.substr(begin), parsed.events);
  parsed.summary = parser.finish(end, parsed.events);
  for (const OutputEvent& event : parsed.events)
    parsed.message.add(event);
  return parsed;
}

Parsed parse(const OutputParserOptions& options, std::string_view output) {
  return parse(options, OutputEnd::kTurn, output);
}

std::vector<std::size_t> every_byte(std::string_view text) {
  std::vector<std::size_t> cuts;
  for (std::size_t i = 1; i < text.size(); ++i)
    cuts.push_back(i);
  return cuts;
}

std::vector<std::size_t> random_cuts(std::string_view text, testing::Random& random) {
  std::vector<std::size_t> cuts;
  const int64_t longest = random.integer(1, 24);
  for (std::size_t at = 0; at < text.size(); at += static_cast<std::size_t>(random.integer(0, longest)))
    cuts.push_back(at);
  return cuts;
}

std::string to_text(const OutputMessage& message) {
  std::string out = "reasoning: " + message.reasoning + "|\ncontent: " + message.content + "|\n";
  for (const auto& call : message.calls)
    out += (call.complete ? "call: " : "unfinished call: ") + call.name + " " + call.arguments + "|\n";
  return out;
}

std::string to_text(const OutputSummary& summary) {
  static constexpr const char* kFinish[] = {"stop", "length", "tool_calls"};
  return fmt::format("{} complete={} unfinished={} in_reasoning={} stopped={}",
                     kFinish[static_cast<int>(summary.finish)], summary.complete_calls,
                     summary.unfinished_call, summary.in_reasoning, summary.stopped);
}

/// What clients rely on in the order and form of events.
void check_events(const Parsed& parsed) {
  int calls = 0;
  bool call_open = false;
  for (const OutputEvent& event : parsed.events) {
    EXPECT_EQ(to_valid_utf8(event.text), event.text);
    EXPECT_EQ(event.text.empty(), event.kind == OutputEvent::Kind::kCallEnd);
    switch (event.kind) {
      case OutputEvent::Kind::kReasoning:
        EXPECT_EQ(calls, 0);
        EXPECT_FALSE(call_open);
        break;
      case OutputEvent::Kind::kContent:
        EXPECT_FALSE(call_open);
        break;
      case OutputEvent::Kind::kCallStart:
        EXPECT_EQ(event.call, calls++);
        EXPECT_FALSE(call_open);
        call_open = true;
        break;
      case OutputEvent::Kind::kArguments:
        EXPECT_TRUE(call_open);
        EXPECT_EQ(event.call, calls - 1);
        break;
      case OutputEvent::Kind::kCallEnd:
        EXPECT_TRUE(call_open);
        EXPECT_EQ(event.call, calls - 1);
        call_open = false;
    }
  }
  EXPECT_EQ(call_open, parsed.summary.unfinished_call);
  EXPECT_EQ(parsed.message.calls.size(), static_cast<std::size_t>(parsed.summary.complete_calls +
                                                                  (parsed.summary.unfinished_call ? 1 : 0)));
}

bool is_json(const std::string& text) {
  try {
    const json::Document document(text, "text");
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Only the whole of a complete call's arguments is JSON (but for numbers simdjson can't hold).
void check_arguments(const OutputMessage& message) {
  for (const auto& call : message.calls) {
    for (std::size_t length = 0; length < call.arguments.size(); ++length) {
      EXPECT_FALSE(is_json(call.arguments.substr(0, length))) << call.arguments.substr(0, length);
    }
    if (!call.complete) {
      EXPECT_FALSE(is_json(call.arguments)) << call.arguments;
      continue;
    }
    ASSERT_FALSE(call.arguments.empty());
    EXPECT_EQ(call.arguments.front(), '{');
    EXPECT_EQ(call.arguments.back(), '}');
  }
}

TEST(OutputParser, GivesWhatEachCaseWantsHoweverTheOutputIsCut) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(testing::source_dir() / "tests/cases/output_parser"))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  ASSERT_GT(paths.size(), 100u);
  for (const std::filesystem::path& path : paths) {
    SCOPED_TRACE(path.filename().string());
    Case test;
    read_case(path, test);
    test.options.tools = &test.tools;
    const Parsed whole = parse(test.options, test.end, test.output);
    EXPECT_EQ(to_text(whole.message), to_text(test.expected));
    EXPECT_EQ(to_text(whole.summary).substr(0, test.finish.size() + 1), test.finish + " ");
    check_events(whole);
    check_arguments(whole.message);
    testing::Random random(1);
    for (int i = 0; i < 51; ++i) {
      const auto cuts = i == 0 ? every_byte(test.output) : random_cuts(test.output, random);
      const Parsed pieces = parse(test.options, test.end, test.output, cuts);
      ASSERT_EQ(to_text(pieces.message), to_text(whole.message)) << "split " << i;
      ASSERT_EQ(to_text(pieces.summary), to_text(whole.summary)) << "split " << i;
      check_events(pieces);
    }
  }
}

/// All cases as one kind of raw material.
std::vector<std::string> case_outputs() {
  std::vector<std::string> outputs;
  for (const auto& entry :
       std::filesystem::directory_iterator(testing::source_dir() / "tests/cases/output_parser")) {
    Case test;
    read_case(entry.path(), test);
    outputs.push_back(test.output);
  }
  std::sort(outputs.begin(), outputs.end());
  return outputs;
}

ToolSet common_tools() {
  ToolSet tools;
  for (const char* declaration : {"write(path: string, content: string)", "glob(pattern: string)", "ping()",
                                  "f(a: integer, b: object, c: array, d: boolean)"}) {
    add_tool(declaration, tools);
  }
  return tools;
}

/// Pieces of several outputs, one after another, with a few bytes lost or doubled.
std::string mixed(const std::vector<std::string>& outputs, testing::Random& random) {
  std::string text;
  const int64_t pieces = random.integer(1, 4);
  for (int64_t i = 0; i < pieces; ++i) {
    const std::string& output = outputs[static_cast<std::size_t>(random.bits() % outputs.size())];
    const std::size_t begin = static_cast<std::size_t>(random.bits() % (output.size() + 1));
    text += random.integer(0, 1) == 0 ? output
                                      : output.substr(begin, static_cast<std::size_t>(random.bits() % 99));
  }
  for (int64_t edits = random.integer(0, 3); edits > 0 && !text.empty(); --edits) {
    const std::size_t at = static_cast<std::size_t>(random.bits() % text.size());
    const std::size_t length = static_cast<std::size_t>(random.integer(1, 12));
    if (random.integer(0, 1) == 0) {
      text.erase(at, length);
    } else {
      text.insert(at, text.substr(at, length));
    }
  }
  return text;
}

TEST(OutputParser, GivesTheSameForDamagedOutputsHoweverTheyAreCut) {
  const std::vector<std::string> outputs = case_outputs();
  const ToolSet tools = common_tools();
  testing::Random random(2);
  for (int i = 0; i < 2000; ++i) {
    const std::string output = mixed(outputs, random);
    OutputParserOptions options;
    options.thinking = static_cast<ThinkingStart>(random.integer(0, 2));
    options.tools = random.integer(0, 9) == 0 ? nullptr : &tools;
    if (random.integer(0, 2) == 0) options.stop_strings = {"pat", "\n\n", "e"};
    options.stop_in_reasoning = random.integer(0, 1) == 1;
    const OutputEnd end = static_cast<OutputEnd>(random.integer(0, 1));
    const Parsed whole = parse(options, end, output);
    check_events(whole);
    check_arguments(whole.message);
    const Parsed bytes = parse(options, end, output, every_byte(output));
    ASSERT_EQ(to_text(bytes.message), to_text(whole.message)) << output;
    ASSERT_EQ(to_text(bytes.summary), to_text(whole.summary)) << output;
    const Parsed pieces = parse(options, end, output, random_cuts(output, random));
    ASSERT_EQ(to_text(pieces.message), to_text(whole.message)) << output;
  }
}

TEST(OutputParser, GivesBackTheTextWhereThereAreNoToolsAndNoThinking) {
  const std::vector<std::string> outputs = case_outputs();
  testing::Random random(3);
  for (int i = 0; i < 500; ++i) {
    const std::string output = mixed(outputs, random) + "\xE2\x82|";
    // Only </think> in front is no text.
    if (output.find_first_not_of(" \t\r\n") == output.find("</think>")) continue;
    EXPECT_EQ(parse({}, output).message.content, to_valid_utf8(output));
  }
}

TEST(OutputParser, FollowsTheTokensOfATokenizer) {
  const Tokenizer tokenizer = Tokenizer::from_directory(testing::pocket_dir());
  const ToolSet tools = common_tools();
  const OutputParserOptions options = {ThinkingStart::kOpen, &tools};
  const std::string text =
      "Größe 🙂?\n</think>\n\nSo:\n\n<tool_call>\n<function=write>\n<parameter=path>\nä.md\n"
      "</parameter>\n<parameter=content>\n日本語 🙂\n</parameter>\n</function>\n</tool_call>";
  OutputParser parser(options);
  std::vector<OutputEvent> events;
  for (const TokenId id : tokenizer.encode(text))
    parser.push(tokenizer.token_bytes(id), events);
  parser.finish(OutputEnd::kTurn, events);
  OutputMessage message;
  for (const OutputEvent& event : events) {
    EXPECT_EQ(to_valid_utf8(event.text), event.text);
    message.add(event);
  }
  EXPECT_EQ(to_text(message), to_text(parse(options, text).message));
  EXPECT_EQ(message.calls.at(0).arguments, R"({"path":"ä.md","content":"日本語 🙂"})");
}

/// Pushes pieces one by one and shows what each yields.
class Stream {
 public:
  explicit Stream(OutputParserOptions options) : parser_(std::move(options)) {}

  std::string push(std::string_view piece) {
    std::vector<OutputEvent> events;
    parser_.push(piece, events);
    return shown(events);
  }

  std::string finish(OutputEnd end = OutputEnd::kTurn) {
    std::vector<OutputEvent> events;
    parser_.finish(end, events);
    return shown(events);
  }

  bool stopped() const { return parser_.stopped(); }

 private:
  static std::string shown(const std::vector<OutputEvent>& events) {
    static constexpr const char* kNames[] = {"reasoning", "content", "start", "arguments", "end"};
    std::string out;
    for (const OutputEvent& event : events)
      out += fmt::format("[{}{} {}]", kNames[static_cast<int>(event.kind)],
                         event.call >= 0 ? fmt::format(" {}", event.call) : "", event.text);
    return out;
  }

  OutputParser parser_;
};

TEST(OutputParser, StreamsTextsAndValuesWhileTheyAreWritten) {
  const ToolSet tools = common_tools();
  Stream stream({ThinkingStart::kOpen, &tools});
  EXPECT_EQ(stream.push("So"), "[reasoning So]");
  EXPECT_EQ(stream.push(".\n"), "[reasoning .]");
  EXPECT_EQ(stream.push("</think>"), "");
  EXPECT_EQ(stream.push("\n\n"), "");
  EXPECT_EQ(stream.push("Let me"), "[content Let me]");
  EXPECT_EQ(stream.push(" see.\n\n"), "[content  see.]");
  EXPECT_EQ(stream.push("<tool_call>"), "");
  EXPECT_EQ(stream.push("\n<function=wri"), "");
  EXPECT_EQ(stream.push("te>\n"), "");
  EXPECT_EQ(stream.push("<parameter=content>"), R"([start 0 write][arguments 0 {"content":"])");
  EXPECT_EQ(stream.push("\nint x"), "[arguments 0 int x]");
  EXPECT_EQ(stream.push(" = 1;\n"), "[arguments 0  = 1;]");
  EXPECT_EQ(stream.push("\""), R"([arguments 0 \n\"])");
  EXPECT_EQ(stream.push("\xF0\x9F\x99"), "");
  EXPECT_EQ(stream.push("\x82 <"), "[arguments 0 🙂 ]");
  EXPECT_EQ(stream.push("/para"), "");
  EXPECT_EQ(stream.push("graph>"), "[arguments 0 </paragraph>]");
  EXPECT_EQ(stream.push("\n</parameter>"), "");
  EXPECT_EQ(stream.push("\n"), "");
  EXPECT_EQ(stream.push("<parameter=path>"), R"([arguments 0 ","path":"])");
  EXPECT_EQ(stream.push("\na\n</parameter>\n</function>\n</tool_call>"), "[arguments 0 a]");
  EXPECT_EQ(stream.finish(), R"([arguments 0 "}][end 0 ])");
}

TEST(OutputParser, HoldsBackACallInsideThinkingUntilItIsProven) {
  const ToolSet tools = common_tools();
  Stream proven({ThinkingStart::kOpen, &tools});
  EXPECT_EQ(proven.push("So.\n<tool_call>\n<function=glob>\n<parameter=pattern>\n"), "[reasoning So.]");
  EXPECT_EQ(proven.push("*.md\n</parameter>\n</function>\n</tool_call>"), "");
  EXPECT_EQ(proven.push("\n"), R"([start 0 glob][arguments 0 {"pattern":"*.md"}][end 0 ])");

  Stream refuted({ThinkingStart::kOpen, &tools});
  EXPECT_EQ(refuted.push("So.\n<tool_call>\n<function=glob>\n<parameter=pattern>\n"), "[reasoning So.]");
  EXPECT_EQ(refuted.push("*.md\nNo."), "");
  EXPECT_EQ(refuted.push("</think>Hi"),
            "[reasoning \n<tool_call>\n<function=glob>\n<parameter=pattern>\n*.md\nNo.][content Hi]");
}

TEST(OutputParser, HoldsBackNoMoreThanMayBecomeAStopString) {
  Stream stream({.stop_strings = {"own fox", "\n\nQ:"}});
  EXPECT_EQ(stream.push("The quick brown"), "[content The quick br]");
  EXPECT_EQ(stream.push(" f"), "");
  EXPECT_EQ(stream.push("ish\n"), "[content own fish]");
  EXPECT_EQ(stream.push("\nQ."), "[content \n\nQ.]");
  EXPECT_EQ(stream.push(" ow"), "[content  ]");
  EXPECT_FALSE(stream.stopped());
  EXPECT_EQ(stream.finish(), "[content ow]");
}

TEST(OutputParser, IgnoresWhatComesAfterAStopStringOrTheEnd) {
  Stream stream({.stop_strings = {"END"}});
  EXPECT_EQ(stream.push("a END b"), "[content a ]");
  EXPECT_TRUE(stream.stopped());
  EXPECT_EQ(stream.push("c END"), "");
  EXPECT_EQ(stream.finish(), "");
  Stream ended({});
  EXPECT_EQ(ended.push("a"), "[content a]");
  EXPECT_EQ(ended.finish(), "");
  EXPECT_EQ(ended.push("b"), "");
  EXPECT_EQ(ended.finish(), "");
}

TEST(OutputParser, TellsHowTheOutputEnded) {
  const ToolSet tools = common_tools();
  const OutputParserOptions options = {ThinkingStart::kOpen, &tools};
  const auto summary = [&](std::string_view output, OutputEnd end) {
    return to_text(parse(options, end, output).summary);
  };
  EXPECT_EQ(summary("Hm", OutputEnd::kCut),
            "length complete=0 unfinished=false in_reasoning=true stopped=false");
  EXPECT_EQ(summary("Hm", OutputEnd::kTurn),
            "stop complete=0 unfinished=false in_reasoning=true stopped=false");
  EXPECT_EQ(summary("Hm</think>Hi", OutputEnd::kTurn),
            "stop complete=0 unfinished=false in_reasoning=false stopped=false");
  EXPECT_EQ(summary("</think><tool_call><function=ping></function>", OutputEnd::kCut),
            "length complete=1 unfinished=false in_reasoning=false stopped=false");
  EXPECT_EQ(summary("</think><tool_call><function=glob><parameter=pattern>x", OutputEnd::kTurn),
            "stop complete=0 unfinished=true in_reasoning=false stopped=false");
}

TEST(OutputParser, TakesLinearTimeByteByByte) {
  const ToolSet tools = common_tools();
  constexpr std::size_t kBytes = 1 << 17;
  const std::string open = "<tool_call>\n<function=write>\n<parameter=content>\n";
  const std::string heads[] = {"", open, "</think>" + open,
                               "</think><tool_call>{\"name\": \"f\", \"arguments\": \"",
                               "<tool_call>{\"name\": \"ping\"}"};
  for (const std::string& head : heads) {
    for (const char* unit :
         {"x", "\n", "<", "if (a < b) {\n", "</parameter>", "</parameter>\n", "<tool_call>\n", "</think",
          "</parameter>\n</function>\n", "<function=write>\n", "<parameter=path>\n", "\xE2\x82"}) {
      OutputParser parser({ThinkingStart::kOpen, &tools, {"ab", "if (a < b) {\nif (a < c)"}});
      std::vector<OutputEvent> events;
      std::size_t delivered_bytes = 0;
      const auto take_events = [&] {
        for (const OutputEvent& event : events)
          delivered_bytes += event.text.size();
        events.clear();
      };
      parser.push(head, events);
      for (std::size_t i = 0; i < kBytes; ++i) {
        parser.push(std::string_view(unit).substr(i % std::string_view(unit).size(), 1), events);
        take_events();
      }
      parser.finish(OutputEnd::kCut, events);
      take_events();
      // A quadratic path takes minutes to get here. A byte becomes three at most, as U+FFFD.
      EXPECT_LE(delivered_bytes, 3 * (head.size() + kBytes)) << head << unit;
    }
  }
}

}  // namespace
}  // namespace lirio
