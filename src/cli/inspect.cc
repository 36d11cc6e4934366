// lirio inspect: the plan of a model, and the op-by-op comparison of two executions of it.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/compare.h"
#include "backend/ref/ref_backend.h"
#include "base/error.h"
#include "base/machine.h"
#include "cli/commands.h"
#include "cli/model_path.h"
#include "cli/options.h"
#include "engine/loaded_model.h"
#include "text/chat.h"

namespace lirio::cli {
namespace {

constexpr const char* kTraceGroup = "With --trace";

struct InspectOptions {
  std::string model, prompt = "What is 47 + 85?", a = "ref:plain", b = "ref", layers, from, to, inject;
  bool trace = false, isolate = false, all = false;
  double budget = 1e-5;
};

std::optional<int64_t> parse_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// A backend and how the text is cut: "ref", "ref:plain", "ref/7" (7 rows a step).
struct NamedExecution {
  std::unique_ptr<Backend> backend;
  Execution execution;
};

NamedExecution make_execution(const std::string& spec, const LoadedModel& model) {
  const size_t slash = spec.find('/');
  const std::string name = spec.substr(0, slash);
  if (name != "ref" && name != "ref:plain") {
    throw Error(fmt::format("'{}' is not an execution", spec),
                "Write ref or ref:plain, and /N for N rows a step.", ExitCode::kUsage);
  }
  const GdnForm form = name == "ref" ? GdnForm::kLog : GdnForm::kPlain;
  auto backend = make_ref_backend(model.plan(), model.weights(), cpu_budget().usable, form);
  Execution execution{*backend};
  if (slash != std::string::npos) {
    const auto rows = parse_number(spec.substr(slash + 1));
    if (!rows || *rows == 0) {
      throw Error(fmt::format("'{}': the rows a step must be a number above 0", spec),
                  "Write for example ref/64.", ExitCode::kUsage);
    }
    execution.rows_per_step = *rows;
  }
  return {std::move(backend), execution};
}

/// The index of the op with that name, as the plan prints it.
int find_op(const Plan& plan, const std::string& name) {
  const auto found = std::find_if(plan.instructions.begin(), plan.instructions.end(),
                                  [&](const Instruction& op) { return op.name == name; });
  if (found == plan.instructions.end()) {
    throw Error(fmt::format("the plan has no op '{}'", name), "'lirio inspect' prints the names of all ops.",
                ExitCode::kUsage);
  }
  return static_cast<int>(found - plan.instructions.begin());
}

struct LayerRange {
  int first, last;
};

LayerRange parse_layers(const std::string& text, const Plan& plan) {
  const size_t dash = text.find('-');
  const auto first = parse_number(text.substr(0, dash));
  const auto last = dash == std::string::npos ? first : parse_number(text.substr(dash + 1));
  if (!first || !last || *first > *last || *last >= plan.config.num_hidden_layers) {
    throw Error(
        fmt::format("--layers {}: expected N or N-M within 0-{}", text, plan.config.num_hidden_layers - 1),
        "Write for example --layers 2-3.", ExitCode::kUsage);
  }
  return {static_cast<int>(*first), static_cast<int>(*last)};
}

CompareOptions compare_options(const InspectOptions& options, const Plan& plan) {
  CompareOptions result;
  result.budget = options.budget;
  result.isolate = options.isolate;
  result.last_op = static_cast<int>(plan.instructions.size()) - 1;
  if (!options.layers.empty()) {
    const LayerRange range = parse_layers(options.layers, plan);
    const auto op_of_layer = [&](int layer) {
      return [layer](const Instruction& op) { return op.layer == layer; };
    };
    result.first_op = static_cast<int>(
        std::find_if(plan.instructions.begin(), plan.instructions.end(), op_of_layer(range.first)) -
        plan.instructions.begin());
    result.last_op = static_cast<int>(
        plan.instructions.rend() - 1 -
        std::find_if(plan.instructions.rbegin(), plan.instructions.rend(), op_of_layer(range.last)));
  }
  if (!options.from.empty()) result.first_op = std::max(result.first_op, find_op(plan, options.from));
  if (!options.to.empty()) result.last_op = std::min(result.last_op, find_op(plan, options.to));
  if (result.first_op > result.last_op) {
    throw Error("the range of ops is empty", "Put --from before --to, both within --layers.",
                ExitCode::kUsage);
  }
  if (!options.inject.empty()) result.inject = find_op(plan, options.inject);
  return result;
}

void print_plan(const Plan& plan) {
  for (size_t i = 0; i < plan.instructions.size(); ++i) {
    const Instruction& op = plan.instructions[i];
    std::string line = fmt::format("{:4}  {:<16} {}", i, op_kind(op.op), op.name);
    for (ValueId id : op.values.writes) {
      const Value& value = plan.value(id);
      line += fmt::format("  -> {}[{}]", value.name == op.name ? "" : value.name, value.width);
    }
    fmt::print("{}\n", line);
  }
  fmt::print("{} ops, {} values, {} matrices, {} vectors; {} bytes of workspace a row\n",
             plan.instructions.size(), plan.values.size(), plan.matrices.size(), plan.vectors.size(),
             4 * plan.row_elements);
}

void print_differences(const Plan& plan, const std::vector<ValueDifference>& differences, bool all) {
  fmt::print("{:<48} {:>12} {:>12} {:>8}\n", "value", "relative L2", "largest", "at row");
  for (const ValueDifference& d : differences) {
    if (!all && !d.over_budget && plan.value(d.value).layer >= 0 &&
        !plan.value(d.value).name.ends_with(".out")) {
      continue;
    }
    fmt::print("{:<48} {:>12.2e} {:>12.2e} {:>8}{}\n", plan.value(d.value).name, d.relative_l2, d.largest,
               d.worst_row, d.over_budget ? "  over" : "");
  }
}

void trace(const InspectOptions& options, const LoadedModel& model) {
  const Plan& plan = model.plan();
  const CompareOptions comparison = compare_options(options, plan);
  const NamedExecution a = make_execution(options.a, model), b = make_execution(options.b, model);
  const std::vector<ChatMessage> messages = {{Role::kUser, options.prompt}};
  const std::vector<TokenId> tokens = encode_prompt(model.tokenizer(), render_chat(messages));
  const auto differences = compare_executions(tokens, a.execution, b.execution, comparison);

  fmt::print("{} against {}, {} tokens, ops {} to {}, budget {:.1e}{}\n", options.b, options.a, tokens.size(),
             plan.instructions[static_cast<size_t>(comparison.first_op)].name,
             plan.instructions[static_cast<size_t>(comparison.last_op)].name, comparison.budget,
             comparison.isolate ? ", each op on equal inputs" : "");
  print_differences(plan, differences, options.all);
  const ValueDifference* first = first_over_budget(differences);
  if (first == nullptr) {
    fmt::print("All {} values are within the budget.\n", differences.size());
    return;
  }
  throw Error(
      fmt::format("first op over its budget: {} ({}): value {} differs by {:.2e}, at most {:.2e} at row {}",
                  plan.instructions[static_cast<size_t>(first->op)].name,
                  op_kind(plan.instructions[static_cast<size_t>(first->op)].op),
                  plan.value(first->value).name, first->relative_l2, first->largest, first->worst_row),
      "Narrow it down with --isolate, --from and --to.");
}

/// Flags of --trace without it would silently do nothing.
void reject_trace_flags(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group() != kTraceGroup || option->count() == 0) continue;
    throw Error(option->get_name() + " needs --trace", "Add --trace, or leave it out.", ExitCode::kUsage);
  }
}

}  // namespace

