#include "model/liveness.h"

#include <algorithm>
#include <map>

#include "base/check.h"

namespace lirio {
namespace {

/// Free stretches of an arena, first fit.
class Arena {
 public:
  int64_t take(int64_t size) {
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second < size) continue;
      const int64_t offset = it->first;
      const int64_t rest = it->second - size;
      free_.erase(it);
      if (rest > 0) free_[offset + size] = rest;
      return offset;
    }
    // Grow, from a free stretch at the very end if there is one.
    int64_t offset = size_;
    if (!free_.empty() && std::prev(free_.end())->first + std::prev(free_.end())->second == size_) {
      offset = std::prev(free_.end())->first;
      free_.erase(std::prev(free_.end()));
    }
    size_ = offset + size;
    return offset;
  }

  void give_back(int64_t offset, int64_t size) {
    auto [it, inserted] = free_.emplace(offset, size);
    CHECK(inserted);
    if (const auto next = std::next(it); next != free_.end() && it->first + it->second == next->first) {
      it->second += next->second;
      free_.erase(next);
    }
    if (it != free_.begin()) {
      const auto previous = std::prev(it);
      if (previous->first + previous->second == it->first) {
        previous->second += it->second;
        free_.erase(it);
      }
    }
  }

  int64_t size() const { return size_; }

 private:
  std::map<int64_t, int64_t> free_;  // offset -> size
  int64_t size_ = 0;
};

// Keeps every value on a cache line of its own for any row count that is a multiple of 16.
int64_t padded_width(const Value& value) {
  return (value.width + 15) / 16 * 16;
}

}  // namespace

void assign_lifetimes(Plan& plan) {
  const int count = static_cast<int>(plan.instructions.size());
  for (int i = 0; i < count; ++i) {
    const Operands& operands = plan.instructions[static_cast<size_t>(i)].values;
    for (ValueId id : operands.writes) {
      Value& value = plan.values[static_cast<size_t>(id)];
      CHECK(value.first_op == -1);
      value.first_op = value.last_op = i;
    }
    for (ValueId id : operands.reads) {
      Value& value = plan.values[static_cast<size_t>(id)];
      CHECK(value.first_op != -1 && value.first_op < i);
      value.last_op = i;
    }
  }
  for (ValueId id : {plan.final_hidden, plan.logits, plan.token})
    plan.values[static_cast<size_t>(id)].last_op = count;

  Arena arenas[2];
  for (int i = 0; i < count; ++i) {
    for (Value& value : plan.values) {
      if (value.first_op == i)
        value.offset = arenas[static_cast<size_t>(value.rows)].take(padded_width(value));
    }
    for (const Value& value : plan.values) {
      if (value.last_op == i)
        arenas[static_cast<size_t>(value.rows)].give_back(value.offset, padded_width(value));
    }
  }
  plan.row_elements = arenas[static_cast<size_t>(RowSet::kAll)].size();
  plan.logit_row_elements = arenas[static_cast<size_t>(RowSet::kLogits)].size();
}

}  // namespace lirio
