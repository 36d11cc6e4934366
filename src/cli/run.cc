// lirio run: one prompt, one answer, streamed.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "backend/ref/ref_backend.h"
#include "base/error.h"
#include "base/json.h"
#include "base/machine.h"
#include "cli/commands.h"
#include "cli/model_path.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "engine/generator.h"
#include "engine/loaded_model.h"
#include "text/chat.h"
#include "text/output_parser.h"

namespace lirio::cli {
namespace {

struct RunOptions {
  std::optional<std::string> prompt;
  std::string model, system;
  bool no_think = false, json = false;
  std::optional<int64_t> max_tokens;
  std::optional<uint64_t> seed;
  std::optional<double> temperature, top_p;
  std::optional<int64_t> top_k;
};

std::string read_prompt(const RunOptions& options) {
  if (!options.prompt && stdin_is_terminal()) {
    throw Error("no prompt", "Write it after 'lirio run', in quotes, or pipe it in.", ExitCode::kUsage);
  }
  const bool piped = !options.prompt || *options.prompt == "-";
  const std::string text =
      piped ? std::string{std::istreambuf_iterator<char>(std::cin), {}} : *options.prompt;
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw Error(piped ? "the prompt from standard input is empty" : "the prompt is empty",
                "Write what to ask after 'lirio run', in quotes, or pipe it in.", ExitCode::kUsage);
  }
  return text;
}

/// Streams what a person wants to see of the model's output: the answer; on a terminal the thoughts before
/// it, dimmed.
class Answer {
 public:
  Answer(const Tokenizer& tokenizer, bool thinking, bool stream)
      : tokenizer_(tokenizer),
        parser_({.thinking = thinking ? ThinkingStart::kOpen : ThinkingStart::kNone}),
        stream_(stream),
        show_thoughts_(stream && stdout_is_terminal()) {}

  void push(TokenId token) {
    if (tokenizer_.is_special(token)) return;  // a control token of the chat format is no text
    parser_.push(tokenizer_.token_bytes(token), events_);
    take_events();
  }

  void finish(FinishReason reason) {
    const OutputEnd end = reason == FinishReason::kStop ? OutputEnd::kTurn : OutputEnd::kCut;
    in_reasoning_ = parser_.finish(end, events_).in_reasoning;
    take_events();
    end_thoughts("\n");
    const std::string& content = message_.content;
    if (stream_ && !content.empty() && content.back() != '\n') write_output("\n");
  }

  /// After finish(): whether the answer has not begun.
  bool ended_in_reasoning() const { return in_reasoning_; }
  const std::string& reasoning() const { return message_.reasoning; }
  const std::string& content() const { return message_.content; }

 private:
  void take_events() {
    for (const OutputEvent& event : events_) {
      message_.add(event);
      if (event.kind == OutputEvent::Kind::kReasoning) {
        if (!show_thoughts_) continue;
        dimmed_.begin();
        showing_thoughts_ = true;
        write_output(event.text);
      } else if (stream_) {
        end_thoughts("\n\n");
        write_output(event.text);
      }
    }
    events_.clear();
  }

  void end_thoughts(std::string_view gap) {
    if (!std::exchange(showing_thoughts_, false)) return;
    dimmed_.end();
    write_output(gap);
  }

