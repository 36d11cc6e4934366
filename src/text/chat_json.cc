#include "text/chat_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "text/unicode.h"

namespace lirio {
namespace {

using Value = PythonJson::Value;

constexpr std::string_view kBillingHeader = "x-anthropic-billing-header:";

/// A client's word in quotes, fit for one line of a message.
std::string in_quotes(std::string_view word) {
  constexpr std::size_t kMostBytes = 60;
  std::string out = "'";
  while (!word.empty()) {
    if (out.size() > kMostBytes) {
      out += "...";
      break;
    }
    const Utf8Unit unit = decode_utf8(word);
    append_utf8(out, unit.code_point < 0x20 || unit.code_point == 0x7F ? U'?' : unit.code_point);
    word.remove_prefix(unit.length);
  }
  return out + "'";
}

std::optional<Role> find_role(std::string_view name) {
  if (name == "system" || name == "developer") return Role::kSystem;
  if (name == "user") return Role::kUser;
  if (name == "assistant") return Role::kAssistant;
  if (name == "tool") return Role::kTool;
  return std::nullopt;
}

/// The type of a content part that isn't text, by its name or by what it holds.
std::optional<std::string> find_foreign_type(Value part) {
  const std::optional<Value> type = part.find("type");
  if (type && type->is_string()) {
    std::string name = type->string();
    if (name != "text" && name != "input_text" && name != "output_text") return name;
  }
  for (const char* key : {"image_url", "image", "video"}) {
    if (part.find(key)) return key;
  }
  return std::nullopt;
}

/// Drops the first line of `text` when it is Claude Code's, which changes with each request.
bool drop_billing_line(std::string& text) {
  if (!text.starts_with(kBillingHeader)) return false;
  const std::size_t line_end = text.find('\n');
  text.erase(0, line_end == std::string::npos ? line_end : line_end + 1);
  return true;
}

/// Reads one request. A method that returns false has set the error.
class RequestReader {
 public:
  explicit RequestReader(const ChatOptions& defaults) { request_.options = defaults; }

  Result<ChatRequest> read(Value root) {
    if (root.is_array() ? messages(root) : object(root)) return std::move(request_);
    return std::move(error_);
  }

 private:
  bool fail(const std::string& param, const std::string& what) {
    error_ = {param.empty() ? what : fmt::format("{}: {}", param, what), param};
    return false;
  }

  bool wrong_kind(const std::string& param, const char* expected, Value found) {
    return fail(param, fmt::format("expected {}, found {}", expected, found.kind_name()));
  }

  bool object(Value root) {
    if (!root.is_object()) return wrong_kind("", "an object with messages", root);
    const std::optional<Value> list = root.find_present("messages");
    if (!list) return fail("messages", "expected an array of messages, found nothing");
    return messages(*list) && tools(root) && options(root);
  }

  bool messages(Value list) {
    if (!list.is_array()) return wrong_kind("messages", "an array of messages", list);
    std::size_t index = 0;
    for (const Value element : list.elements()) {
      if (!message(element, fmt::format("messages[{}]", index++))) return false;
    }
    if (index == 0) return fail("messages", "expected at least one message, found none");
    return true;
  }

  bool message(Value element, const std::string& path) {
    if (!element.is_object()) return wrong_kind(path, "an object", element);
    const std::optional<Value> role = element.find("role");
    if (!role || !role->is_string())
      return fail(path + ".role", "expected the role of the message as a string");
    const std::optional<Role> known = find_role(role->string());
    if (!known) {
      return fail(path + ".role",
                  fmt::format("unknown role {}; the roles are system, developer, user, assistant, tool",
                              in_quotes(role->string())));
    }
    ChatMessage out{*known, {}};
    in_first_system_text_ = out.role == Role::kSystem && request_.messages.empty();
    dropped_billing_ = false;
    if (!content(element.find_present("content"), path + ".content", out.content)) return false;
    if (dropped_billing_ && strip(out.content).empty()) return true;
    if (out.role == Role::kAssistant) {
      reasoning(element, out);
      if (!tool_calls(element.find_present("tool_calls"), path + ".tool_calls", out)) return false;
    }
    request_.messages.push_back(std::move(out));
    return true;
  }

  bool content(std::optional<Value> value, const std::string& path, std::string& out) {
    if (!value) return true;
    if (value->is_string()) {
      append_text(value->string(), out);
      return true;
    }
    if (!value->is_array()) return wrong_kind(path, "a string, an array of parts or null", *value);
    std::size_t index = 0;
    for (const Value part : value->elements()) {
      if (!content_part(part, fmt::format("{}[{}]", path, index++), out)) return false;
    }
    return true;
  }

  bool content_part(Value part, const std::string& path, std::string& out) {
    if (!part.is_object()) return wrong_kind(path, "an object", part);
    if (const std::optional<std::string> type = find_foreign_type(part)) {
      return fail(path, fmt::format("content of type {} can't be read; this engine reads text only",
                                    in_quotes(*type)));
    }
    const std::optional<Value> text = part.find("text");
    if (!text || !text->is_string()) return fail(path + ".text", "expected the text of the part as a string");
    append_text(text->string(), out);
    return true;
  }

  void append_text(std::string text, std::string& out) {
    if (std::exchange(in_first_system_text_, false)) dropped_billing_ = drop_billing_line(text);
    if (out.empty()) {
      out = std::move(text);
    } else {
      out += text;
    }
  }

  static void reasoning(Value element, ChatMessage& out) {
    for (const char* key : {"reasoning_content", "reasoning"}) {
      const std::optional<Value> value = element.find(key);
      if (!value || !value->is_string()) continue;
      out.reasoning_content = value->string();
      return;
    }
  }

