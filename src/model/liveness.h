// Lifetimes of a plan's values and the arena they share. Called once by build_plan. Thread-safe.
#pragma once

#include "model/plan.h"

namespace lirio {

/// Fills first_op, last_op and offset of every value, and the plan's arena sizes. Values whose lifetimes meet
/// (an op's inputs and outputs included) never overlap. final_hidden, logits and token live to the end of the
/// step.
void assign_lifetimes(Plan& plan);

}  // namespace lirio
