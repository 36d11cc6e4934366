#include "engine/generator.h"

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "base/error.h"

namespace lirio {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

double GenerateResult::tokens_per_second() const {
  return steps_after_first_token > 0
             ? static_cast<double>(steps_after_first_token) / seconds_after_first_token
             : 0;
}

Generator::Generator(Backend& backend, int64_t state_limit_bytes)
    : backend_(backend), pool_(backend.state_storage(), state_limit_bytes) {}

GenerateResult Generator::generate(const GenerateRequest& request,
                                   const std::function<void(int64_t, int64_t)>& on_prompt,
                                   const std::function<void(int32_t)>& on_token) {
  const auto prompt_tokens = static_cast<int64_t>(request.prompt.size());
  const int64_t context = backend_.plan().config.max_position_embeddings;
  CHECK(prompt_tokens > 0 && request.rows_per_step > 0);
  if (prompt_tokens >= context) {
    throw Error(fmt::format("the prompt has {} tokens, but the model's context holds {}, the answer included",
                            prompt_tokens, context),
                "Shorten the prompt.");
  }
  GenerateResult result;
  result.finish = FinishReason::kLength;
  if (request.max_tokens <= 0) return result;

  const Clock::time_point start = Clock::now();
  SequenceState state(pool_);
  int32_t token = 0;
  while (state.length() < prompt_tokens) {
    const int64_t rows = std::min(request.rows_per_step, prompt_tokens - state.length());
    const bool last = state.length() + rows == prompt_tokens;
    const auto first = static_cast<size_t>(state.length());
    token = step(state, std::span(request.prompt).subspan(first, static_cast<size_t>(rows)), last,
                 request.sampling);
    if (on_prompt) on_prompt(state.length(), prompt_tokens);
  }
  result.seconds_to_first_token = seconds_since(start);

  const Clock::time_point first_token = Clock::now();
  const int64_t limit = std::min(request.max_tokens, context - prompt_tokens);
  for (;;) {
    if (std::find(request.stop_ids.begin(), request.stop_ids.end(), token) != request.stop_ids.end()) {
      result.finish = FinishReason::kStop;
      break;
    }
    result.tokens.push_back(token);
    if (on_token) on_token(token);
    if (static_cast<int64_t>(result.tokens.size()) == limit) break;
    token = step(state, {&token, 1}, true, request.sampling);
    ++result.steps_after_first_token;
  }
  result.seconds_after_first_token = seconds_since(first_token);
  return result;
}

int32_t Generator::step(SequenceState& state, std::span<const int32_t> tokens, bool needs_token,
                        const SampleParams& sampling) {
  const auto rows = static_cast<int32_t>(tokens.size());
  if (!state.begin_append(rows)) {
    throw Error(
        fmt::format("the sequence's state needs more than its limit of {} bytes", pool_.limit_bytes()),
        "Shorten the prompt or lower --max-tokens.");
  }
  StepInputs inputs;
  for (int32_t i = 0; i < rows; ++i) {
    const auto position = static_cast<int32_t>(state.length()) + i;
    inputs.rows.push_back({tokens[static_cast<size_t>(i)], -1, {position, position, position}});
  }
  inputs.sequences.push_back({0, rows, state.view()});
  if (needs_token) inputs.logit_rows.push_back({rows - 1, sampling});
  const std::vector<int32_t> drawn = backend_.run(inputs);
  state.commit();
  return needs_token ? drawn[0] : 0;
}

}  // namespace lirio
