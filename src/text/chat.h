// Chat rendering: from messages to the exact prompt that the model was trained on, and to its token ids.
// Called by the commands and the server. Stateless, thread-safe.
//
// Control tokens arise only where the renderer puts them: a prompt is a list of pieces, and what a message
// says is always plain text, even when it spells a control token.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace lirio {

enum class Role { kSystem, kUser, kAssistant };

struct ChatMessage {
  Role role;
  std::string content;
  /// What an assistant thought before its answer. When absent, a <think> block at the head of `content` is
  /// taken.
  std::optional<std::string> reasoning_content = std::nullopt;
};

struct ChatOptions {
  /// False ends the generation prompt with an empty think block; true ends it inside an open one.
  bool enable_thinking = true;
  /// Keeps the reasoning of all assistant turns, not only of those after the last user message.
  bool preserve_thinking = false;
  bool add_generation_prompt = true;
};

/// A rendered prompt.
struct ChatPrompt {
  struct Piece {
    enum class Kind { kText, kControl };
    Kind kind;
    std::string content;  ///< plain text, or the content of one added token
  };

  /// No two neighbours are text, so a piece of text is what the reference pipeline finds between two control
  /// tokens.
  std::vector<Piece> pieces;

  /// The prompt as one string.
  std::string text() const;
};

/// Renders as the model's chat template does. Throws Error when there is no message, no user message that
/// asks (one that is not wholly a <tool_response> block), or a system message after the first place.
ChatPrompt render_chat(std::span<const ChatMessage> messages, const ChatOptions& options = {});

/// Appends the ids of the prompt to `out`. Throws Error when the tokenizer lacks one of the control tokens.
void encode_prompt(const Tokenizer& tokenizer, const ChatPrompt& prompt, EncodeScratch& scratch,
                   std::vector<TokenId>& out);
std::vector<TokenId> encode_prompt(const Tokenizer& tokenizer, const ChatPrompt& prompt);

}  // namespace lirio
