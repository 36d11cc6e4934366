// LoadedModel: everything that a model folder gives: config, tokenizer, weights bound to the plan. Loading
// checks all of it before anything is used. Immutable once loaded, thread-safe.
#pragma once

#include <filesystem>
#include <memory>

#include "model/plan.h"
#include "model/weights.h"
#include "text/tokenizer.h"
#include "weights/checkpoint.h"

namespace lirio {

class LoadedModel {
 public:
  /// Throws Error for anything unreadable, incomplete or of another model.
  explicit LoadedModel(const std::filesystem::path& directory);
  LoadedModel(const LoadedModel&) = delete;

  const std::filesystem::path& directory() const { return checkpoint_.directory(); }
  const Config& config() const { return plan_.config; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  const Checkpoint& checkpoint() const { return checkpoint_; }
  const Plan& plan() const { return plan_; }
  const Weights& weights() const { return weights_; }

 private:
  Checkpoint checkpoint_;
  Tokenizer tokenizer_;
  Plan plan_;
  Weights weights_;
};

}  // namespace lirio
