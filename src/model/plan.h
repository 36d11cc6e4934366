// Plan: one forward pass of the model as data. build_plan() turns a config into a list of ops over named
// values, with the weights the model consists of and the lifetime of every value; backends execute it,
// compare it op by op, capture it. Nothing in a plan changes from step to step (that is model/step.h).
// Immutable once built, thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/config.h"
#include "model/ops.h"

namespace lirio {

enum class ValueType : uint8_t { kFloat32, kInt32 };

/// Which of a step's rows a value has.
enum class RowSet : uint8_t { kAll, kLogits };

/// An activation: `width` elements of 4 bytes for each row, written by one op.
struct Value {
  std::string name;  ///< of the op that writes it, as in the checkpoint: "layers.3.self_attn.q_proj"
  int layer;         ///< -1 before the first and after the last layer
  int32_t width;
  ValueType type;
  RowSet rows;
  int first_op;  ///< the op that writes it
  int last_op;   ///< the last one that reads it; the plan's length for what a caller may read after the step
  int64_t offset;  ///< elements per row before it in the arena of its row set; values that never live
                   ///< together share
};

/// A quantised module of the checkpoint, without prefix: "layers.0.mlp.switch_mlp.gate_proj".
struct MatrixSpec {
  std::string module;
  int64_t matrices;
  int64_t rows;
  int64_t columns;
};

enum class VectorKind : uint8_t { kPlain, kNorm, kConv };

/// A small tensor, kept as fp32. A kNorm is stored zero-centred in raw checkpoints (weight = 1 + stored).
struct VectorSpec {
  std::string name;
  int64_t size;
  VectorKind kind;
};

struct Instruction {
  Op op;
  std::string name;  ///< "layers.3.self_attn.attend"
  int layer;
  Operands values;
};

struct Plan {
  Config config;
  std::vector<MatrixSpec> matrices;
  std::vector<VectorSpec> vectors;
  std::vector<Value> values;
  std::vector<Instruction> instructions;
  ValueId final_hidden;  ///< the final-normed hidden row, what the head and a draft model read
  ValueId logits;
  ValueId token;
  int64_t row_elements;        ///< arena size per row, in 4-byte elements
  int64_t logit_row_elements;  ///< the same for rows with logits

  const Value& value(ValueId id) const { return values[static_cast<size_t>(id)]; }
  /// kNone when there is no such value.
  ValueId find_value(std::string_view name) const;
};

/// The forward pass of `config`. `vocabulary`: ids below it may be sampled (the tokenizer's end, at most
/// vocab_size).
Plan build_plan(const Config& config, int32_t vocabulary);

/// A backend's fused form: it stands for `ops` (indices into Plan::instructions). Ops in `recomputed` are
/// cheap producers (norms, top-8) it evaluates for itself; other forms may do the same, and then their values
/// are never stored.
struct FusedForm {
  std::string name;
  std::vector<int> ops;
  std::vector<int> recomputed;
};

struct FormInterface {
  std::vector<ValueId> reads;
  std::vector<ValueId> writes;  ///< exactly the values of `ops` that something outside needs
};

/// What a form reads and owes, when `forms` together execute the plan's ops they name.
FormInterface form_interface(const Plan& plan, std::span<const FusedForm> forms, size_t index);

/// True when executing `forms` one after the other computes the same as their ops in order: every op is in
/// exactly one form or recomputed by all that need it, and no form reads a value that a later one writes.
bool forms_are_executable(const Plan& plan, std::span<const FusedForm> forms);

}  // namespace lirio
