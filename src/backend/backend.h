// Backend: executes a plan on one kind of hardware. The engine sees this header alone.
// A backend is used by one thread, the inference thread; it may use more threads or a device inside.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/plan.h"
#include "model/state.h"
#include "model/step.h"

namespace lirio {

/// The values of a step in progress, for tracing. Rows are in step order, [rows, width].
class StepValues {
 public:
  virtual ~StepValues() = default;
  /// False for a value that a fused form of this backend doesn't store, or that isn't written yet or no
  /// longer kept.
  virtual bool holds(ValueId id) const = 0;
  /// Elements of a held value; kInt32 values are converted, exactly.
  virtual std::vector<float> read(ValueId id) = 0;
  /// Replaces a held value; `elements` as read() gives them.
  virtual void write(ValueId id, std::span<const float> elements) = 0;
};

/// Called by a backend after each op, or after the last op of a fused form. Slows the step down; for tracing
/// only.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  /// `op` is an index into Plan::instructions.
  virtual void after_op(int op, StepValues& values) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  /// "ref", "cpu": what flags and messages call it.
  virtual std::string name() const = 0;
  virtual const Plan& plan() const = 0;
  /// Where the blocks of its sequences live. Lives as long as the backend.
  virtual StateStorage& state_storage() = 0;
  /// Bytes that a step of `rows` rows, `logit_rows` of them with logits, needs beside weights and state.
  virtual int64_t workspace_bytes(int64_t rows, int64_t logit_rows) const = 0;

  /// Runs one step: writes the state of every row and draws a token for each logit row, in their order.
  /// The inputs must be consistent (programmer mistakes abort): sequences begun for their rows, ids below
  /// vocab_size.
  virtual std::vector<int32_t> run(const StepInputs& inputs, StepObserver* observer = nullptr) = 0;

  /// The last step's logits [logit rows, vocab_size] and final-normed hidden rows [rows, hidden_size].
  virtual std::vector<float> read_logits() = 0;
  virtual std::vector<float> read_final_hidden() = 0;
};

}  // namespace lirio
