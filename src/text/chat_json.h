// Chat requests as clients send them: JSON with messages, tools and the switches of thinking, read into a
// ChatRequest. Called by the server for each request and by the commands. Stateless, thread-safe.
//
// This is where bytes that nobody vouches for come in: whatever they are, the answer is a ChatRequest or a
// RequestError. What is forgiven is listed in docs/chat.md; fields that don't concern rendering are not
// looked at.
#pragma once

#include <string>

#include "base/result.h"
#include "text/chat.h"
#include "text/python_json.h"

namespace lirio {

/// Reads an object with `messages` and perhaps `tools`, or a bare array of messages.
///
/// A message has a `role` (system, developer, user, assistant, tool), `content` (a string, an array of text
/// parts, null or nothing), and as an assistant's `reasoning_content` or `reasoning`, and `tool_calls`, whose
/// `arguments` are an object or the JSON text of one. Developer is system. A first system text that begins
/// with a line "x-anthropic-billing-header: ..." loses that line: it changes with each request.
///
/// `defaults` holds for what the request doesn't say. Thinking is switched, the first of these that is there
/// deciding, by `chat_template_kwargs.enable_thinking`, `enable_thinking`, `thinking` (a boolean, or an
/// object whose `type` is "disabled", "enabled" or "adaptive") and `reasoning_effort` ("none" or anything
/// else). `preserve_thinking`, `add_generation_prompt` and `continue_final_message` may stand in
/// chat_template_kwargs or beside it.
Result<ChatRequest> read_chat_request(PythonJson::Value request, const ChatOptions& defaults = {});

/// The same from the text.
Result<ChatRequest> parse_chat_request(std::string json, const ChatOptions& defaults = {});

}  // namespace lirio
