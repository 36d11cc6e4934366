// The reference backend: walks the plan with the reference kernels, sharing each op's items out over threads.
// Slow and plain on purpose; its results are what every other backend is compared with. Its bits don't depend
// on the threads.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "model/weights.h"

namespace lirio {

/// How the reference computes the gated delta rule; equal but for rounding (kernels/ref/gdn_recurrence.cc).
enum class GdnForm : uint8_t {
  kLog,    ///< from the matrix at the chunk's start and the log since: the form that the state is made for
  kPlain,  ///< the recurrence as the paper writes it
};

/// `plan` and `weights` outlive the backend. `threads` >= 1.
std::unique_ptr<Backend> make_ref_backend(const Plan& plan, const Weights& weights, int threads,
                                          GdnForm gdn_form = GdnForm::kLog);

}  // namespace lirio
