#include "cli/chat_input.h"

#include <algorithm>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "text/chat_json.h"
#include "text/template_check.h"

namespace lirio::cli {
namespace {

constexpr const char* kRequestHint =
    "docs/chat.md says what a request may hold; 'lirio render --help' shows one.";

}  // namespace

std::string read_input(const std::string& name) {
  if (name == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::error_code ignored;
  if (std::filesystem::is_directory(name, ignored)) throw Error(name + ": is a folder", "Name a file in it.");
  errno = 0;
  std::ifstream file(name, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) {
    throw Error(fmt::format("{}: can't be read: {}", name, std::strerror(errno)),
                "Check the name and its permissions.");
  }
  return text;
}

void for_each_line(std::string_view text, const std::function<void(std::string_view)>& line) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view content = text.substr(0, end);
    if (content.find_first_not_of(" \t\r") != std::string_view::npos) line(content);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void add_chat_flags(CLI::App& command, ChatFlags& flags) {
  command.add_flag("--no-think", flags.no_think,
                   "End the prompt with closed thoughts, whatever the request says");
  command.add_flag("--preserve-thinking", flags.preserve_thinking,
                   "Keep the thoughts of all answers, whatever the request says");
}

Result<ChatRequest> parse_request(std::string json, const ChatFlags& flags) {
  Result<ChatRequest> request = parse_chat_request(std::move(json));
  if (request && flags.no_think) request->options.enable_thinking = false;
  if (request && flags.preserve_thinking) request->options.preserve_thinking = true;
  return request;
}

ChatRequest read_request(const std::string& name, const ChatFlags& flags) {
  Result<ChatRequest> request = parse_request(read_input(name), flags);
  if (request) return *std::move(request);
  throw Error(fmt::format("{}: {}", name == "-" ? "standard input" : name, request.error().message),
              kRequestHint);
}

std::string error_json(const RequestError& error) {
  std::string out = "{\"error\": {\"message\": ";
  json::append_string(out, error.message);
  out += ", \"param\": ";
  if (error.param.empty()) {
    out += "null";
  } else {
    json::append_string(out, error.param);
  }
  return out + "}}";
}

void append_marks(std::string& out, const ChatPrompt& prompt, const EncodedPrompt& encoded) {
  out += "\"marks\": [";
  const std::vector<std::size_t> offsets = prompt.mark_offsets();
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    out += fmt::format("{}{{\"kind\": \"{}\", \"byte\": {}, \"token\": {}}}", i == 0 ? "" : ", ",
                       mark_name(encoded.marks[i].kind), offsets[i], encoded.marks[i].token);
  }
  out += "]";
}

void warn_of_template(const std::filesystem::path& model) {
  const std::optional<std::string> warning = template_warning(model);
  if (warning) std::fputs(fmt::format("warning: {}\n", *warning).c_str(), stderr);
}

}  // namespace lirio::cli
