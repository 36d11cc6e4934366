#include "model/weights.h"

namespace lirio {

std::string checkpoint_name(const std::string& name) {
  return (name == "lm_head" ? "language_model." : "language_model.model.") + name;
}

Weights bind_weights(const Plan& plan, const Checkpoint& checkpoint) {
  Weights weights;
  Faults faults;
  for (const MatrixSpec& spec : plan.matrices) {
    weights.matrices.push_back(
        checkpoint.affine(checkpoint_name(spec.module), spec.matrices, spec.rows, spec.columns, faults));
  }
  for (const VectorSpec& spec : plan.vectors) {
    const std::string name = checkpoint_name(spec.name);
    switch (spec.kind) {
      case VectorKind::kPlain:
        weights.vectors.push_back(checkpoint.vector(name, spec.size, faults));
        break;
      case VectorKind::kNorm:
        weights.vectors.push_back(checkpoint.norm(name, spec.size, faults));
        break;
      case VectorKind::kConv:
        weights.vectors.push_back(checkpoint.convolution(name, spec.size / kConvWidth, kConvWidth, faults));
        break;
    }
  }
  checkpoint.require(faults);
  return weights;
}

int64_t bytes_per_token(const Plan& plan, const Weights& weights) {
  int64_t total = 0;
  for (size_t i = 0; i < weights.matrices.size(); ++i) {
    const AffineMatrix& matrix = weights.matrices[i];
    if (plan.matrices[i].module == "embed_tokens") continue;
    total += matrix.matrices > 1 ? matrix.total_bytes() / matrix.matrices * kTopK : matrix.total_bytes();
  }
  return total;
}

}  // namespace lirio
