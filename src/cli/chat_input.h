// What `lirio tokenize` and `lirio render` have in common: reading their input, and a chat request from it.
// Used by the commands, on one thread.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/chat.h"

namespace lirio::cli {

/// All of the file `name`, or of standard input when it is "-". Throws Error naming it when it can't be read.
std::string read_input(const std::string& name);

/// Calls `line` for each line of `text` that isn't blank, without its end.
void for_each_line(std::string_view text, const std::function<void(std::string_view)>& line);

/// Flags that say more than the request does.
struct ChatFlags {
  bool no_think = false, preserve_thinking = false;
};

void add_chat_flags(CLI::App& command, ChatFlags& flags);

/// The request in `json`, or what is wrong with it.
Result<ChatRequest> parse_request(std::string json, const ChatFlags& flags);

/// The same, of the input `name`; throws Error naming it and the field.
ChatRequest read_request(const std::string& name, const ChatFlags& flags);

/// {"error": {"message": ..., "param": ...}}
std::string error_json(const RequestError& error);

/// Appends `"marks": [{"kind": ..., "byte": ..., "token": ...}, ...]`.
void append_marks(std::string& out, const ChatPrompt& prompt, const EncodedPrompt& encoded);

/// Says on standard error when the model's own chat template is not one that lirio knows.
void warn_of_template(const std::filesystem::path& model);

}  // namespace lirio::cli