void add_inspect_command(CLI::App& app) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command =
      app.add_subcommand("inspect", "Print a model's plan, or compare two executions of it op by op");
  add_model_option(*command, options->model, true);
  command->add_flag("--trace", options->trace, "Compare two executions of the plan");
  const auto add = [&](const char* flag, std::string& target, const char* help, const char* type) {
    command->add_option(flag, target, help)->type_name(type)->group(kTraceGroup);
  };
  add("--prompt", options->prompt, "The text to run (default: a short question)", "TEXT");
  add("--a", options->a, "The execution to trust: ref, ref:plain; /N for N rows a step (default: ref:plain)",
      "SPEC");
  add("--b", options->b, "The execution to judge (default: ref)", "SPEC");
  add("--layers", options->layers, "Compare the ops of these layers only, N or N-M", "RANGE");
  add("--from", options->from, "Compare from this op on; before it, b gets a's values", "OP");
  add("--to", options->to, "Compare up to this op", "OP");
  add("--inject", options->inject, "Make b wrong at this op, to see that it is found", "OP");
  add_number<double>(*command, "--budget", options->budget, 0, 1,
                     "Relative L2 error that counts as equal (default: 1e-5)")
      ->type_name("E")
      ->group(kTraceGroup);
  command->add_flag("--isolate", options->isolate, "Judge each op on equal inputs")->group(kTraceGroup);
  command
      ->add_flag("--all", options->all,
                 "List every value, not only layer outputs and what is over the budget")
      ->group(kTraceGroup);
  command->footer(
      "With --trace the exit code is 1 when an op is over its budget; its name is printed.\n"
      "Examples:\n"
      "  lirio inspect                                    the names of all ops\n"
      "  lirio inspect --trace --b ref/7                  7 rows a step against all in one\n"
      "  lirio inspect --trace --inject layers.3.out      what a fault looks like");
  command->callback([options, command] {
    if (!options->trace) reject_trace_flags(*command);
    const LoadedModel model(model_directory(options->model));
    if (options->trace) {
      trace(*options, model);
    } else {
      print_plan(model.plan());
    }
  });
}

}  // namespace lirio::cli
