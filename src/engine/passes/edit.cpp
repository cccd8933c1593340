#include "engine/passes/edit.h"

#include "model/graph_tools.h"
#include "model/tensor_contents.h"

#include <algorithm>

namespace deepgap {

bool is_onnx_op(const Node& node, std::string_view op) { return node.op == op && node.domain.empty(); }

bool is_graph_output(const Graph& graph, ValueId id) {
  return std::find(graph.outputs.begin(), graph.outputs.end(), id) != graph.outputs.end();
}

bool has_known_shapes(const Graph& graph, const Node& node) {
  const auto known = [&](ValueId id) { return id == no_value || is_known(graph, id); };
  return std::ranges::all_of(node.inputs, known) && std::ranges::all_of(node.outputs, known);
}

void replace_uses(Graph& graph, ValueId from, ValueId to) {
  for (auto& node : graph.nodes) std::replace(node.inputs.begin(), node.inputs.end(), from, to);
  std::replace(graph.outputs.begin(), graph.outputs.end(), from, to);
}

ValueId add_value(Graph& graph, const std::string& stem, DataType type, const std::optional<Dims>& dims) {
  const auto taken = [&](const std::string& name) {
    return std::any_of(graph.values.begin(), graph.values.end(), [&](const Value& value) { return value.name == name; });
  };
  std::string name = stem;
  for (int i = 1; taken(name); ++i) name = stem + "." + std::to_string(i);
  graph.values.push_back({name, type, dims});
  return static_cast<ValueId>(graph.values.size() - 1);
}

ValueId add_constant(Graph& graph, const std::string& stem, Tensor tensor) {
  Dims dims;
  for (int64_t size : tensor.shape) dims.push_back({size, ""});
  const ValueId id = add_value(graph, stem, tensor.type, dims);
  graph.constants.emplace(id, std::move(tensor));
  return id;
}

void erase_nodes(Graph& graph, const std::vector<bool>& erase) {
  size_t kept = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (erase[i]) continue;
    if (kept != i) graph.nodes[kept] = std::move(graph.nodes[i]);
    ++kept;
  }
  graph.nodes.resize(kept);
}

std::vector<double> constant_values(const Graph& graph, ValueId id) {
  const Tensor* tensor = id == no_value ? nullptr : constant_of(graph, id);
  if (tensor == nullptr || tensor->type != DataType::f32) return {};
  const auto floats = contents<float>(*tensor);
  return {floats.begin(), floats.end()};
}

}  // namespace deepgap
