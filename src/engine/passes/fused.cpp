#include "engine/passes/fused.h"

#include "engine/passes/attention.h"
#include "engine/passes/edit.h"
#include "model/graph_tools.h"

#include <limits>
#include <map>

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
  std::map<ValueId, Node> dequantized;  // by the body's id of the result: the DequantizeLinear with the outer Graph's ids

  ValueId outer(ValueId inner) const {
    for (size_t i = 0; i < body.inputs.size(); ++i)
      if (body.inputs[i] == inner) return node.inputs[i];
    return no_value;  // made inside the body
  }
  Node outer_node(const Node& inner) const {
    Node result = inner;
    for (ValueId& id : result.inputs) {
      const auto it = dequantized.find(id);
      id = it != dequantized.end() ? it->second.inputs[0] : id == no_value ? no_value : outer(id);
    }
    result.outputs = node.outputs;  // stands in for results inside the body, too
    return result;
  }
  std::optional<Quantization> quantization(ValueId inner) const {
    const auto it = dequantized.find(inner);
    return it == dequantized.end() ? std::nullopt : quantization_of(graph, it->second);
  }
  Post post(const Node& inner) const {
    if (inner.op == "Add" || inner.op == "Mul") {
      const Node read = outer_node(inner);
      const size_t side = read.inputs[0] == no_value ? 1 : 0;
      return {inner.op == "Add" ? Post::Kind::add : Post::Kind::multiply, {}, read.inputs[side], quantization(inner.inputs[side])};
    }
    return {Post::Kind::activation, *activation_in_body(inner), no_value, std::nullopt};
  }
  // The chain's own input is inside the body; the body's values say its type.
  std::optional<Activation> activation_in_body(const Node& inner) const {
    Node probe = outer_node(inner);
    probe.inputs[0] = float_value();
    return activation_of(graph, probe);
  }
  // Some float32 value of the outer Graph: activation_of looks at the type alone.
  ValueId float_value() const {
    for (size_t i = 0; i < graph.values.size(); ++i)
      if (graph.values[i].type == DataType::f32) return static_cast<ValueId>(i);
    return no_value;
  }
};

}  // namespace

bool is_fused(const Node& node) { return node.domain == "deepgap" && node.op == "Fused"; }

Operation operation_of(const Graph& graph, const Node& node) {
  Operation result{.name = node.name, .main = node, .output = node.outputs.empty() ? no_value : node.outputs[0], .node = &node};
  if (is_attention(node)) result.body = std::get<std::shared_ptr<const Graph>>(node.attributes.at("body")).get();
  if (!is_fused(node)) return result;
  result.body = std::get<std::shared_ptr<const Graph>>(node.attributes.at("body")).get();
  BodyReader reader{graph, node, *result.body, {}};
  bool has_main = false;
  for (const Node& inner : result.body->nodes) {
    if (is_dequantize(inner) && has_main && reader.outer(inner.inputs[0]) == no_value) continue;  // the second half of a rounding
    if (is_dequantize(inner)) {
      reader.dequantized.emplace(inner.outputs[0], reader.outer_node(inner));
    } else if (!has_main) {
      has_main = true;
      result.main = reader.outer_node(inner);
      for (ValueId id : inner.inputs) result.integers.push_back(reader.quantization(id));
      if (is_quantize(inner)) result.result = quantization_of(graph, result.main);  // from one quantization to another
    } else if (is_quantize(inner) && &inner != &result.body->nodes.back()) {
      result.posts.push_back({Post::Kind::round, {}, no_value, quantization_of(graph, reader.outer_node(inner))});
    } else if (is_quantize(inner)) {
      result.result = quantization_of(graph, reader.outer_node(inner));
    } else {
      result.posts.push_back(reader.post(inner));
    }
  }
  return result;
}

Node fused_node(const Graph& graph, std::span<const Node> nodes) {
  auto body = std::make_shared<Graph>();
  body->opset = graph.opset;
  Node result{.op = "Fused", .domain = "deepgap"};
  std::map<ValueId, ValueId> inner;  // outer id -> body id
  const auto import = [&](ValueId id) {
    if (id == no_value) return no_value;
    const auto [it, is_new] = inner.emplace(id, static_cast<ValueId>(body->values.size()));
    if (is_new) body->values.push_back(graph.values[static_cast<size_t>(id)]);
    return it->second;
  };
  for (const Node& given : nodes) {
    Node node = given;
    for (ValueId& id : node.inputs) {
      const bool is_new = id != no_value && !inner.contains(id);
      const ValueId outer = id;
      id = import(id);
      if (!is_new) continue;
      body->inputs.push_back(id);
      result.inputs.push_back(outer);
    }
    for (ValueId& id : node.outputs) id = import(id);
    const bool named = (!is_quantize(node) && !is_dequantize(node)) || (result.name.empty() && &given == &nodes.back());
    if (named) result.name += (result.name.empty() ? "" : "+") + node.name;
    body->nodes.push_back(std::move(node));
  }
  body->name = result.name;
  body->outputs = {body->nodes.back().outputs[0]};
  result.outputs = {nodes.back().outputs[0]};
  result.attributes["body"] = std::shared_ptr<const Graph>(std::move(body));
  return result;
}

std::vector<Node> parts_of(const Node& fused, const std::function<ValueId(const Graph& body, ValueId id)>& add) {
  const Graph& body = *std::get<std::shared_ptr<const Graph>>(fused.attributes.at("body"));
  std::map<ValueId, ValueId> outer{{no_value, no_value}, {body.outputs[0], fused.outputs[0]}};
  for (size_t i = 0; i < body.inputs.size(); ++i) outer[body.inputs[i]] = fused.inputs[i];
  const auto outer_id = [&](ValueId id) {
    const auto found = outer.find(id);
    return found != outer.end() ? found->second : outer.emplace(id, add(body, id)).first->second;
  };
  std::vector<Node> parts = body.nodes;
  for (Node& part : parts) {
    for (ValueId& id : part.inputs) id = outer_id(id);
    for (ValueId& id : part.outputs) id = outer_id(id);
  }
  return parts;
}

}  // namespace deepgap
