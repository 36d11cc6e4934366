#include "text/chat.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "text/unicode.h"

namespace lirio {
namespace {

constexpr std::string_view kTurnStart = "<|im_start|>";
constexpr std::string_view kTurnEnd = "<|im_end|>";
constexpr std::string_view kThinkStart = "<think>";
constexpr std::string_view kThinkEnd = "</think>";
constexpr std::string_view kCallStart = "<tool_call>";
constexpr std::string_view kCallEnd = "</tool_call>";
constexpr std::string_view kResponseStart = "<tool_response>";
constexpr std::string_view kResponseEnd = "</tool_response>";

constexpr std::string_view kToolsHead = "# Tools\n\nYou have access to the following functions:\n\n<tools>";
// What the model was trained to find after the list of tools. Its <tool_call> and </tool_call> are control
// tokens.
constexpr std::string_view kToolsTail = R"(

If you choose to call a function ONLY reply in the following format with NO suffix:

<tool_call>
<function=example_function_name>
<parameter=example_parameter_1>
value_1
</parameter>
<parameter=example_parameter_2>
This is the value for the second parameter
that can span
multiple lines
</parameter>
</function>
</tool_call>

<IMPORTANT>
Reminder:
- Function calls MUST follow the specified format: an inner <function=...></function> block must be nested within <tool_call></tool_call> XML tags
- Required parameters MUST be specified
- You may provide optional reasoning for your function call in natural language BEFORE the function call, but NOT after
- If there is no function call available, answer the question like normal with your current knowledge and do not tell the user about function calls
</IMPORTANT>)";
static_assert(kToolsTail.size() == 817);

// Around a system message that comes too late for the system turn.
constexpr std::string_view kReminderStart = "<system-reminder>\n";
constexpr std::string_view kReminderEnd = "\n</system-reminder>";

/// Builds a prompt, joining neighbouring text.
class PromptWriter {
 public:
  void text(std::string_view content) {
    if (content.empty()) return;
    if (!ends_in_text()) prompt_.pieces.push_back({ChatPrompt::Piece::Kind::kText, {}});
    prompt_.pieces.back().content += content;
  }

  void control(std::string_view content) {
    prompt_.pieces.push_back({ChatPrompt::Piece::Kind::kControl, std::string(content)});
  }

  void mark(MarkKind kind) {
    if (ends_in_text()) {
      prompt_.marks.push_back({kind, prompt_.pieces.size() - 1, prompt_.pieces.back().content.size()});
    } else {
      prompt_.marks.push_back({kind, prompt_.pieces.size(), 0});
    }
  }

  /// The head of a turn.
  void begin(std::string_view role) {
    control(kTurnStart);
    text(role);
    text("\n");
  }

  void begin_assistant() {
    begin("assistant");
    mark(MarkKind::kAssistantHeader);
  }

  void end(MarkKind kind = MarkKind::kTurnEnd) {
    control(kTurnEnd);
    text("\n");
    mark(kind);
  }

  void open_thinking() {
    control(kThinkStart);
    text("\n");
  }

  void thinking(std::string_view reasoning) {
    open_thinking();
    text(reasoning);
    text("\n");
    control(kThinkEnd);
    text("\n\n");
  }

  ChatPrompt take(bool ends_in_thinking) {
    prompt_.ends_in_thinking = ends_in_thinking;
    return std::move(prompt_);
  }

 private:
  bool ends_in_text() const {
    return !prompt_.pieces.empty() && prompt_.pieces.back().kind == ChatPrompt::Piece::Kind::kText;
  }

