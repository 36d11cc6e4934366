#include "engine/loaded_model.h"

namespace lirio {
namespace {

/// The config comes first: of another model's folder it says most clearly what is wrong.
Plan read_plan(const std::filesystem::path& directory, const Tokenizer& tokenizer, Config config) {
  check_tokenizer_fits(
      config, tokenizer.vocabulary_end(),
      [&](std::string_view content) { return tokenizer.added_token(content); }, directory);
  return build_plan(config, tokenizer.vocabulary_end());
}

Checkpoint open_checked(const std::filesystem::path& directory) {
  check_model_directory(directory);
  read_config(directory);
  return Checkpoint::open(directory);
}

}  // namespace

LoadedModel::LoadedModel(const std::filesystem::path& directory)
    : checkpoint_(open_checked(directory)),
      tokenizer_(Tokenizer::from_directory(directory)),
      plan_(read_plan(directory, tokenizer_, read_config(directory))),
      weights_(bind_weights(plan_, checkpoint_)) {}

}  // namespace lirio
