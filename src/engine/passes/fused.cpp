#include "engine/passes/fused.h"

#include "engine/passes/edit.h"
#include "model/graph_tools.h"

#include <limits>

namespace deepgap {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// Bounds of Clip: attributes before opset 11, inputs since.
std::optional<Activation> clip_of(const Graph& graph, const Node& node) {
  Activation result{ActivationKind::clip, attribute_float(node, "min", -infinity), attribute_float(node, "max", infinity)};
  for (size_t i = 1; i < node.inputs.size() && i <= 2; ++i) {
    if (node.inputs[i] == no_value) continue;
    const auto bound = constant_values(graph, node.inputs[i]);
    if (bound.size() != 1) return std::nullopt;
    (i == 1 ? result.alpha : result.beta) = static_cast<float>(bound[0]);
  }
  return result;
}

}  // namespace

std::optional<Activation> activation_of(const Graph& graph, const Node& node) {
  using enum ActivationKind;
  if (!node.domain.empty() || node.inputs.empty()) return std::nullopt;
  if (graph.values[static_cast<size_t>(node.inputs[0])].type != DataType::f32) return std::nullopt;
  const auto& op = node.op;
  if (op == "Relu") return Activation{relu};
  if (op == "Clip") return clip_of(graph, node);
  if (op == "LeakyRelu") return Activation{leaky_relu, attribute_float(node, "alpha", 0.01F)};
  if (op == "Sigmoid") return Activation{sigmoid};
  if (op == "Tanh") return Activation{tanh};
  if (op == "Elu") return Activation{elu, attribute_float(node, "alpha", 1.0F)};
  if (op == "HardSigmoid") return Activation{hard_sigmoid, attribute_float(node, "alpha", 0.2F), attribute_float(node, "beta", 0.5F)};
  if (op == "HardSwish") return Activation{hard_swish, 1.0F / 6.0F, 0.5F};
  if (op == "Gelu") return Activation{attribute_string(node, "approximate", "none") == "tanh" ? gelu_tanh : gelu_erf};
  if (op == "Softplus") return Activation{softplus};
  return std::nullopt;
}

namespace {

// Reads a body whose ids are the body's, and gives the outer Graph's.
struct BodyReader {
  const Graph& graph;
  const Node& node;
  const Graph& body;

  ValueId outer(ValueId inner) const {
    for (size_t i = 0; i < body.inputs.size(); ++i)
      if (body.inputs[i] == inner) return node.inputs[i];
    return no_value;  // made inside the body
  }
  Node outer_node(const Node& inner) const {
    Node result = inner;
    for (ValueId& id : result.inputs)
      if (id != no_value) id = outer(id);
    return result;
  }
  Post post(const Node& inner) const {
    if (inner.op == "Add" || inner.op == "Mul") {
      const ValueId first = outer(inner.inputs[0]);
      return {inner.op == "Add" ? Post::Kind::add : Post::Kind::multiply, {}, first == no_value ? outer(inner.inputs[1]) : first};
    }
    // The chain's own input is inside the body and of type float32; the outer output stands in for it.
    Node probe = outer_node(inner);
    probe.inputs[0] = node.outputs[0];
    return {Post::Kind::activation, *activation_of(graph, probe), no_value};
  }
};

}  // namespace

Operation operation_of(const Graph& graph, const Node& node) {
  Operation result{.name = node.name, .main = node, .output = node.outputs.empty() ? no_value : node.outputs[0], .node = &node};
  if (node.domain != "deepgap" || node.op != "Fused") return result;
  result.body = std::get<std::shared_ptr<const Graph>>(node.attributes.at("body")).get();
  const BodyReader reader{graph, node, *result.body};
  result.main = reader.outer_node(result.body->nodes.front());
  for (size_t i = 1; i < result.body->nodes.size(); ++i) result.posts.push_back(reader.post(result.body->nodes[i]));
  return result;
}

}  // namespace deepgap
