// Generator: one sequence at a time, from prompt ids to generated ids, on the calling thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "backend/backend.h"

namespace lirio {

enum class FinishReason : uint8_t {
  kStop,    ///< a stop id was drawn; it is not among the tokens
  kLength,  ///< max_tokens, or the end of the context
};

struct GenerateRequest {
  std::vector<int32_t> prompt;    ///< not empty
  std::vector<int32_t> stop_ids;  ///< each ends the answer
  SampleParams sampling;
  int64_t max_tokens = 0;
  int64_t rows_per_step = 256;  ///< of the prompt
};

struct GenerateResult {
  std::vector<int32_t> tokens;
  FinishReason finish = FinishReason::kStop;
  double seconds_to_first_token = 0;
  double seconds_after_first_token = 0;
  int64_t steps_after_first_token = 0;  ///< the one that drew a stop id included

  /// Steps per second after the first token; 0 when there was none.
  double tokens_per_second() const;
};

class Generator {
 public:
  /// At most `state_limit_bytes` of sequence state.
  Generator(Backend& backend, int64_t state_limit_bytes);

  /// Calls `on_prompt(done, total)` after each step of the prompt and `on_token` with each token as it is
  /// drawn; both may be empty. Throws Error when the prompt doesn't fit the context or the state's memory.
  GenerateResult generate(const GenerateRequest& request,
                          const std::function<void(int64_t, int64_t)>& on_prompt,
                          const std::function<void(int32_t)>& on_token);

 private:
  int32_t step(SequenceState& state, std::span<const int32_t> tokens, bool needs_token,
               const SampleParams& sampling);

  Backend& backend_;
  StatePool pool_;
};

}  // namespace lirio