  const Tokenizer& tokenizer_;
  OutputParser parser_;
  std::vector<OutputEvent> events_;
  OutputMessage message_;
  DimmedOutput dimmed_;
  const bool stream_, show_thoughts_;
  bool showing_thoughts_ = false, in_reasoning_ = false;
};

GenerateRequest make_request(const RunOptions& options, const LoadedModel& model, const std::string& prompt) {
  std::vector<ChatMessage> messages;
  if (!options.system.empty()) messages.push_back({Role::kSystem, options.system});
  messages.push_back({Role::kUser, prompt});
  GenerateRequest request;
  request.prompt =
      encode_prompt(model.tokenizer(), render_chat(messages, {.enable_thinking = !options.no_think}));
  request.stop_ids = model.config().eos_token_ids;
  request.max_tokens = options.max_tokens.value_or(model.config().max_position_embeddings);
  request.sampling = {
      .temperature = static_cast<float>(options.temperature.value_or(model.config().temperature)),
      .top_k = static_cast<int32_t>(options.top_k.value_or(model.config().top_k)),
      .top_p = static_cast<float>(options.top_p.value_or(model.config().top_p)),
      .seed = options.seed ? *options.seed : std::random_device{}()};
  return request;
}

void print_json(const LoadedModel& model, const GenerateRequest& request, const GenerateResult& result,
                const Answer& answer) {
  std::string out = "{\"model\": ";
  json::append_string(out, model.directory().string());
  out += ", \"reasoning\": ";
  json::append_string(out, answer.reasoning());
  out += ", \"content\": ";
  json::append_string(out, answer.content());
  out += fmt::format(
      ", \"finish_reason\": \"{}\", \"prompt_tokens\": {}, \"generated_tokens\": {}, \"seed\": {}, "
      "\"seconds_to_first_token\": {:.6f}, \"tokens_per_second\": {:.3f}}}\n",
      result.finish == FinishReason::kStop ? "stop" : "length", request.prompt.size(), result.tokens.size(),
      request.sampling.seed, result.seconds_to_first_token, result.tokens_per_second());
  write_output(out);
}

void run(const RunOptions& options) {
  const std::string prompt = read_prompt(options);
  const LoadedModel model(model_directory(options.model));
  const std::unique_ptr<Backend> backend =
      make_ref_backend(model.plan(), model.weights(), cpu_budget().usable);
  // Half of what is free now, so that a long prompt ends in a message and not in swapping.
  Generator generator(*backend, memory_budget().available_bytes / 2);
  const GenerateRequest request = make_request(options, model, prompt);

  Answer answer(model.tokenizer(), !options.no_think, !options.json);
  ProgressLine progress("Reading the prompt");
  const GenerateResult result = generator.generate(
      request,
      [&](int64_t done, int64_t total) {
        progress.update(done, total, "tokens");
        if (done == total) progress.clear();
      },
      [&](int32_t token) { answer.push(token); });
  answer.finish(result.finish);

  if (options.json) {
    print_json(model, request, result, answer);
    return;
  }
  const bool cut = result.finish == FinishReason::kLength;
  std::fputs(fmt::format("{} prompt tokens, {} generated, {:.1f} tok/s, first token after {:.2f} s{}{}\n",
                         request.prompt.size(), result.tokens.size(), result.tokens_per_second(),
                         result.seconds_to_first_token, cut ? "; stopped by the token limit" : "",
                         cut && answer.ended_in_reasoning() ? " before the answer began" : "")
                 .c_str(),
             stderr);
}

}  // namespace

void add_run_command(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Answer one prompt, streaming the text");
  CLI::callback_t read_argument = [options](const CLI::results_t& texts) {
    options->prompt = texts.back();
    return true;
  };
  command
      ->add_option("PROMPT", read_argument,
                   "What to ask; without it, or as -, standard input is read to its end")
      ->type_name("");
  add_model_option(*command, options->model, false);
  command->add_option("--system", options->system, "System message")->type_name("TEXT");
  command->add_flag("--no-think", options->no_think, "Answer at once, without thinking first");
  constexpr int64_t kMost = int64_t{1} << 30;
  add_number<int64_t>(*command, "--max-tokens", options->max_tokens, 1, kMost,
                      "Most tokens to generate, thoughts included (default: what the context holds)")
      ->type_name("N");
  add_number<uint64_t>(*command, "--seed", options->seed, 0, std::numeric_limits<uint64_t>::max(),
                       "Seed of the draw: the same seed gives the same text (default: random)")
      ->type_name("N");
  add_number<double>(*command, "--temperature", options->temperature, 0, 100,
                     "0 always takes the likeliest token; more draws more freely (default: the model's)")
      ->type_name("T");
  add_number<int64_t>(*command, "--top-k", options->top_k, 0, kMost,
                      "Draw from the K likeliest tokens, 0: from all (default: the model's)")
      ->type_name("K");
  add_number<double>(*command, "--top-p", options->top_p, 0, 1,
                     "Draw from the likeliest tokens that make up the share P, 0 to 1 (default: the model's)")
      ->type_name("P");
  command->add_flag("--json", options->json, "Print one JSON object at the end instead of streaming text");
  command->footer(
      "On a terminal the model's thoughts are shown dimmed; through a pipe only the answer is written.\n"
      "Examples:\n"
      "  lirio run --no-think \"Reverse the word lantern.\"\n"
      "  git diff | lirio run --model DIR --system \"Write a commit message for this diff.\"\n"
      "  lirio run --json --temperature 0 \"What is 47 + 85?\"");
  command->callback([options] { run(*options); });
}

}  // namespace lirio::cli
