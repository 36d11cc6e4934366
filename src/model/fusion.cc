#include <algorithm>
#include <set>

#include "model/plan.h"

namespace lirio {
namespace {

bool contains(const std::vector<int>& list, int item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

const Operands& values_of(const Plan& plan, int op) {
  return plan.instructions[static_cast<size_t>(op)].values;
}

bool touches_state(const Plan& plan, int op) {
  const Op& kind = plan.instructions[static_cast<size_t>(op)].op;
  return std::holds_alternative<KvAppend>(kind) || std::holds_alternative<Attend>(kind) ||
         std::holds_alternative<CausalConv>(kind) || std::holds_alternative<GdnRecurrence>(kind);
}

/// True when `form` computes the value itself, as one of its ops or by recomputing.
bool makes(const Plan& plan, const FusedForm& form, ValueId id) {
  const int op = plan.value(id).first_op;
  return contains(form.ops, op) || contains(form.recomputed, op);
}

std::set<ValueId> external_reads(const Plan& plan, const FusedForm& form) {
  std::set<ValueId> reads;
  for (const auto* list : {&form.ops, &form.recomputed}) {
    for (int op : *list) {
      for (ValueId id : values_of(plan, op).reads) {
        if (!makes(plan, form, id)) reads.insert(id);
      }
    }
  }
  return reads;
}

}  // namespace

ValueId Plan::find_value(std::string_view name) const {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].name == name) return static_cast<ValueId>(i);
  }
  return ValueId::kNone;
}

FormInterface form_interface(const Plan& plan, std::span<const FusedForm> forms, size_t index) {
  const FusedForm& form = forms[index];
  const std::set<ValueId> reads = external_reads(plan, form);
  FormInterface result{{reads.begin(), reads.end()}, {}};
  for (int op : form.ops) {
    for (ValueId id : values_of(plan, op).writes) {
      bool needed = plan.value(id).last_op == static_cast<int>(plan.instructions.size());
      std::vector<bool> covered(plan.instructions.size(), false);
      for (size_t other = 0; other < forms.size(); ++other) {
        needed = needed || (other != index && external_reads(plan, forms[other]).contains(id));
        for (int o : forms[other].ops)
          covered[static_cast<size_t>(o)] = true;
        for (int o : forms[other].recomputed)
          covered[static_cast<size_t>(o)] = true;
      }
      for (size_t reader = 0; reader < plan.instructions.size(); ++reader) {
        if (covered[reader]) continue;
        const auto& r = plan.instructions[reader].values.reads;
        needed = needed || std::find(r.begin(), r.end(), id) != r.end();
      }
      if (needed) result.writes.push_back(id);
    }
  }
  return result;
}

bool forms_are_executable(const Plan& plan, std::span<const FusedForm> forms) {
  std::set<int> named, owned;
  for (const FusedForm& form : forms) {
    for (int op : form.ops) {
      if (!owned.insert(op).second) return false;
      named.insert(op);
    }
    named.insert(form.recomputed.begin(), form.recomputed.end());
  }
  for (const FusedForm& form : forms) {
    for (int op : form.recomputed) {
      if (touches_state(plan, op)) return false;  // effects on the state happen once
    }
  }
  std::set<int> done;
  int last_state_op = -1;
  for (const FusedForm& form : forms) {
    for (int op : form.ops) {
      if (!touches_state(plan, op)) continue;
      if (op < last_state_op) return false;
      last_state_op = op;
    }
    for (ValueId id : external_reads(plan, form)) {
      const int writer = plan.value(id).first_op;
      if (named.contains(writer) && !done.contains(writer)) return false;
    }
    done.insert(form.ops.begin(), form.ops.end());
  }
  return true;
}

}  // namespace lirio
