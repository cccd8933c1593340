#include "backends/libtorch/torch_program.h"

#include "backends/libtorch/torch_types.h"
#include "engine/passes/passes.h"
#include "model/eval/fold_constants.h"
#include "model/graph_tools.h"

#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace deepgap {
namespace {

bool is_convolution(const Node& node) { return node.op == "Conv" || node.op == "ConvTranspose"; }

}  // namespace

struct TorchProgram::Plan {
  struct Step {
    const Node* node = nullptr;
    TorchStep run;
    std::vector<int32_t> inputs, outputs;
    std::vector<int32_t> last_read;  // values that nobody needs afterwards
  };
  Graph graph;  // bound and folded
  std::vector<Step> steps;
  std::vector<at::Tensor> values;  // by ValueId, with one undefined at the end for what is left out
};

TorchProgram::TorchProgram(const Graph& graph, const TorchTarget& target) : graph_(graph), target_(target) {
  if (!target_.trains) return;
  for (const ValueId id : trainable_constants(graph_)) trained_.insert(id);
}
TorchProgram::~TorchProgram() = default;

at::Tensor TorchProgram::constant_of_target(const Tensor& constant, bool is_weight) {
  const bool last = is_weight && target_.channels_last && constant.shape.size() == 4;
  at::Tensor& made = constants_[{constant.data.get(), constant.type, constant.shape, last}];
  if (made.defined()) return made;
  made = torch_copy(constant);
  if (constant.type == DataType::f32) made = made.to(target_.floats);
  if (last) made = made.contiguous(at::MemoryFormat::ChannelsLast);
  made = made.to(target_.device);
  return made;
}

// Every step that trains computes anew what is computed from weights: without their bytes nothing is folded.
void TorchProgram::fold(Graph& graph) const {
  for (const ValueId id : trained_) graph.constants.at(id).data.reset();
  fold_constants(graph);
  for (const ValueId id : trained_) graph.constants.at(id).data = graph_.constants.at(id).data;
}

void TorchProgram::note_weight(const Plan& plan, const Node& node, size_t input) {
  const ValueId id = node.inputs[input];
  const bool statistic = node.op == "BatchNormalization" && input >= 3;
  if (!statistic && !trained_.contains(id)) return;
  const std::string& name = plan.graph.values[static_cast<size_t>(id)].name;
  const at::Tensor& tensor = plan.values[static_cast<size_t>(id)];
  if (plan.graph.values[static_cast<size_t>(id)].type != DataType::f32)
    throw Error(ErrorKind::refused,
                fmt::format("libtorch trains float32 weights; '{}' is {}", name, name_of(plan.graph.values[static_cast<size_t>(id)].type)));
  if (!statistic) tensor.set_requires_grad(true);
  if (std::none_of(weights_.begin(), weights_.end(), [&](const TorchWeight& known) { return known.name == name; }))
    weights_.push_back({name, tensor, !statistic});
}

void TorchProgram::add_step(Plan& plan, const Node& node) {
  const auto none = static_cast<int32_t>(plan.values.size() - 1);
  Plan::Step step{.node = &node, .run = make_torch_step({{"libtorch", plan.graph, node}, target_})};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    step.inputs.push_back(id == no_value ? none : id);
    const Tensor* constant = id == no_value ? nullptr : constant_of(plan.graph, id);
    if (constant == nullptr) continue;
    plan.values[static_cast<size_t>(id)] = constant_of_target(*constant, is_convolution(node) && i == 1);
    if (target_.trains) note_weight(plan, node, i);
  }
  for (const ValueId id : node.outputs) step.outputs.push_back(id == no_value ? none : id);
  plan.steps.push_back(std::move(step));
}

void TorchProgram::prepare(int64_t batch) {
  auto& slot = plans_[batch];
  if (slot != nullptr) return;
  const c10::InferenceMode inference(!target_.trains);
  auto plan = std::make_unique<Plan>();
  plan->graph = bind_symbols(graph_, {{batch_symbol, batch}});
  fold(plan->graph);
  if (open_symbols(plan->graph).empty()) join_sized_by_data(plan->graph);
  plan->values.resize(plan->graph.values.size() + 1);
  for (const Node& node : plan->graph.nodes) add_step(*plan, node);
  std::set<int32_t> needed;
  for (const ValueId id : plan->graph.outputs) {
    needed.insert(id);
    if (const Tensor* constant = constant_of(plan->graph, id)) plan->values[static_cast<size_t>(id)] = constant_of_target(*constant, false);
  }
  for (const auto& [id, constant] : plan->graph.constants) needed.insert(id);
  for (auto step = plan->steps.rbegin(); step != plan->steps.rend(); ++step) {
    for (const auto* ids : {&step->inputs, &step->outputs}) {
      for (const int32_t id : *ids) {
        if (needed.insert(id).second) step->last_read.push_back(id);
      }
    }
  }
  slot = std::move(plan);
}

std::vector<at::Tensor> TorchProgram::run(int64_t batch, std::span<const at::Tensor> inputs, const Around* around) {
  prepare(batch);
  Plan& plan = *plans_.at(batch);
  const c10::InferenceMode inference(!target_.trains);
  const TorchAutocast autocast(target_);
  try {
    return run(plan, inputs, around);
  } catch (...) {  // what was computed so far would keep its memory
    for (size_t id = 0; id < plan.values.size(); ++id) {
      if (constant_of(plan.graph, static_cast<ValueId>(id)) == nullptr) plan.values[id].reset();
    }
    throw;
  }
}

std::vector<at::Tensor> TorchProgram::run(Plan& plan, std::span<const at::Tensor> inputs, const Around* around) {
  for (size_t i = 0; i < inputs.size(); ++i) plan.values[static_cast<size_t>(plan.graph.inputs[i])] = torch_input(inputs[i], target_);
  for (const Plan::Step& step : plan.steps) {
    TorchFrame frame(plan.values.data(), step.inputs, step.outputs);
    if (around == nullptr) {
      step.run(frame);
    } else {
      (*around)(*step.node, [&] {
        step.run(frame);
        return frame.out(0);
      });
    }
    for (const int32_t id : step.last_read) plan.values[static_cast<size_t>(id)].reset();
  }
  std::vector<at::Tensor> results;
  for (const ValueId id : plan.graph.outputs) results.push_back(plan.values[static_cast<size_t>(id)]);
  for (const auto* ids : {&plan.graph.outputs, &plan.graph.inputs}) {
    for (const ValueId id : *ids) {
      if (constant_of(plan.graph, id) == nullptr) plan.values[static_cast<size_t>(id)].reset();
    }
  }
  return results;
}

}  // namespace deepgap
