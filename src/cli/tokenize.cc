// lirio tokenize: text, or a chat request, as token ids.
#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cli/chat_input.h"
#include "cli/commands.h"
#include "cli/model_path.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "text/chat.h"
#include "text/python_json.h"
#include "text/tokenizer.h"

namespace lirio::cli {
namespace {

struct TokenizeOptions {
  std::optional<std::string> text, chat_file;
  std::string model;
  ChatFlags chat;
  bool json = false, count = false, batch = false;
};

/// One text or prompt as tokens.
struct Tokens {
  EncodedPrompt encoded;
  std::size_t bytes = 0;
  std::optional<ChatPrompt> prompt;
};

class TokenizeCommand {
 public:
  TokenizeCommand(const TokenizeOptions& options, const Tokenizer& tokenizer)
      : options_(options), tokenizer_(tokenizer) {}

  void run() {
    if (options_.batch) {
      for_each_line(read_input(options_.chat_file.value_or("-")),
                    [this](std::string_view line) { print_line(line); });
    } else if (options_.chat_file) {
      print(encode(render_chat(read_request(*options_.chat_file, options_.chat))));
    } else {
      print(encode(options_.text && *options_.text != "-" ? *options_.text : read_input("-")));
    }
  }

 private:
  Tokens encode(ChatPrompt prompt) {
    Tokens tokens;
    encode_prompt(tokenizer_, prompt, scratch_, tokens.encoded);
    for (const ChatPrompt::Piece& piece : prompt.pieces)
      tokens.bytes += piece.content.size();
    tokens.prompt = std::move(prompt);
    return tokens;
  }

  Tokens encode(const std::string& text) {
    Tokens tokens;
    tokenizer_.encode(text, scratch_, tokens.encoded.ids);
    tokens.bytes = text.size();
    return tokens;
  }

  /// A line of --batch: a request, or a text as a JSON string.
  void print_line(std::string_view line) {
    const Result<Tokens> tokens = read_line(std::string(line));
    write_output((tokens ? to_json(*tokens) : error_json(tokens.error())) + "\n");
  }

  Result<Tokens> read_line(std::string line) {
    if (options_.chat_file) {
      const Result<ChatRequest> request = parse_request(std::move(line), options_.chat);
      if (!request) return request.error();
      return encode(render_chat(*request));
    }
    const Result<PythonJson> text = PythonJson::parse(std::move(line));
    if (!text) return text.error();
    if (!text->root().is_string()) return RequestError{"expected a JSON string in each line", ""};
    return encode(text->root().string());
  }

  void print(const Tokens& tokens) {
    if (options_.count) {
      write_output(fmt::format("{}\n", tokens.encoded.ids.size()));
      return;
    }
    if (options_.json) {
      write_output(to_json(tokens) + "\n");
      return;
    }
    std::string out;
    for (const TokenId id : tokens.encoded.ids)
      out += fmt::format("{:>7}  {}\n", id, readable(id));
    write_output(out);
    std::fputs(fmt::format("{} tokens, {} bytes\n", tokens.encoded.ids.size(), tokens.bytes).c_str(), stderr);
  }

  /// A control token as it is; any other in quotes, with bytes that are only part of a character as \xE4.
  std::string readable(TokenId id) const {
    std::string_view bytes = tokenizer_.token_bytes(id);
    if (tokenizer_.is_added(id)) return std::string(bytes);
    std::string out = "\"";
    while (!bytes.empty()) {
      const Utf8Unit unit = decode_utf8(bytes);
      const std::string_view unit_bytes = bytes.substr(0, unit.length);
      if (unit.valid) {
        std::string quoted;
        json::append_string(quoted, unit_bytes);
        out += std::string_view(quoted).substr(1, quoted.size() - 2);
      } else {
        for (const char byte : unit_bytes)
          out += fmt::format("\\x{:02X}", static_cast<uint8_t>(byte));
      }
      bytes.remove_prefix(unit.length);
    }
    return out + "\"";
  }

  std::string to_json(const Tokens& tokens) const {
    std::string out = fmt::format("{{\"count\": {}, \"bytes\": {}", tokens.encoded.ids.size(), tokens.bytes);
    if (options_.count) return out + "}";
    out += ", \"ids\": [";
    std::string pieces;
    for (const TokenId id : tokens.encoded.ids) {
      const char* comma = pieces.empty() ? "" : ", ";
      out += fmt::format("{}{}", comma, id);
      pieces += comma;
      json::append_string(pieces, tokenizer_.token_bytes(id));
    }
    out += "], \"pieces\": [" + pieces + "]";
    if (tokens.prompt) {
      out += ", ";
      append_marks(out, *tokens.prompt, tokens.encoded);
    }
    return out + "}";
  }

  const TokenizeOptions& options_;
  const Tokenizer& tokenizer_;
  EncodeScratch scratch_;
};

void tokenize(const TokenizeOptions& options) {
  if (options.text && (options.chat_file || options.batch)) {
    throw Error(
        fmt::format("a text and {} can't be given together", options.chat_file ? "--chat" : "--batch"),
        "Leave one of them out.", ExitCode::kUsage);
  }
  if (!options.chat_file && (options.chat.no_think || options.chat.preserve_thinking)) {
    throw Error(fmt::format("{} needs --chat", options.chat.no_think ? "--no-think" : "--preserve-thinking"),
                "Name a request with --chat FILE, or leave the flag out.", ExitCode::kUsage);
  }
  const bool reads_stdin = options.chat_file ? *options.chat_file == "-" : options.text.value_or("-") == "-";
  if (reads_stdin && stdin_is_terminal()) {
    throw Error("no text", "Write it after 'lirio tokenize', in quotes, or pipe it in.", ExitCode::kUsage);
  }
  const std::filesystem::path model = model_directory(options.model);
  const Tokenizer tokenizer = Tokenizer::from_directory(model);
  if (options.chat_file) warn_of_template(model);
  TokenizeCommand(options, tokenizer).run();
}

}  // namespace

void add_tokenize_command(CLI::App& app) {
  auto options = std::make_shared<TokenizeOptions>();
  CLI::App* command = app.add_subcommand("tokenize", "Print the tokens of a text or of a chat request");
  CLI::callback_t read_argument = [options](const CLI::results_t& texts) {
    options->text = texts.back();
    return true;
  };
  command->add_option("TEXT", read_argument, "Text; without it, or as -, standard input is read to its end")
      ->type_name("");
  command
      ->add_option("--chat", options->chat_file, "JSON request to render and tokenize; - for standard input")
      ->type_name("FILE");
  add_chat_flags(*command, options->chat);
  command->add_flag("--count", options->count, "Print only how many tokens there are");
  command->add_flag("--json", options->json,
                    "Print a JSON object: count, ids, pieces, and a request's marks");
  command->add_flag("--batch", options->batch,
                    "Read a JSON string (with --chat: a request) per line, print a JSON object per line");
  add_model_option(*command, options->model, false);
  command->footer(
      "A text never becomes a control token, even if it spells one. Pieces are shown in quotes, with bytes\n"
      "that are part of a character as \\xE4; control tokens of a request without quotes.\n"
      "Examples:\n"
      "  lirio tokenize \"Hello, world!\"\n"
      "  lirio tokenize --count --model DIR < book.txt\n"
      "  lirio tokenize --chat request.json --json");
  command->callback([options] { tokenize(*options); });
}

}  // namespace lirio::cli
