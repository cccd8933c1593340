#include "model/step_work.h"

#include "model/graph_tools.h"
#include "model/train_work.h"

#include <deepgap/batching.h>

#include <set>
#include <string_view>

namespace deepgap {
namespace {

using Names = std::set<std::string_view>;

// Whose slope is told by their result.
bool keeps_result(const std::string& op) {
  static const Names names{"Exp", "MaxPool", "Relu", "Sigmoid", "Softmax", "LogSoftmax", "Sqrt", "Tanh"};
  return names.contains(op);
}
// Whose gradient needs nothing but sizes.
bool keeps_nothing(const std::string& op) {
  static const Names names{"Add",      "Cast",    "Concat", "Expand",     "Flatten",   "Gather",   "GlobalAveragePool",
                           "Identity", "Neg",     "Pad",    "ReduceMean", "ReduceSum", "Reshape",  "Slice",
                           "Split",    "Squeeze", "Sub",    "Sum",        "Transpose", "Unsqueeze"};
  return names.contains(op);
}

class Step {
 public:
  explicit Step(const Graph& graph) : graph_(graph), makers_(producers(graph)), leads_(leading_to_weights(graph)) {
    for (const Node& node : graph_.nodes) add(node);
  }

  StepWork work() {
    StepWork step;
    step.kernels = std::move(forward_);
    for (auto kernel = backward_.rbegin(); kernel != backward_.rend(); ++kernel) step.kernels.push_back(*kernel);
    for (const ValueId id : graph_.inputs) step.inputs += elements(id);
    for (const ValueId id : kept_) step.kept_activations += elements(id);
    step.kept_activations += kept_indices_;
    for (const auto& [id, tensor] : graph_.constants)
      if (tensor.type == DataType::f32) step.weight_bytes += 4 * element_count(tensor.shape);
    return step;
  }

 private:
  int64_t elements(ValueId id) const { return id != no_value && is_known(graph_, id) ? element_count(known_shape(graph_, id)) : 0; }

  // Another shape of a value is the value itself.
  bool is_view(const Node& node, const NodeCount& count) const {
    return !node.inputs.empty() && node.inputs[0] != no_value && (node.op == "Transpose" || count.bytes == 0);
  }
  ValueId seen_through(ValueId id) const {
    while (const auto maker = id == no_value ? std::nullopt : makers_[static_cast<size_t>(id)]) {
      const Node& node = graph_.nodes[*maker];
      if (!is_view(node, known_count(graph_, node))) return id;
      id = node.inputs[0];
    }
    return id;
  }

  void add(const Node& node) {
    const NodeCount count = known_count(graph_, node);
    if (count.bytes == 0 || is_view(node, count)) return;
    StepKernel kernel;
    kernel.work = {arithmetic_kind(graph_, node, count), node.name, count.macs};
    for (const std::vector<ValueId>& ids : {node.inputs, node.outputs})
      for (const ValueId id : std::set<ValueId>(ids.begin(), ids.end()))
        (graph_.constants.contains(id) ? kernel.work.weights : kernel.work.activations) += elements(id);
    forward_.push_back(kernel);
    kernel.pass = StepKernel::Pass::backward;
    const int64_t times = times_back(node, count, leads_);
    for (int64_t i = 0; i < times; ++i) backward_.push_back(kernel);
    if (times > 0) keep(node, count);
  }

  bool leads(ValueId id) const { return id != no_value && leads_[static_cast<size_t>(id)]; }

  void keep(ValueId id) {
    const ValueId seen = seen_through(id);
    if (seen != no_value && !graph_.constants.contains(seen)) kept_.insert(seen);
  }
  void keep(const Node& node, const NodeCount& count) {
    if (count.macs > 0 || node.op == "Mul" || node.op == "Div") {
      // An operand is what the other's gradient is made of.
      for (size_t i = 0; i < node.inputs.size() && i < 2; ++i)
        if (leads(node.inputs[1 - i < node.inputs.size() ? 1 - i : i])) keep(node.inputs[i]);
      return;
    }
    if (keeps_nothing(node.op)) return;
    keep(keeps_result(node.op) ? node.outputs[0] : node.inputs[0]);
    if (node.op != "MaxPool") return;
    keep(node.inputs[0]);
    kept_indices_ += 2 * elements(node.outputs[0]);  // of 8 bytes, where each came from
  }

  const Graph& graph_;
  std::vector<std::optional<size_t>> makers_;
  std::vector<bool> leads_;
  std::vector<StepKernel> forward_, backward_;
  std::set<ValueId> kept_;
  int64_t kept_indices_ = 0;
};

int64_t state_numbers(Optimizer optimizer) {
  if (optimizer == Optimizer::sgd) return 0;
  return optimizer == Optimizer::momentum ? 1 : 2;
}

}  // namespace

StepWork step_work(const Graph& graph, const TrainSettings& settings) {
  require_closed_sizes(graph);
  StepWork step = Step(bind_symbols(graph, {{batch_symbol, 1}})).work();
  const int64_t items = batching_of(graph).samples;
  step.inputs /= items;
  step.kept_activations /= items;
  for (StepKernel& kernel : step.kernels) kernel.work.macs /= items, kernel.work.activations /= items;
  for (const ValueId id : trainable_constants(graph)) step.gradient_bytes += 4 * element_count(graph.constants.at(id).shape);
  step.optimizer_bytes = state_numbers(settings.optimizer) * step.gradient_bytes;
  StepKernel update{.pass = StepKernel::Pass::update};
  update.work.name = "update";
  update.fixed_bytes = train_work(graph, settings).update_bytes;
  step.kernels.push_back(update);
  return step;
}

}  // namespace deepgap
