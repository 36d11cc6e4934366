// Chat rendering: from messages to the exact prompt that the model was trained on, and to its token ids.
// Called by the commands and the server, whose JSON chat_json reads. Stateless, thread-safe.
//
// Control tokens arise only where the renderer puts them: a prompt is a list of pieces, and what a message
// says is always plain text, even when it spells a control token. Rendering never fails: what the model's
// template has no form for is rendered by the leniencies that docs/chat.md lists, each named below where it
// is decided.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace lirio {

enum class Role { kSystem, kUser, kAssistant, kTool };

/// A call that an assistant made, its values as the prompt spells them.
struct ToolCall {
  struct Argument {
    std::string name;
    std::string value;  ///< a string as it is, anything else as JSON in Python's spelling
  };

  std::string name;
  std::vector<Argument> arguments;  ///< in the order of the client
};

struct ChatMessage {
  Role role;
  std::string content;
  /// What an assistant thought before its answer. When absent, a <think> block at the head of `content` is
  /// taken.
  std::optional<std::string> reasoning_content = std::nullopt;
  std::vector<ToolCall> tool_calls = {};  ///< of an assistant
};

/// A function that the model may call.
struct ChatTool {
  std::string name;
  std::string json;  ///< the whole tool object as the prompt shows it: Python's json.dumps
};

struct ChatOptions {
  /// False ends the generation prompt with an empty think block; true ends it inside an open one.
  bool enable_thinking = true;
  /// Keeps the reasoning of all assistant turns, not only of those after the last user message.
  bool preserve_thinking = false;
  bool add_generation_prompt = true;
  /// With a generation prompt, a last message from the assistant is left open for the model to continue.
  /// False closes it as the template does, and the prompt asks for another turn.
  bool continue_final_message = true;
};

/// All that a prompt is made from.
struct ChatRequest {
  std::vector<ChatMessage> messages;
  std::vector<ChatTool> tools;
  ChatOptions options;
};

/// A place in a prompt up to which another request may well begin with the same tokens.
enum class MarkKind {
  kSystemEnd,        ///< the end of the system turn, its newline included
  kAssistantHeader,  ///< after "<|im_start|>assistant\n" and before any <think>
  kTurnEnd,          ///< the end of any other turn, its newline included
};

/// "system_end", "assistant_header", "turn_end".
std::string_view mark_name(MarkKind kind);

/// A rendered prompt.
struct ChatPrompt {
  struct Piece {
    enum class Kind { kText, kControl };
    Kind kind;
    std::string content;  ///< plain text, or the content of one added token
  };

  struct Mark {
    MarkKind kind;
    std::size_t piece;   ///< it stands in this piece, or at its start, or one past the last piece
    std::size_t offset;  ///< in bytes; inside a piece of text it follows a newline that the renderer wrote
  };

  /// No two neighbours are text, so a piece of text is what the reference pipeline finds between two control
  /// tokens.
  std::vector<Piece> pieces;
  std::vector<Mark> marks;  ///< in the order of the prompt

  /// Whether what the model writes next belongs to its thoughts, until it writes </think>.
  bool ends_in_thinking = false;

  /// The prompt as one string.
  std::string text() const;
  /// Where each of the marks stands in text(), in bytes.
  std::vector<std::size_t> mark_offsets() const;
};

/// Renders as the model's chat template does wherever that renders at all. Beyond it:
/// - System messages at the front are merged in order, a blank line between them. A later one becomes a user
///   turn, in its place, that marks it as the system's; the text before it stays the same.
/// - Without a user message that asks something, every assistant turn counts as later than the last question.
/// - Tool messages need no call before them, and open their turn even as the first message.
/// - A last message from the assistant without tool calls is continued: its text stays open, trailing
///   whitespace included, and its thoughts are closed, unless the text opens a <think> that it doesn't close.
///   A blank one is as absent.
ChatPrompt render_chat(const ChatRequest& request);
/// The same without tools.
ChatPrompt render_chat(std::span<const ChatMessage> messages, const ChatOptions& options = {});

/// A prompt as ids. Marks count tokens from its start.
struct EncodedPrompt {
  struct Mark {
    MarkKind kind;
    std::size_t token;  ///< tokens before the mark
  };

  std::vector<TokenId> ids;
  std::vector<Mark> marks;
};

/// Replaces `out` by the prompt's ids and marks. Marks don't change how text is split into tokens; one that
/// would stand inside a token is moved to the start of that token. Throws Error when the tokenizer lacks one
/// of the control tokens.
void encode_prompt(const Tokenizer& tokenizer, const ChatPrompt& prompt, EncodeScratch& scratch,
                   EncodedPrompt& out);
/// The ids alone, with buffers of its own.
std::vector<TokenId> encode_prompt(const Tokenizer& tokenizer, const ChatPrompt& prompt);

}  // namespace lirio
