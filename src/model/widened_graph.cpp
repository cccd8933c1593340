#include "model/widened_graph.h"

#include "model/eval/element_types.h"
#include "model/onnx_types.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>

namespace deepgap {
namespace {

bool is_short(DataType type) { return type == DataType::f16 || type == DataType::bf16; }

const std::shared_ptr<const Graph>* body_in(const Attribute& attribute) { return std::get_if<std::shared_ptr<const Graph>>(&attribute); }

bool any_body(const Graph& graph, bool (*holds)(const Graph&)) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return std::any_of(node.attributes.begin(), node.attributes.end(), [&](const auto& item) {
      const auto* body = body_in(item.second);
      return body != nullptr && holds(**body);
    });
  });
}

bool reads_bits(const Graph& graph) {
  return any_body(graph, reads_bits) ||
         std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) { return node.op == "BitCast"; });
}

Tensor widened(const Tensor& tensor) { return is_short(tensor.type) && tensor.data ? converted(tensor, DataType::f32) : tensor; }

// Attributes that say which type a result has.
bool names_type(std::string_view attribute) {
  static const std::set<std::string_view> names{"to", "dtype", "output_dtype", "output_datatype"};
  return names.contains(attribute);
}

bool is_short_number(int64_t onnx_type) { return onnx_type == onnx_type_of(DataType::f16) || onnx_type == onnx_type_of(DataType::bf16); }

Graph widened_all(Graph graph) {
  for (Value& value : graph.values)
    if (is_short(value.type)) value.type = DataType::f32;
  for (auto& [id, tensor] : graph.constants) {
    tensor = widened(tensor);
    if (is_short(tensor.type)) tensor.type = DataType::f32;  // without data
  }
  for (Node& node : graph.nodes) {
    for (auto& [name, attribute] : node.attributes) {
      if (auto* tensor = std::get_if<Tensor>(&attribute)) *tensor = widened(*tensor);
      if (auto* number = std::get_if<int64_t>(&attribute); number != nullptr && names_type(name) && is_short_number(*number))
        *number = onnx_type_of(DataType::f32);
      if (const auto* body = body_in(attribute)) attribute = std::make_shared<const Graph>(widened_all(**body));
    }
  }
  return graph;
}

}  // namespace

bool has_short_floats(const Graph& graph) {
  return std::any_of(graph.values.begin(), graph.values.end(), [](const Value& value) { return is_short(value.type); }) ||
         any_body(graph, has_short_floats);
}

std::optional<Graph> widened_graph(const Graph& graph) {
  if (!has_short_floats(graph) || reads_bits(graph)) return std::nullopt;
  return widened_all(graph);
}

}  // namespace deepgap
