#include "model/step_work.h"

#include "model/graph_tools.h"
#include "model/train_work.h"

#include <deepgap/batching.h>

#include <set>
#include <string_view>

namespace deepgap {
namespace {

using Names = std::set<std::string_view>;

// Returns whether the operator's derivative is computed from its result.
bool keeps_result(const std::string& op) {
  static const Names names{"Exp", "MaxPool", "Relu", "Sigmoid", "Softmax", "LogSoftmax", "Sqrt", "Tanh"};
  return names.contains(op);
}
// Returns whether the operator's gradient needs nothing but sizes.
bool keeps_nothing(const std::string& op) {
  static const Names names{"Add",      "Cast",    "Concat", "Expand",     "Flatten",   "Gather",   "GlobalAveragePool",
                           "Identity", "Neg",     "Pad",    "ReduceMean", "ReduceSum", "Reshape",  "Slice",
                           "Split",    "Squeeze", "Sub",    "Sum",        "Transpose", "Unsqueeze"};
  return names.contains(op);
}

// That are computed in float32 whatever they read.
bool makes_wide(const std::string& op) {
  static const Names names{"Exp",
                           "GroupNormalization",
                           "InstanceNormalization",
                           "LayerNormalization",
                           "Log",
                           "LogSoftmax",
                           "Pow",
                           "ReduceMean",
                           "ReduceSum",
                           "Softmax",
                           "Softplus"};
  return names.contains(op);
}

class Step {
 public:
  explicit Step(const Graph& graph)
      : graph_(graph), makers_(producers(graph)), leads_(leading_to_weights(graph)), wide_(graph.values.size()) {
    for (const ValueId id : graph_.inputs) wide_[static_cast<size_t>(id)] = true;
    for (const Node& node : graph_.nodes) add(node);
  }

  StepWork work() {
    StepWork step;
    step.kernels = std::move(forward_);
    for (auto kernel = backward_.rbegin(); kernel != backward_.rend(); ++kernel) step.kernels.push_back(*kernel);
    for (const ValueId id : graph_.inputs) step.inputs += elements(id);
    for (const ValueId id : kept_) (is_wide(id) ? step.kept_wide : step.kept_activations) += elements(id);
    // In float32 such an operand is kept as it is, unless another keeps it anyway.
    for (const ValueId id : kept_as_copy_) {
      step.kept_copies += elements(id);
      if (!kept_.contains(id)) step.kept_only_in_32_bits += elements(id);
    }
    step.kept_wide += kept_indices_;
    step.copied_weights = copied_weights_;
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

  bool is_wide(ValueId id) const { return id != no_value && wide_[static_cast<size_t>(id)]; }

  // The type of what a node makes: a product's is the precision's; others take the widest that they read, but normalisation over batches
  // takes its input's.
  void widen(const Node& node, const NodeCount& count) {
    bool wide = makes_wide(node.op);
    for (size_t i = 0; i < node.inputs.size() && count.macs == 0; ++i) {
      const ValueId id = node.inputs[i];
      const bool weight = i > 0 && graph_.constants.contains(id) && !graph_.constants.at(id).shape.empty() &&
                          graph_.constants.at(id).type == DataType::f32 && node.op != "BatchNormalization";
      wide = wide || is_wide(id) || weight;
    }
    for (const ValueId id : node.outputs)
      if (id != no_value) wide_[static_cast<size_t>(id)] = wide;
  }

  // A product's wide operands in 16 bits, once each; on the way back a weight's gradient in float32 again.
  void copy_operands(const Node& node) {
    constexpr int64_t there_and_back = 6;  // bytes: four read and two written, or the other way round
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == no_value) continue;
      StepKernel copy{.only_in_16_bits = true};
      copy.work.name = node.name + ".copy";
      if (graph_.constants.contains(id)) {
        copy.fixed_bytes = there_and_back * elements(id);
        copied_weights_ += elements(id);
        forward_.push_back(copy);
        copy.pass = StepKernel::Pass::backward;
        backward_.push_back(copy);
      } else if (is_wide(id) && copied_.insert(seen_through(id)).second) {
        copy.work.activations = copy.wide_activations = elements(id);
        forward_.push_back(copy);
        copy.pass = StepKernel::Pass::backward;
        if (leads(id)) backward_.push_back(copy);
      }
    }
  }

  void add(const Node& node) {
    const NodeCount count = known_count(graph_, node);
    widen(node, count);
    if (count.bytes == 0 || is_view(node, count)) return;
    if (count.macs > 0) copy_operands(node);
    StepKernel kernel;
    kernel.work = {arithmetic_kind(graph_, node, count), node.name, count.macs};
    for (const std::vector<ValueId>& ids : {node.inputs, node.outputs})
      for (const ValueId id : std::set<ValueId>(ids.begin(), ids.end())) {
        if (graph_.constants.contains(id))
          kernel.work.weights += elements(id);
        else
          (count.macs == 0 && is_wide(id) ? kernel.wide_activations : kernel.work.activations) += elements(id);
      }
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
  // In 16 bits a product keeps the copy of a wide operand, which is the value itself otherwise.
  void keep_operand(ValueId id) {
    const ValueId seen = seen_through(id);
    if (seen == no_value || graph_.constants.contains(seen)) return;
    (copied_.contains(seen) ? kept_as_copy_ : kept_).insert(seen);
  }
  void keep(const Node& node, const NodeCount& count) {
    if (count.macs > 0 || node.op == "Mul" || node.op == "Div") {
      // An operand is what the other's gradient is made of.
      for (size_t i = 0; i < node.inputs.size() && i < 2; ++i)
        if (leads(node.inputs[1 - i < node.inputs.size() ? 1 - i : i]))
          count.macs > 0 ? keep_operand(node.inputs[i]) : keep(node.inputs[i]);
      return;
    }
    if (keeps_nothing(node.op)) return;
    keep(keeps_result(node.op) ? node.outputs[0] : node.inputs[0]);
    if (node.op != "MaxPool") return;
    keep(node.inputs[0]);
    kept_indices_ += 2 * elements(node.outputs[0]);  // elements of 8 bytes that say where each maximum came from
  }

  const Graph& graph_;
  std::vector<std::optional<size_t>> makers_;
  std::vector<bool> leads_;
  std::vector<StepKernel> forward_, backward_;
  std::vector<bool> wide_;  // by value: float32 in every precision
  std::set<ValueId> kept_, copied_, kept_as_copy_;
  int64_t kept_indices_ = 0, copied_weights_ = 0;
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
  step.kept_wide /= items;
  step.kept_copies /= items;
  step.kept_only_in_32_bits /= items;
  for (StepKernel& kernel : step.kernels) kernel.work.macs /= items, kernel.work.activations /= items, kernel.wide_activations /= items;
  for (const ValueId id : trainable_constants(graph)) step.gradient_bytes += 4 * element_count(graph.constants.at(id).shape);
  step.optimizer_bytes = state_numbers(settings.optimizer) * step.gradient_bytes;
  StepKernel update{.pass = StepKernel::Pass::update};
  update.work.name = "update";
  update.fixed_bytes = train_work(graph, settings).update_bytes;
  step.kernels.push_back(update);
  return step;
}

}  // namespace deepgap
