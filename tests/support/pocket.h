// The pocket model and its reference data, loaded once per test process, and the loop that most model tests
// need: run tokens of one sequence through a backend, step by step, and keep the logits of every row.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/ref/ref_backend.h"
#include "engine/loaded_model.h"
#include "weights/safetensors.h"

namespace lirio::testing {

const LoadedModel& pocket();

/// A reference backend for the pocket model, on one thread (tests run beside each other).
std::unique_ptr<Backend> pocket_backend(GdnForm form = GdnForm::kLog);

/// The first four layers of the pocket model (three Gated DeltaNet, one full attention) with its norm and
/// head: what tests of paths need, at half the time.
const Plan& short_plan();
std::unique_ptr<Backend> short_backend(GdnForm form = GdnForm::kLog, int threads = 1);

/// Tensor `name` of tests/golden/pocket/reference.safetensors, and its elements as T.
const Tensor& reference_tensor(const std::string& name);
template <typename T>
std::vector<T> reference_values(const std::string& name) {
  const Tensor& tensor = reference_tensor(name);
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}
inline constexpr int kReferenceConversations = 7;

/// Token ids of reference conversation `index`.
std::vector<int32_t> reference_ids(int index);

/// The first `count` tokens of reference conversation 2, the longest.
std::vector<int32_t> sample_tokens(int64_t count);

inline constexpr int64_t kOneStep = std::numeric_limits<int64_t>::max();
inline constexpr int64_t kPlenty = int64_t{1} << 40;

/// Rows to append to one sequence in a step; several make a step of several sequences.
struct Append {
  SequenceState& state;
  std::span<const int32_t> tokens;
};

/// One step. Returns the logits of every row, in step order: [rows, vocab_size]. Commits the states.
std::vector<float> run_step(Backend& backend, std::vector<Append> appends);

/// Appends `tokens` in steps of at most `rows_per_step` rows; returns the logits of every row.
std::vector<float> run_tokens(Backend& backend, SequenceState& state, std::span<const int32_t> tokens,
                              int64_t rows_per_step = kOneStep);

/// Rows [begin, end) of logits.
std::span<const float> logit_rows(const std::vector<float>& logits, int64_t begin, int64_t end);

/// True when both have the same bits; says which row and id differ first otherwise.
::testing::AssertionResult same_bits(std::span<const float> a, std::span<const float> b);

}  // namespace lirio::testing
