#include "engine/passes/flow.h"

#include "engine/passes/edit.h"
#include "engine/passes/passes.h"
#include "model/graph_tools.h"
#include "model/tensor_contents.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace deepgap {

Flow::Flow(const Graph& graph) : graph_(graph), makers_(graph.values.size(), nullptr), readers_(consumers(graph)) {
  for (const Node& node : graph.nodes)
    for (const ValueId id : node.outputs)
      if (id != no_value) makers_[static_cast<size_t>(id)] = &node;
}

const Node* Flow::maker(ValueId id) const { return id == no_value ? nullptr : makers_[static_cast<size_t>(id)]; }

const Node* Flow::made_by(ValueId id, std::string_view op) const {
  const Node* node = maker(id);
  return node != nullptr && is_onnx_op(*node, op) ? node : nullptr;
}

const Node* Flow::only_reader(ValueId id) const {
  const auto& reading = readers_[static_cast<size_t>(id)];
  if (reading.size() != 1 || is_graph_output(graph_, id)) return nullptr;
  const Node& node = graph_.nodes[reading[0]];
  return std::count(node.inputs.begin(), node.inputs.end(), id) == 1 ? &node : nullptr;
}

const Node* Flow::own_maker(ValueId id) const {
  const Node* node = maker(id);
  return node != nullptr && only_reader(id) != nullptr && node->outputs.size() == 1 ? node : nullptr;
}

std::optional<float> number_of(const Graph& graph, ValueId id) {
  const Tensor* tensor = id == no_value ? nullptr : constant_of(graph, id);
  if (tensor == nullptr || tensor->type != DataType::f32 || element_count(tensor->shape) != 1) return std::nullopt;
  return contents<float>(*tensor)[0];
}

bool is_about(std::optional<float> number, double value) { return number && std::abs(static_cast<double>(*number) - value) < 1e-4 * value; }

void put_operator(Graph& graph, const std::string& op, WrittenOut input_of) {
  std::vector<std::pair<size_t, ValueId>> found;
  const Flow flow(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (const auto input = input_of(flow, graph.nodes[i])) found.emplace_back(i, *input);
  for (const auto& [index, input] : found) {
    Node& node = graph.nodes[index];
    node = {node.name, op, "", {input}, node.outputs, {}};
  }
  if (!found.empty()) remove_dead(graph);
}

ValueId other_input(const Node& node, ValueId id) { return node.inputs.at(0) == id ? node.inputs.at(1) : node.inputs.at(0); }

}  // namespace deepgap
