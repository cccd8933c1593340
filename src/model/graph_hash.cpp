// Hashes what makes a model another model: operators, attributes, wiring, types, sizes and weights; not the names of nodes or of the graph.
#include "base/hash.h"
#include "model/graph_tools.h"
#include "model/packed_weights.h"

namespace deepgap {
namespace {

void add_graph(Hasher& hasher, const Graph& graph);

void add_list_size(Hasher& hasher, size_t size) { hasher.add_value(static_cast<uint64_t>(size)); }

void add_tensor(Hasher& hasher, const Tensor& tensor) {
  hasher.add_value(static_cast<uint8_t>(tensor.type));
  add_list_size(hasher, tensor.shape.size());
  for (const int64_t size : tensor.shape) hasher.add_value(size);
  hasher.add_value(static_cast<uint8_t>(tensor.data != nullptr));
  // The same numbers in fewer bits are another network to an engine.
  if (const PackedContent* packed = packed_content(tensor)) hasher.add_value(packed->onnx_type);
  if (tensor.data != nullptr) hasher.add(std::span(tensor.data.get(), tensor.bytes()));
}

struct AddAttribute {
  Hasher& hasher;
  void operator()(int64_t value) { hasher.add_value(value); }
  void operator()(float value) { hasher.add_value(value); }
  void operator()(const std::string& value) { hasher.add(std::string_view(value)); }
  template <typename T>
  void operator()(const std::vector<T>& values) {
    add_list_size(hasher, values.size());
    for (const T& value : values) (*this)(value);
  }
  void operator()(const Tensor& value) { add_tensor(hasher, value); }
  void operator()(const std::shared_ptr<const Graph>& value) {
    if (value != nullptr) add_graph(hasher, *value);
  }
};

void add_values(Hasher& hasher, const Graph& graph, const std::vector<ValueId>& ids) {
  add_list_size(hasher, ids.size());
  for (const ValueId id : ids) hasher.add(id == no_value ? std::string_view() : std::string_view(graph.values[id].name));
}

void add_node(Hasher& hasher, const Graph& graph, const Node& node) {
  hasher.add(std::string_view(node.op));
  hasher.add(std::string_view(node.domain));
  add_values(hasher, graph, node.inputs);
  add_values(hasher, graph, node.outputs);
  add_list_size(hasher, node.attributes.size());
  for (const auto& [name, attribute] : node.attributes) {
    hasher.add(std::string_view(name));
    hasher.add_value(static_cast<uint8_t>(attribute.index()));
    std::visit(AddAttribute{hasher}, attribute);
  }
}

void add_input(Hasher& hasher, const Value& value) {
  hasher.add_value(static_cast<uint8_t>(value.type));
  add_list_size(hasher, value.dims ? value.dims->size() : size_t{255});
  for (size_t i = 0; value.dims && i < value.dims->size(); ++i) {
    hasher.add_value((*value.dims)[i].size);
    hasher.add(std::string_view((*value.dims)[i].symbol));
  }
}

void add_graph(Hasher& hasher, const Graph& graph) {
  hasher.add_value(static_cast<int64_t>(graph.opset));
  add_values(hasher, graph, graph.inputs);
  for (const ValueId id : graph.inputs) add_input(hasher, graph.values[id]);
  add_values(hasher, graph, graph.outputs);
  add_list_size(hasher, graph.nodes.size());
  for (const Node& node : graph.nodes) add_node(hasher, graph, node);
  // The key is the name: the same model read again may number its values otherwise.
  std::map<std::string_view, const Tensor*> constants;
  for (const auto& [id, tensor] : graph.constants) constants.emplace(graph.values[id].name, &tensor);
  add_list_size(hasher, constants.size());
  for (const auto& [name, tensor] : constants) {
    hasher.add(name);
    add_tensor(hasher, *tensor);
  }
}

}  // namespace

std::string graph_hash(const Graph& graph) {
  Hasher hasher;
  add_graph(hasher, graph);
  return hasher.digest();
}

}  // namespace deepgap
