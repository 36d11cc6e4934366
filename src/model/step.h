// StepInputs: everything of a forward pass that changes from step to step: the rows, the sequences they
// belong to with their state's blocks, the rows that need logits and how to sample them. The plan stays the
// same. Built by the engine for one Backend::run call; plain data, not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "model/state.h"

namespace lirio {

/// One position of one sequence.
struct StepRow {
  int32_t token = 0;       ///< id, below vocab_size; ignored when `embedding` is set
  int32_t embedding = -1;  ///< index into StepInputs::embeddings, or -1
  /// Rotary position (time, height, width); for text all three are the position in the sequence. Dimension
  /// pair i turns by height where i % 3 == 1, by width where i % 3 == 2 (i < 30), else by time.
  std::array<int32_t, 3> position{};
};

/// Consecutive rows of one sequence: its positions state.length() .. + rows - 1.
struct StepSequence {
  int32_t first_row = 0;
  int32_t rows = 0;
  StateView state;
};

/// How to draw a token. The same (logits, params, position) give the same token, in any batch and at any
/// time.
struct SampleParams {
  float temperature = 1.0f;  ///< 0: the highest logit, ties to the lowest id
  int32_t top_k = 0;         ///< 0: all
  float top_p = 1.0f;
  uint64_t seed = 0;
};

/// A row that needs logits: the index of the row, and its sampling.
struct LogitRow {
  int32_t row = 0;
  SampleParams sampling;
};

struct StepInputs {
  std::vector<StepRow> rows;
  std::vector<StepSequence> sequences;  ///< together they cover `rows` in order
  std::vector<LogitRow> logit_rows;     ///< ascending
  std::span<const float> embeddings;    ///< [n, D], for rows that are not tokens
};

}  // namespace lirio
