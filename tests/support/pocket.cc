#include "support/pocket.h"

#include <algorithm>
#include <stdexcept>

#include "support/paths.h"

namespace lirio::testing {

const LoadedModel& pocket() {
  static const LoadedModel model(pocket_dir());
  return model;
}

std::unique_ptr<Backend> pocket_backend(GdnForm form) {
  return make_ref_backend(pocket().plan(), pocket().weights(), 1, form);
}

const Plan& short_plan() {
  static const Plan plan = [] {
    Config config = pocket().config();
    config.num_hidden_layers = 4;
    config.layer_types.resize(4);
    return build_plan(config, pocket().tokenizer().vocabulary_end());
  }();
  return plan;
}

std::unique_ptr<Backend> short_backend(GdnForm form, int threads) {
  static const Weights weights = bind_weights(short_plan(), pocket().checkpoint());
  return make_ref_backend(short_plan(), weights, threads, form);
}

const Tensor& reference_tensor(const std::string& name) {
  static const SafetensorsFile file(golden_dir() / "pocket" / "reference.safetensors");
  for (const Tensor& tensor : file.tensors()) {
    if (tensor.name == name) return tensor;
  }
  throw std::runtime_error("no reference tensor " + name);
}

std::vector<int32_t> reference_ids(int index) {
  return reference_values<int32_t>(std::to_string(index) + ".ids");
}

std::vector<int32_t> sample_tokens(int64_t count) {
  std::vector<int32_t> ids = reference_ids(2);
  if (count > static_cast<int64_t>(ids.size()))
    throw std::runtime_error("the longest conversation is shorter");
  ids.resize(static_cast<size_t>(count));
  return ids;
}

std::vector<float> run_step(Backend& backend, std::vector<Append> appends) {
  StepInputs inputs;
  for (Append& append : appends) {
    if (!append.state.begin_append(static_cast<int64_t>(append.tokens.size()))) {
      throw std::runtime_error("the pool's limit is reached");
    }
    const auto first_row = static_cast<int32_t>(inputs.rows.size());
    for (int32_t token : append.tokens) {
      const auto row = static_cast<int32_t>(inputs.rows.size());
      const auto position = static_cast<int32_t>(append.state.length()) + row - first_row;
      inputs.rows.push_back({token, -1, {position, position, position}});
      inputs.logit_rows.push_back({row, {.temperature = 0}});
    }
    inputs.sequences.push_back({first_row, static_cast<int32_t>(append.tokens.size()), append.state.view()});
  }
  backend.run(inputs);
  for (Append& append : appends)
    append.state.commit();
  return backend.read_logits();
}

std::vector<float> run_tokens(Backend& backend, SequenceState& state, std::span<const int32_t> tokens,
                              int64_t rows_per_step) {
  std::vector<float> all;
  while (!tokens.empty()) {
    const auto rows = std::min(tokens.size(), static_cast<size_t>(rows_per_step));
    const std::vector<float> logits = run_step(backend, {{state, tokens.first(rows)}});
    all.insert(all.end(), logits.begin(), logits.end());
    tokens = tokens.subspan(rows);
  }
  return all;
}

std::span<const float> logit_rows(const std::vector<float>& logits, int64_t begin, int64_t end) {
  const int64_t width = pocket().config().vocab_size;
  return std::span(logits).subspan(static_cast<size_t>(begin * width),
                                   static_cast<size_t>((end - begin) * width));
}

::testing::AssertionResult same_bits(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size())
    return ::testing::AssertionFailure() << a.size() << " against " << b.size() << " elements";
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(float)) == 0) continue;
    const auto width = static_cast<size_t>(pocket().config().vocab_size);
    return ::testing::AssertionFailure()
           << "row " << i / width << ", id " << i % width << ": " << a[i] << " against " << b[i];
  }
  return ::testing::AssertionSuccess();
}

}  // namespace lirio::testing
