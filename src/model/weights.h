// Weights: the tensors a plan names, bound to a checkpoint: matrices as views into the mapped files, small
// vectors as fp32. Bound once at start; the checkpoint outlives it. Immutable, thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/affine_matrix.h"
#include "model/plan.h"
#include "weights/checkpoint.h"

namespace lirio {

struct Weights {
  std::vector<AffineMatrix> matrices;       ///< by MatrixId
  std::vector<std::vector<float>> vectors;  ///< by VectorId; norms are factors, as in Checkpoint::norm()

  const AffineMatrix& matrix(MatrixId id) const { return matrices[static_cast<size_t>(id)]; }
  const float* vector(VectorId id) const { return vectors[static_cast<size_t>(id)].data(); }
};

/// The checkpoint's name of a plan's module or vector: "layers.0.mlp.gate" is
/// "language_model.model.layers.0.mlp.gate", "lm_head" is "language_model.lm_head".
std::string checkpoint_name(const std::string& name);

/// Throws one Error that lists every tensor that is absent or of another dtype or shape than the plan's
/// config implies.
Weights bind_weights(const Plan& plan, const Checkpoint& checkpoint);

/// Bytes of the plan's matrices that one token reads: everything but the embedding and the experts it doesn't
/// choose.
int64_t bytes_per_token(const Plan& plan, const Weights& weights);

}  // namespace lirio
