// Compares two executions of a plan op by op on the same tokens and finds the first op whose values differ by
// more than a budget: the tool that every backend, and every other way of cutting a prompt into steps, is
// debugged with. Called by `lirio inspect --trace` and by tests, on one thread.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"

namespace lirio {

/// A backend, and the rows it is given per step (the whole text in one step: the largest integer).
struct Execution {
  Backend& backend;
  int64_t rows_per_step = std::numeric_limits<int64_t>::max();
};

struct CompareOptions {
  /// Relative L2 error of a float value that counts as equal; integers must be equal.
  double budget = 1e-5;
  /// Indices into Plan::instructions, inclusive: only these are compared. Before `first_op` the second
  /// execution is given the first one's values, so that an error from earlier ops is left out.
  int first_op = 0;
  int last_op = std::numeric_limits<int>::max();
  /// Give the second execution the first one's values after every op: each op is judged on equal inputs.
  bool isolate = false;
  /// Makes the second execution wrong at this op (its first value is off by 1 part in 1,000): shows that the
  /// comparison finds a fault.
  std::optional<int> inject;
};

/// One value of one op over all rows.
struct ValueDifference {
  int op;
  ValueId value;
  int64_t rows;
  double relative_l2;  ///< |b - a| / |a|; for integers the share that differs
  double largest;      ///< largest |b - a| of an element
  int64_t worst_row;   ///< where that is
  bool over_budget;    ///< NaN is over every budget
};

/// Runs `tokens` as one sequence through both executions of the same plan. Returns a difference for each
/// value in the range that both store, in op order. The logits are compared on the last row. Throws Error
/// when memory for the recorded values (all of the range, all rows) or the states can't be had.
std::vector<ValueDifference> compare_executions(std::span<const int32_t> tokens, Execution a, Execution b,
                                                const CompareOptions& options = {});

/// The first over its budget, or nullptr.
const ValueDifference* first_over_budget(std::span<const ValueDifference> differences);

}  // namespace lirio
