// lirio info: what a model folder holds, what it needs, what this machine has.
#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <string>

#include "backend/ref/ref_backend.h"
#include "base/machine.h"
#include "cli/commands.h"
#include "cli/model_path.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "engine/loaded_model.h"

namespace lirio::cli {
namespace {

void print_model(const LoadedModel& model) {
  const Config& config = model.config();
  const Checkpoint& checkpoint = model.checkpoint();
  fmt::print("{}: {}\n", model.directory().string(), family_name(config.family));
  fmt::print("  {} layers: {} Gated DeltaNet, {} full attention; hidden size {}\n", config.num_hidden_layers,
             config.count_layers(LayerType::kLinearAttention), config.count_layers(LayerType::kFullAttention),
             config.hidden_size);
  fmt::print("  {} experts a layer, {} a token, of width {}; a shared one of width {}\n", config.num_experts,
             kTopK, config.moe_intermediate_size, config.shared_expert_intermediate_size);
  fmt::print("  vocabulary {} of {} rows used; context {} tokens\n", model.tokenizer().vocabulary_end(),
             config.vocab_size, config.max_position_embeddings);
  fmt::print("  sampling: temperature {}, top-k {}, top-p {}\n\n", config.temperature, config.top_k,
             config.top_p);

  fmt::print("Files\n");
  for (const Checkpoint::File& file : checkpoint.files()) {
    fmt::print("  {}: {}\n", file.path.filename().string(), format_bytes(file.bytes));
  }
  fmt::print("  {} tensors, {}\n", checkpoint.tensor_count(), format_bytes(checkpoint.bytes()));
  const Checkpoint::Skipped& skipped = checkpoint.skipped();
  if (skipped.vision_tensors > 0) {
    fmt::print("  not used: vision tower, {} tensors, {}\n", skipped.vision_tensors,
               format_bytes(skipped.vision_bytes));
  }
  if (skipped.mtp_tensors > 0) {
    fmt::print("  not used: multi-token prediction head, {} tensors, {}\n", skipped.mtp_tensors,
               format_bytes(skipped.mtp_bytes));
  }
}

void print_needs(const LoadedModel& model) {
  const std::unique_ptr<Backend> backend = make_ref_backend(model.plan(), model.weights(), 1);
  const StatePool pool(backend->state_storage(), 0);
  const Checkpoint::Skipped& skipped = model.checkpoint().skipped();
  const int64_t weights = model.checkpoint().bytes() - skipped.vision_bytes - skipped.mtp_bytes;
  const int64_t context = std::min<int64_t>(model.config().max_position_embeddings, 8192);
  const int64_t state = pool.bytes_for_sequence(context);
  const int64_t workspace = backend->workspace_bytes(256, 1);
  const CpuBudget cpus = cpu_budget();
  const MemoryBudget memory = memory_budget();

  fmt::print("\nNeeds\n");
  fmt::print("  {} of weights, mapped from the files\n", format_bytes(weights));
  fmt::print("  {} for a conversation of {} tokens, {} of workspace\n", format_bytes(state), context,
             format_bytes(workspace));
  fmt::print("  each generated token reads {} of weights\n",
             format_bytes(bytes_per_token(model.plan(), model.weights())));

  fmt::print("\nThis machine\n");
  fmt::print("  {}{} of {} CPUs to be used\n", cpus.name.empty() ? "" : cpus.name + ": ", cpus.usable,
             cpus.affinity);
  fmt::print("  {} of memory, {} available\n", format_bytes(memory.total_bytes),
             format_bytes(memory.available_bytes));
  const int64_t needed = weights + state + workspace;
  fmt::print("  {}\n",
             needed <= memory.available_bytes
                 ? "The model fits."
                 : fmt::format("The model needs {}, {} more than is available: it would be read from disk "
                               "again and again.",
                               format_bytes(needed), format_bytes(needed - memory.available_bytes)));
}

}  // namespace

void add_info_command(CLI::App& app) {
  auto model = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("info", "Say what a model folder holds, what it needs and what this machine has");
  add_model_option(*command, *model, true);
  command->footer(
      "Example:\n"
      "  lirio info DIR    whether the model in DIR is complete, and whether it fits this machine");
  command->callback([model] {
    const LoadedModel loaded(model_directory(*model));
    print_model(loaded);
    print_needs(loaded);
  });
}

}  // namespace lirio::cli