  bool tool_calls(std::optional<Value> list, const std::string& path, ChatMessage& out) {
    if (!list) return true;
    if (!list->is_array()) return wrong_kind(path, "an array of calls", *list);
    std::size_t index = 0;
    for (const Value element : list->elements()) {
      if (!tool_call(element, fmt::format("{}[{}]", path, index++), out)) return false;
    }
    return true;
  }

  bool tool_call(Value element, std::string path, ChatMessage& out) {
    if (!element.is_object()) return wrong_kind(path, "an object", element);
    std::optional<Value> function = element.find_present("function");
    if (function) {
      path += ".function";
      if (!function->is_object()) return wrong_kind(path, "an object", *function);
    } else {
      function = element;
    }
    ToolCall call;
    const std::optional<Value> name = function->find("name");
    if (!name || !name->is_string() || name->string().empty()) {
      return fail(path + ".name", "expected the name of the function as a string");
    }
    call.name = name->string();
    if (!arguments(function->find_present("arguments"), path + ".arguments", call)) return false;
    out.tool_calls.push_back(std::move(call));
    return true;
  }

  bool arguments(std::optional<Value> value, const std::string& path, ToolCall& call) {
    if (!value) return true;
    if (value->is_object()) {
      append_arguments(*value, call);
      return true;
    }
    if (!value->is_string()) return wrong_kind(path, "an object or its JSON text", *value);
    std::string text = value->string();
    if (strip(text).empty()) return true;
    const Result<PythonJson> parsed = PythonJson::parse(std::move(text));
    if (!parsed) return fail(path, parsed.error().message);
    const Value root = parsed->root();
    if (root.is_null()) return true;
    if (!root.is_object()) return wrong_kind(path, "the JSON text of an object", root);
    append_arguments(root, call);
    return true;
  }

  static void append_arguments(Value object, ToolCall& call) {
    for (PythonJson::Member& member : object.members()) {
      call.arguments.push_back(
          {std::move(member.key), member.value.is_string() ? member.value.string() : member.value.dump()});
    }
  }

  bool tools(Value root) {
    const std::optional<Value> list = root.find_present("tools");
    if (!list) return true;
    if (!list->is_array()) return wrong_kind("tools", "an array of tools", *list);
    std::size_t index = 0;
    for (const Value element : list->elements()) {
      std::string path = fmt::format("tools[{}]", index++);
      if (!element.is_object()) return wrong_kind(path, "an object", element);
      std::optional<Value> function = element.find_present("function");
      if (function) path += ".function";
      const std::optional<Value> name = (function ? *function : element).find("name");
      if (!name || !name->is_string())
        return fail(path + ".name", "expected the name of the function as a string");
      request_.tools.push_back({name->string(), element.dump()});
    }
    return true;
  }

  bool options(Value root) {
    const std::optional<Value> extra = root.find_present("chat_template_kwargs");
    if (extra && !extra->is_object()) return wrong_kind("chat_template_kwargs", "an object", *extra);
    ChatOptions& options = request_.options;
    // From the weakest to the strongest word on thinking.
    if (!reasoning_effort(root) || !thinking(root) ||
        !flag(root, "", "enable_thinking", options.enable_thinking)) {
      return false;
    }
    for (const auto& [key, target] : {std::pair{"preserve_thinking", &options.preserve_thinking},
                                      std::pair{"add_generation_prompt", &options.add_generation_prompt},
                                      std::pair{"continue_final_message", &options.continue_final_message}}) {
      if (!flag(root, "", key, *target)) return false;
      if (extra && !flag(*extra, "chat_template_kwargs.", key, *target)) return false;
    }
    return !extra || flag(*extra, "chat_template_kwargs.", "enable_thinking", options.enable_thinking);
  }

  bool reasoning_effort(Value root) {
    const std::optional<Value> effort = root.find_present("reasoning_effort");
    if (!effort) return true;
    if (!effort->is_string()) return wrong_kind("reasoning_effort", "a string", *effort);
    request_.options.enable_thinking = effort->string() != "none";
    return true;
  }

  bool thinking(Value root) {
    const std::optional<Value> value = root.find_present("thinking");
    if (!value) return true;
    if (const std::optional<bool> given = value->as_bool()) {
      request_.options.enable_thinking = *given;
      return true;
    }
    if (!value->is_object()) return wrong_kind("thinking", "an object or a boolean", *value);
    const std::optional<Value> type = value->find("type");
    const std::string name = type ? type->string() : "";
    if (name != "disabled" && name != "enabled" && name != "adaptive") {
      return fail("thinking.type", "expected 'enabled', 'disabled' or 'adaptive'");
    }
    request_.options.enable_thinking = name != "disabled";
    return true;
  }

  bool flag(Value object, const std::string& prefix, const char* key, bool& target) {
    const std::optional<Value> value = object.find_present(key);
    if (!value) return true;
    const std::optional<bool> given = value->as_bool();
    if (!given) return wrong_kind(prefix + key, "true or false", *value);
    target = *given;
    return true;
  }

  ChatRequest request_;
  RequestError error_;
  // Of the message that is being read.
  bool in_first_system_text_ = false;
  bool dropped_billing_ = false;
};

}  // namespace

Result<ChatRequest> read_chat_request(PythonJson::Value request, const ChatOptions& defaults) {
  return RequestReader(defaults).read(request);
}

Result<ChatRequest> parse_chat_request(std::string json, const ChatOptions& defaults) {
  const Result<PythonJson> document = PythonJson::parse(std::move(json));
  if (!document) return document.error();
  return read_chat_request(document->root(), defaults);
}

}  // namespace lirio
