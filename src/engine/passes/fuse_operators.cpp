// From the last node to the first, so that of two branches that meet in an addition the later one takes it and its input dies early.
#include "engine/passes/edit.h"
#include "engine/passes/fused.h"
#include "engine/passes/passes.h"
#include "model/graph_tools.h"

#include <algorithm>
#include <map>

namespace deepgap {
namespace {

constexpr size_t longest_chain = 6;

bool is_dense_main(const Node& node) {
  return is_onnx_op(node, "Conv") || is_onnx_op(node, "ConvTranspose") || is_onnx_op(node, "Gemm") || is_onnx_op(node, "MatMul");
}

bool is_elementwise_main(const Node& node) {
  return is_onnx_op(node, "Add") || is_onnx_op(node, "Sub") || is_onnx_op(node, "Mul") || is_onnx_op(node, "Div");
}

const Value& value_of(const Graph& graph, ValueId id) { return graph.values[static_cast<size_t>(id)]; }

// Whether `operand` is one number, or one per channel of `result`, lying along `axis`.
bool is_channel_constant(const Graph& graph, ValueId operand, const Dims& result, size_t axis) {
  const Tensor* tensor = constant_of(graph, operand);
  if (tensor == nullptr || tensor->shape.size() > result.size()) return false;
  const int64_t elements = element_count(tensor->shape);
  if (elements == 1) return true;
  const size_t missing = result.size() - tensor->shape.size();
  return axis >= missing && tensor->shape[axis - missing] == elements && result[axis] == Dim{elements, ""};
}

// Whether this Add or Mul of `value` with something else can follow a dense main operator.
bool is_fusable_binary(const Graph& graph, const Node& main, const Node& node, ValueId value) {
  if (!is_onnx_op(node, "Add") && !is_onnx_op(node, "Mul")) return false;
  const ValueId other = node.inputs[0] == value ? node.inputs[1] : node.inputs[0];
  const auto &mine = value_of(graph, value).dims, &theirs = value_of(graph, other).dims;
  if (other == value || !mine || mine->size() < 2 || value_of(graph, other).type != DataType::f32) return false;
  if (node.op == "Add" && theirs && *theirs == *mine && constant_of(graph, other) == nullptr) return true;
  const bool convolution = is_onnx_op(main, "Conv") || is_onnx_op(main, "ConvTranspose");
  return is_channel_constant(graph, other, *mine, convolution ? 1 : mine->size() - 1);
}

struct Chain {
  const Graph& graph;
  const std::vector<std::vector<size_t>>& readers;
  const std::vector<bool>& taken;

  std::vector<size_t> from(size_t start) const {
    std::vector<size_t> chain{start};
    const Node& main = graph.nodes[start];
    int residuals = 0;
    while (chain.size() < longest_chain) {
      const ValueId value = graph.nodes[chain.back()].outputs[0];
      const auto& reading = readers[static_cast<size_t>(value)];
      if (is_graph_output(graph, value) || reading.size() != 1 || taken[reading[0]]) break;
      const Node& next = graph.nodes[reading[0]];
      if (std::count(next.inputs.begin(), next.inputs.end(), value) != 1 || next.outputs.size() != 1) break;
      const bool activation = next.inputs[0] == value && activation_of(graph, next).has_value();
      const bool binary = is_dense_main(main) && is_fusable_binary(graph, main, next, value);
      if (!activation && !binary) break;
      const ValueId other = binary ? (next.inputs[0] == value ? next.inputs[1] : next.inputs[0]) : no_value;
      if (binary && constant_of(graph, other) == nullptr && ++residuals > 1) break;
      chain.push_back(reading[0]);
    }
    return chain;
  }
};

Node fused_node(const Graph& graph, const std::vector<size_t>& chain) {
  auto body = std::make_shared<Graph>();
  body->opset = graph.opset;
  Node result{.op = "Fused", .domain = "deepgap"};
  std::map<ValueId, ValueId> inner;  // outer id -> body id
  const auto import = [&](ValueId id) {
    if (id == no_value) return no_value;
    const auto [it, is_new] = inner.emplace(id, static_cast<ValueId>(body->values.size()));
    if (is_new) body->values.push_back(value_of(graph, id));
    return it->second;
  };
  for (size_t index : chain) {
    Node node = graph.nodes[index];
    for (ValueId& id : node.inputs) {
      const bool is_new = id != no_value && !inner.contains(id);
      const ValueId outer = id;
      id = import(id);
      if (!is_new) continue;
      body->inputs.push_back(id);
      result.inputs.push_back(outer);
    }
    for (ValueId& id : node.outputs) id = import(id);
    result.name += (result.name.empty() ? "" : "+") + node.name;
    body->nodes.push_back(std::move(node));
  }
  body->name = result.name;
  body->outputs = {body->nodes.back().outputs[0]};
  result.outputs = {graph.nodes[chain.back()].outputs[0]};
  result.attributes["body"] = std::shared_ptr<const Graph>(std::move(body));
  return result;
}

}  // namespace

void fuse_operators(Graph& graph) {
  const auto readers = consumers(graph);
  std::vector<bool> taken(graph.nodes.size(), false), erase(graph.nodes.size(), false);
  std::vector<std::vector<size_t>> chains;
  const Chain find{graph, readers, taken};
  for (const auto is_main : {is_dense_main, is_elementwise_main}) {  // a convolution gets the addition before the addition itself
    for (size_t i = graph.nodes.size(); i-- > 0;) {
      if (taken[i] || !is_main(graph.nodes[i]) || graph.nodes[i].outputs.size() != 1) continue;
      const auto chain = find.from(i);
      if (chain.size() < 2) continue;
      for (size_t index : chain) taken[index] = true;
      chains.push_back(chain);
    }
  }
  // Every operand is made before the last node of a chain, so the fused node stands there.
  std::vector<Node> fused;
  for (const auto& chain : chains) fused.push_back(fused_node(graph, chain));
  for (size_t c = 0; c < chains.size(); ++c) {
    for (size_t index : chains[c]) erase[index] = true;
    erase[chains[c].back()] = false;
    graph.nodes[chains[c].back()] = std::move(fused[c]);
  }
  erase_nodes(graph, erase);
}

}  // namespace deepgap
