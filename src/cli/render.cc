// lirio render: a chat request as the exact prompt that the model gets.
#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "cli/chat_input.h"
#include "cli/commands.h"
#include "cli/model_path.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "text/chat.h"
#include "text/tokenizer.h"

namespace lirio::cli {
namespace {

struct RenderOptions {
  std::string file = "-", model;
  ChatFlags chat;
  bool json = false, batch = false;
};

std::string to_json(const ChatPrompt& prompt, const Tokenizer& tokenizer, EncodeScratch& scratch) {
  EncodedPrompt encoded;
  encode_prompt(tokenizer, prompt, scratch, encoded);
  std::string out = "{\"text\": ";
  json::append_string(out, prompt.text());
  out += fmt::format(", \"tokens\": {}, \"ends_in_thinking\": {}, ", encoded.ids.size(),
                     prompt.ends_in_thinking);
  append_marks(out, prompt, encoded);
  return out + "}\n";
}

void render(const RenderOptions& options) {
  if (options.file == "-" && stdin_is_terminal()) {
    throw Error("no request", "Name a JSON file after 'lirio render', or pipe one in.", ExitCode::kUsage);
  }
  if (!options.json && !options.batch) {
    const ChatPrompt prompt = render_chat(read_request(options.file, options.chat));
    if (!options.model.empty()) warn_of_template(options.model);
    write_output(prompt.text());
    return;
  }
  const std::filesystem::path model = model_directory(options.model);
  const Tokenizer tokenizer = Tokenizer::from_directory(model);
  warn_of_template(model);
  EncodeScratch scratch;
  if (!options.batch) {
    write_output(to_json(render_chat(read_request(options.file, options.chat)), tokenizer, scratch));
    return;
  }
  for_each_line(read_input(options.file), [&](std::string_view line) {
    const Result<ChatRequest> request = parse_request(std::string(line), options.chat);
    write_output(request ? to_json(render_chat(*request), tokenizer, scratch)
                         : error_json(request.error()) + "\n");
  });
}

}  // namespace

void add_render_command(CLI::App& app) {
  auto options = std::make_shared<RenderOptions>();
  CLI::App* command = app.add_subcommand("render", "Print the exact prompt that a chat request becomes");
  command
      ->add_option("FILE", options->file,
                   "JSON request, or array of messages; without it, or as -, standard input")
      ->type_name("");
  add_chat_flags(*command, options->chat);
  command->add_flag("--json", options->json, "Print a JSON object: the text, and where turns begin and end");
  command->add_flag("--batch", options->batch,
                    "Read a request per line, print a JSON object per line; a bad one becomes its error");
  add_model_option(*command, options->model, false);
  command->footer(
      "The text has no newline of its own at the end. A model is needed only to count tokens, for --json\n"
      "and --batch. A request is what a client sends: {\"messages\": [...], \"tools\": [...], ...}.\n"
      "Examples:\n"
      "  echo '[{\"role\": \"user\", \"content\": \"Hi\"}]' | lirio render\n"
      "  lirio render --no-think request.json\n"
      "  lirio render --json request.json         with the places up to which a prompt can be reused");
  command->callback([options] { render(*options); });
}

}  // namespace lirio::cli
