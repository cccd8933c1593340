#include "model/train_work.h"

#include "model/item_counts.h"

#include <algorithm>
#include <vector>

namespace deepgap {
namespace {

struct UpdateCost {
  int64_t flop, numbers;  // for each weight: operations, and numbers read and written
};
UpdateCost update_cost(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::sgd:
      return {2, 3};
    case Optimizer::momentum:
      return {4, 5};
    case Optimizer::adam:
    case Optimizer::adamw:
      return {12, 7};
  }
  return {};
}

}  // namespace

std::vector<bool> leading_to_weights(const Graph& graph) {
  std::vector<bool> leads(graph.values.size());
  for (const ValueId id : trainable_constants(graph)) leads[static_cast<size_t>(id)] = true;
  for (const Node& node : graph.nodes) {
    const bool any =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return id != no_value && leads[static_cast<size_t>(id)]; });
    for (const ValueId id : node.outputs)
      if (id != no_value && any) leads[static_cast<size_t>(id)] = true;
  }
  return leads;
}

int64_t times_back(const Node& node, const NodeCount& count, const std::vector<bool>& leads) {
  int64_t operands = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    const bool is_operand = count.macs == 0 || i < 2 || node.op == "Einsum";  // a bias costs little
    if (id != no_value && is_operand && leads[static_cast<size_t>(id)]) ++operands;
  }
  return count.macs > 0 ? operands : std::min<int64_t>(operands, 1);
}

TrainWork train_work(const Graph& graph, const TrainSettings& settings) {
  TrainWork work;
  const auto counts = item_counts(graph);
  if (!counts) return work;
  work = {0, 0, 0, 0, 0};
  const std::vector<bool> leads = leading_to_weights(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeCount& count = (*counts)[i];
    const int64_t times = 1 + times_back(graph.nodes[i], count, leads);
    work.macs_per_item += times * count.macs;
    work.passes_flop += times * count.flop;
    work.passes_bytes += times * count.bytes;
  }
  int64_t weights = 0;
  for (const ValueId id : trainable_constants(graph)) weights += element_count(graph.constants.at(id).shape);
  const UpdateCost cost = update_cost(settings.optimizer);
  work.update_flop = cost.flop * weights;
  work.update_bytes = cost.numbers * weights * static_cast<int64_t>(sizeof(float));
  return work;
}

}  // namespace deepgap
