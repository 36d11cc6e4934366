#include "text/chat.h"

#include <cstddef>
#include <utility>

#include "base/error.h"
#include "text/unicode.h"

namespace lirio {
namespace {

constexpr std::string_view kTurnStart = "<|im_start|>";
constexpr std::string_view kTurnEnd = "<|im_end|>";
constexpr std::string_view kThinkStart = "<think>";
constexpr std::string_view kThinkEnd = "</think>";

/// Builds a prompt, joining neighbouring text.
class PromptWriter {
 public:
  void text(std::string_view content) {
    if (content.empty()) return;
    if (prompt_.pieces.empty() || prompt_.pieces.back().kind != ChatPrompt::Piece::Kind::kText) {
      prompt_.pieces.push_back({ChatPrompt::Piece::Kind::kText, {}});
    }
    prompt_.pieces.back().content += content;
  }

  void control(std::string_view content) {
    prompt_.pieces.push_back({ChatPrompt::Piece::Kind::kControl, std::string(content)});
  }

  /// The head of a turn.
  void begin(std::string_view role) {
    control(kTurnStart);
    text(role);
    text("\n");
  }

  void end() {
    control(kTurnEnd);
    text("\n");
  }

  void thinking(std::string_view reasoning) {
    control(kThinkStart);
    text("\n");
    text(reasoning);
    text("\n");
    control(kThinkEnd);
    text("\n\n");
  }

  ChatPrompt take() { return std::move(prompt_); }

 private:
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

/// Tells an assistant's reasoning from its answer; both stripped as the template does.
AssistantText split_assistant(const ChatMessage& message) {
  const std::string_view content = strip(message.content);
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

/// The last user message that asks something, rather than handing back what a tool said.
std::size_t find_last_query(std::span<const ChatMessage> messages) {
  for (std::size_t i = messages.size(); i-- > 0;) {
    if (messages[i].role != Role::kUser) continue;
    const std::string_view content = strip(messages[i].content);
    if (!content.starts_with("<tool_response>") || !content.ends_with("</tool_response>")) return i;
  }
  throw Error("the messages hold no user query", "Add a message with the role user.");
}

void render_assistant(const ChatMessage& message, bool with_thinking, PromptWriter& out) {
  const AssistantText turn = split_assistant(message);
  out.begin("assistant");
  if (with_thinking) out.thinking(turn.reasoning);
  out.text(turn.content);
  out.end();
}

}  // namespace

std::string ChatPrompt::text() const {
  std::string out;
  for (const Piece& piece : pieces)
    out += piece.content;
  return out;
}

ChatPrompt render_chat(std::span<const ChatMessage> messages, const ChatOptions& options) {
  if (messages.empty()) throw Error("there are no messages to render", "Add a message with the role user.");
  const std::size_t last_query = find_last_query(messages);
  PromptWriter out;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const ChatMessage& message = messages[i];
    switch (message.role) {
      case Role::kSystem:
        if (i != 0) {
          throw Error(
              fmt::format("message {}: a system message must be the first, found it after others", i + 1),
              "Move it to the front.");
        }
        out.begin("system");
        out.text(strip(message.content));
        out.end();
        break;
      case Role::kUser:
        out.begin("user");
        out.text(strip(message.content));
        out.end();
        break;
      case Role::kAssistant:
        render_assistant(message, options.preserve_thinking || i > last_query, out);
        break;
    }
  }
  if (options.add_generation_prompt) {
    out.begin("assistant");
    if (options.enable_thinking) {
      out.control(kThinkStart);
      out.text("\n");
    } else {
      out.thinking({});
    }
  }
  return out.take();
}

void encode_prompt(const Tokenizer& tokenizer, const ChatPrompt& prompt, EncodeScratch& scratch,
                   std::vector<TokenId>& out) {
  for (const ChatPrompt::Piece& piece : prompt.pieces) {
    if (piece.kind == ChatPrompt::Piece::Kind::kText) {
      tokenizer.encode(piece.content, scratch, out);
      continue;
    }
    const std::optional<TokenId> id = tokenizer.added_token(piece.content);
    if (!id) {
      throw Error(fmt::format("the tokenizer has no token {}, which the chat format needs", piece.content),
                  "Use the tokenizer.json and tokenizer_config.json that came with the model.");
    }
    out.push_back(*id);
  }
}

std::vector<TokenId> encode_prompt(const Tokenizer& tokenizer, const ChatPrompt& prompt) {
  EncodeScratch scratch;
  std::vector<TokenId> out;
  encode_prompt(tokenizer, prompt, scratch, out);
  return out;
}

}  // namespace lirio
