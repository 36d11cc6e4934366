#include "backend/compare.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/check.h"
#include "base/error.h"

namespace lirio {
namespace {

/// Runs the tokens in steps; before each, `start_step` hears the first row's position and the rows with
/// logits so far.
template <typename StartStep>
void run_in_steps(std::span<const int32_t> tokens, Execution execution, StepObserver& observer,
                  StartStep start_step) {
  StatePool pool(execution.backend.state_storage(), std::numeric_limits<int64_t>::max());
  SequenceState state(pool);
  const auto count = static_cast<int64_t>(tokens.size());
  while (state.length() < count) {
    const int64_t first = state.length();
    const int64_t rows = std::min(execution.rows_per_step, count - first);
    if (!state.begin_append(rows))
      throw Error("out of memory for the sequence's state", "Use a shorter text.");
    StepInputs inputs;
    for (int64_t i = first; i < first + rows; ++i) {
      const auto position = static_cast<int32_t>(i);
      inputs.rows.push_back({tokens[static_cast<size_t>(i)], -1, {position, position, position}});
    }
    inputs.sequences.push_back({0, static_cast<int32_t>(rows), state.view()});
    if (first + rows == count) {
      inputs.logit_rows.push_back({static_cast<int32_t>(rows - 1), {.temperature = 0}});
    }
    start_step(first);
    execution.backend.run(inputs, &observer);
    state.commit();
  }
}

/// What one execution computed, by value, rows appended step by step.
using Recording = std::map<ValueId, std::vector<float>>;

class Recorder : public StepObserver {
 public:
  Recorder(const Plan& plan, int last_op) : plan_(plan), last_op_(last_op) {}

  void after_op(int op, StepValues& values) override {
    if (op > last_op_) return;
    for (ValueId id : plan_.instructions[static_cast<size_t>(op)].values.writes) {
      if (!values.holds(id)) continue;
      const std::vector<float> elements = values.read(id);
      std::vector<float>& all = recording_[id];
      all.insert(all.end(), elements.begin(), elements.end());
    }
  }

  const Recording& recording() const { return recording_; }

 private:
  const Plan& plan_;
  const int last_op_;
  Recording recording_;
};

struct Sums {
  double difference = 0, reference = 0;
  int64_t unequal = 0, count = 0;
  double largest = 0;
  int64_t worst_row = 0;
};

class Comparer : public StepObserver {
 public:
  Comparer(const Plan& plan, const Recording& recording, const CompareOptions& options)
      : plan_(plan), recording_(recording), options_(options) {}

  void start_step(int64_t first_row) { first_row_ = first_row; }

  void after_op(int op, StepValues& values) override {
    for (ValueId id : plan_.instructions[static_cast<size_t>(op)].values.writes) {
      if (!values.holds(id)) continue;
      if (options_.inject == op) spoil(values, id);
      const auto recorded = recording_.find(id);
      if (recorded == recording_.end()) continue;
      const std::vector<float> b = values.read(id);
      const Value& value = plan_.value(id);
      // Logits are computed once, on the last row.
      const int64_t offset = value.rows == RowSet::kAll ? first_row_ * value.width : 0;
      CHECK(offset + static_cast<int64_t>(b.size()) <= static_cast<int64_t>(recorded->second.size()));
      const std::span<const float> a =
          std::span(recorded->second).subspan(static_cast<size_t>(offset), b.size());
      if (op >= options_.first_op && op <= options_.last_op) add(id, a, b);
      if (op < options_.first_op || options_.isolate) values.write(id, a);
    }
  }

  std::vector<ValueDifference> differences() const {
    std::vector<ValueDifference> result;
    for (const auto& [id, sums] : sums_) {
      const Value& value = plan_.value(id);
      double relative = sums.difference == 0 ? 0 : std::sqrt(sums.difference / sums.reference);
      if (value.type == ValueType::kInt32) {
        relative = static_cast<double>(sums.unequal) / static_cast<double>(std::max<int64_t>(sums.count, 1));
      }
      const double budget = value.type == ValueType::kInt32 ? 0 : options_.budget;
      result.push_back({value.first_op, id, sums.count / value.width, relative, sums.largest, sums.worst_row,
                        !(relative <= budget)});
    }
    std::stable_sort(result.begin(), result.end(), [](const auto& x, const auto& y) { return x.op < y.op; });
    return result;
  }

 private:
  void add(ValueId id, std::span<const float> a, std::span<const float> b) {
    Sums& sums = sums_[id];
    const int64_t width = plan_.value(id).width;
    for (size_t i = 0; i < b.size(); ++i) {
      const double difference = double{b[i]} - a[i];
      sums.difference += difference * difference;
      sums.reference += double{a[i]} * a[i];
      sums.unequal += a[i] != b[i];
      if (!(std::abs(difference) <= sums.largest)) {
        sums.largest = std::abs(difference);
        sums.worst_row = (sums.count + static_cast<int64_t>(i)) / width;
      }
    }
    sums.count += static_cast<int64_t>(b.size());
  }

  void spoil(StepValues& values, ValueId id) const {
    std::vector<float> elements = values.read(id);
    const bool integers = plan_.value(id).type == ValueType::kInt32;
    for (float& element : elements)
      element = integers ? std::abs(element - 1) : element * 1.001f;
    values.write(id, elements);
  }

  const Plan& plan_;
  const Recording& recording_;
  const CompareOptions& options_;
  int64_t first_row_ = 0;
  std::map<ValueId, Sums> sums_;
};

}  // namespace

std::vector<ValueDifference> compare_executions(std::span<const int32_t> tokens, Execution a, Execution b,
                                                const CompareOptions& options) {
  const Plan& plan = a.backend.plan();
  CHECK(plan.instructions.size() == b.backend.plan().instructions.size());
  CHECK(a.rows_per_step > 0 && b.rows_per_step > 0);
  Recorder recorder(plan, options.last_op);
  run_in_steps(tokens, a, recorder, [](int64_t) {});
  Comparer comparer(plan, recorder.recording(), options);
  run_in_steps(tokens, b, comparer, [&](int64_t first_row) { comparer.start_step(first_row); });
  return comparer.differences();
}

const ValueDifference* first_over_budget(std::span<const ValueDifference> differences) {
  const auto found =
      std::find_if(differences.begin(), differences.end(), [](const auto& d) { return d.over_budget; });
  return found == differences.end() ? nullptr : &*found;
}

}  // namespace lirio