  ChatPrompt prompt_;
};

struct AssistantText {
  std::string_view reasoning;
  std::string_view content;
};

std::string_view strip_newlines_left(std::string_view text) {
  const std::size_t start = text.find_first_not_of('\n');
  return start == std::string_view::npos ? std::string_view() : text.substr(start);
}

std::string_view strip_newlines_right(std::string_view text) {
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

std::string_view strip_left(std::string_view text) {
  const std::string_view stripped = strip(text);
  return stripped.empty() ? stripped : text.substr(static_cast<std::size_t>(stripped.data() - text.data()));
}

/// Tells an assistant's reasoning from its answer, both stripped as the template does; `content` is the
/// message's, already stripped where it should be.
AssistantText split_assistant(const ChatMessage& message, std::string_view content) {
  if (message.reasoning_content) return {strip(*message.reasoning_content), content};
  const std::size_t first_end = content.find(kThinkEnd);
  if (first_end == std::string_view::npos) return {{}, content};
  std::string_view reasoning = strip_newlines_right(content.substr(0, first_end));
  const std::size_t start = reasoning.rfind(kThinkStart);
  if (start != std::string_view::npos) reasoning.remove_prefix(start + kThinkStart.size());
  const std::size_t last_end = content.rfind(kThinkEnd);
  return {strip(strip_newlines_left(reasoning)),
          strip_newlines_left(content.substr(last_end + kThinkEnd.size()))};
}

/// Messages up to and with the last one of a user that asks something, rather than hands back what a tool
/// said.
std::size_t count_to_last_query(std::span<const ChatMessage> messages) {
  for (std::size_t i = messages.size(); i-- > 0;) {
    if (messages[i].role != Role::kUser) continue;
    const std::string_view content = strip(messages[i].content);
    if (!content.starts_with(kResponseStart) || !content.ends_with(kResponseEnd)) return i + 1;
  }
  return 0;
}

void write_tools(std::span<const ChatTool> tools, PromptWriter& out) {
  out.text(kToolsHead);
  for (const ChatTool& tool : tools) {
    out.text("\n");
    out.text(tool.json);
  }
  out.text("\n</tools>");
  std::string_view tail = kToolsTail;
  while (!tail.empty()) {
    for (const std::string_view control : {kCallStart, kCallEnd}) {
      if (!tail.starts_with(control)) continue;
      out.control(control);
      tail.remove_prefix(control.size());
    }
    const std::size_t plain = std::min(tail.find(kCallStart), tail.find(kCallEnd));
    out.text(tail.substr(0, plain));
    tail.remove_prefix(std::min(plain, tail.size()));
  }
}

/// Writes the system turn, if there is anything for it. Returns how many messages it took.
std::size_t write_system(std::span<const ChatMessage> messages, std::span<const ChatTool> tools,
                         PromptWriter& out) {
  std::size_t leading = 0;
  std::string merged;
  for (; leading < messages.size() && messages[leading].role == Role::kSystem; ++leading) {
    const std::string_view content = strip(messages[leading].content);
    if (content.empty()) continue;
    if (!merged.empty()) merged += "\n\n";
    merged += content;
  }
  if (leading == 0 && tools.empty()) return 0;
  out.begin("system");
  if (!tools.empty()) {
    write_tools(tools, out);
    if (!merged.empty()) out.text("\n\n");
  }
  out.text(merged);
  out.end(MarkKind::kSystemEnd);
  return leading;
}

void write_calls(std::span<const ToolCall> calls, bool after_content, PromptWriter& out) {
  bool first = true;
  for (const ToolCall& call : calls) {
    if (!std::exchange(first, false)) {
      out.text("\n");
    } else if (after_content) {
      out.text("\n\n");
    }
    out.control(kCallStart);
    out.text("\n<function=");
    out.text(call.name);
    out.text(">\n");
    for (const ToolCall::Argument& argument : call.arguments) {
      out.text("<parameter=");
      out.text(argument.name);
      out.text(">\n");
      out.text(argument.value);
      out.text("\n</parameter>\n");
    }
    out.text("</function>\n");
    out.control(kCallEnd);
  }
}

void write_assistant(const ChatMessage& message, bool with_thinking, PromptWriter& out) {
  const AssistantText turn = split_assistant(message, strip(message.content));
  out.begin_assistant();
  if (with_thinking) out.thinking(turn.reasoning);
  out.text(turn.content);
  write_calls(message.tool_calls, !strip(turn.content).empty(), out);
  out.end();
}

/// Writes the tool messages that `messages` starts with as one turn. Returns how many.
std::size_t write_tool_results(std::span<const ChatMessage> messages, PromptWriter& out) {
  out.control(kTurnStart);
  out.text("user");
  std::size_t count = 0;
  for (; count < messages.size() && messages[count].role == Role::kTool; ++count) {
    out.text("\n");
    out.control(kResponseStart);
    out.text("\n");
    out.text(strip(messages[count].content));
    out.text("\n");
    out.control(kResponseEnd);
  }
  out.end();
  return count;
}

void write_user(std::string_view before, std::string_view content, std::string_view after,
                PromptWriter& out) {
  out.begin("user");
  out.text(before);
  out.text(strip(content));
  out.text(after);
  out.end();
}

bool is_blank(const ChatMessage& message) {
  return strip(message.content).empty() && strip(message.reasoning_content.value_or("")).empty();
}

/// Writes an assistant's turn that the model is to continue. Returns whether it ends inside its thoughts.
bool write_open_assistant(const ChatMessage& message, PromptWriter& out) {
  const std::string_view content = strip_left(message.content);
  out.begin_assistant();
  if (!message.reasoning_content && content.starts_with(kThinkStart) &&
      content.find(kThinkEnd) == std::string_view::npos) {
    out.open_thinking();
    out.text(strip_left(content.substr(kThinkStart.size())));
    return true;
  }
  const AssistantText turn = split_assistant(message, content);
  out.thinking(turn.reasoning);
  out.text(turn.content);
  return false;
}

ChatPrompt render(std::span<const ChatMessage> messages, std::span<const ChatTool> tools,
                  const ChatOptions& options) {
  PromptWriter out;
  const std::size_t first_later = count_to_last_query(messages);
  const ChatMessage* open = nullptr;
  if (options.add_generation_prompt && options.continue_final_message && !messages.empty() &&
      messages.back().role == Role::kAssistant && messages.back().tool_calls.empty()) {
    if (!is_blank(messages.back())) open = &messages.back();
    messages = messages.first(messages.size() - 1);
  }
  std::size_t i = write_system(messages, tools, out);
  while (i < messages.size()) {
    const ChatMessage& message = messages[i];
    switch (message.role) {
      case Role::kSystem:
        if (!strip(message.content).empty()) write_user(kReminderStart, message.content, kReminderEnd, out);
        break;
      case Role::kUser:
        write_user({}, message.content, {}, out);
        break;
      case Role::kAssistant:
        write_assistant(message, options.preserve_thinking || i >= first_later, out);
        break;
      case Role::kTool:
        i += write_tool_results(messages.subspan(i), out);
        continue;
    }
    ++i;
  }
  if (open != nullptr) return out.take(write_open_assistant(*open, out));
  if (!options.add_generation_prompt) return out.take(false);
  out.begin_assistant();
  if (options.enable_thinking) {
    out.open_thinking();
  } else {
    out.thinking({});
  }
  return out.take(options.enable_thinking);
}

/// Of the tokens from `first` on, which spell `piece`, the one at which the text after `offset` starts, or
/// that holds both sides of it.
std::size_t token_at(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, std::size_t first,
                     std::string_view piece, std::size_t offset, EncodeScratch& scratch) {
  // Tokens spell the piece in NFC. Nothing combines with the newline before a mark, so what stands before the
  // mark normalises by itself.
  std::size_t left = to_nfc(piece.substr(0, offset), scratch.nfc).size();
  std::size_t at = first;
  for (; at < ids.size(); ++at) {
    const std::size_t length = tokenizer.token_bytes(ids[at]).size();
    if (length > left) break;
    left -= length;
  }
  return at;
}

}  // namespace

std::string_view mark_name(MarkKind kind) {
  switch (kind) {
    case MarkKind::kSystemEnd:
      return "system_end";
    case MarkKind::kAssistantHeader:
      return "assistant_header";
    case MarkKind::kTurnEnd:
      return "turn_end";
  }
  return "unknown";
}

std::string ChatPrompt::text() const {
  std::string out;
  for (const Piece& piece : pieces)
    out += piece.content;
  return out;
}

std::vector<std::size_t> ChatPrompt::mark_offsets() const {
  std::vector<std::size_t> offsets;
  std::size_t piece = 0;
  std::size_t start = 0;
  for (const Mark& mark : marks) {
    for (; piece < mark.piece; ++piece)
      start += pieces[piece].content.size();
    offsets.push_back(start + mark.offset);
  }
  return offsets;
}

ChatPrompt render_chat(const ChatRequest& request) {
  return render(request.messages, request.tools, request.options);
}

ChatPrompt render_chat(std::span<const ChatMessage> messages, const ChatOptions& options) {
  return render(messages, {}, options);
}

void encode_prompt(const Tokenizer& tokenizer, const ChatPrompt& prompt, EncodeScratch& scratch,
                   EncodedPrompt& out) {
  out.ids.clear();
  out.marks.clear();
  auto mark = prompt.marks.begin();
  for (std::size_t i = 0; i < prompt.pieces.size(); ++i) {
    const ChatPrompt::Piece& piece = prompt.pieces[i];
    const std::size_t first = out.ids.size();
    if (piece.kind == ChatPrompt::Piece::Kind::kText) {
      tokenizer.encode(piece.content, scratch, out.ids);
    } else if (const std::optional<TokenId> id = tokenizer.added_token(piece.content)) {
      out.ids.push_back(*id);
    } else {
      throw Error(fmt::format("the tokenizer has no token {}, which the chat format needs", piece.content),
                  "Use the tokenizer.json and tokenizer_config.json that came with the model.");
    }
    for (; mark != prompt.marks.end() && mark->piece == i; ++mark) {
      const bool at_end = mark->offset == piece.content.size();
      out.marks.push_back(
          {mark->kind, at_end ? out.ids.size()
                              : token_at(tokenizer, out.ids, first, piece.content, mark->offset, scratch)});
    }
  }
  for (; mark != prompt.marks.end(); ++mark)
    out.marks.push_back({mark->kind, out.ids.size()});
}

std::vector<TokenId> encode_prompt(const Tokenizer& tokenizer, const ChatPrompt& prompt) {
  EncodeScratch scratch;
  EncodedPrompt out;
  encode_prompt(tokenizer, prompt, scratch, out);
  return std::move(out.ids);
}

}  // namespace lirio
