#include "engine/passes/chains.h"

#include "engine/passes/edit.h"
#include "model/graph_tools.h"

#include <algorithm>
#include <numeric>

namespace deepgap {
namespace {

const Value& value_of(const Graph& graph, ValueId id) { return graph.values[static_cast<size_t>(id)]; }

bool is_pointwise(const Graph& graph, const Node& node) {
  if (!is_onnx_op(node, "Conv")) return false;
  std::vector<int64_t> steps = attribute_ints(node, "strides", {}), kernel = attribute_ints(node, "kernel_shape", {});
  const auto& weights = value_of(graph, node.inputs[1]).dims;
  if (kernel.empty() && !weights) return false;
  for (size_t i = 2; kernel.empty() && i < weights->size(); ++i) steps.push_back((*weights)[i].size);
  steps.insert(steps.end(), kernel.begin(), kernel.end());
  return std::all_of(steps.begin(), steps.end(), [](int64_t step) { return step == 1; });
}

}  // namespace

bool is_channel_constant(const Graph& graph, const Node& main, ValueId operand, ValueId value) {
  const Tensor* tensor = constant_of(graph, operand);
  const auto& result = value_of(graph, value).dims;
  if (tensor == nullptr || !result || tensor->shape.size() > result->size()) return false;
  const int64_t elements = element_count(tensor->shape);
  if (elements == 1) return true;
  const bool last = is_onnx_op(main, "Gemm") || is_onnx_op(main, "MatMul");
  const size_t axis = last ? result->size() - 1 : 1, missing = result->size() - tensor->shape.size();
  return axis >= missing && tensor->shape[axis - missing] == elements && (*result)[axis] == Dim{elements, ""};
}

bool is_dense_main(const Node& node) {
  return is_onnx_op(node, "Conv") || is_onnx_op(node, "ConvTranspose") || is_onnx_op(node, "Gemm") || is_onnx_op(node, "MatMul");
}

bool is_depthwise(const Graph& graph, const Node& node) {
  const Tensor* weights = is_onnx_op(node, "Conv") ? constant_of(graph, node.inputs[1]) : nullptr;
  const int64_t groups = attribute_int(node, "group", 1);
  return weights != nullptr && groups > 1 && weights->shape.size() > 1 && weights->shape[0] == groups && weights->shape[1] == 1;
}

bool is_fusable_binary(const Graph& graph, const Node& main, const Node& node, ValueId value) {
  if (!is_onnx_op(node, "Add") && !is_onnx_op(node, "Mul")) return false;
  const ValueId other = node.inputs[0] == value ? node.inputs[1] : node.inputs[0];
  const auto &mine = value_of(graph, value).dims, &theirs = value_of(graph, other).dims;
  if (other == value || !mine || mine->size() < 2 || value_of(graph, other).type != DataType::f32) return false;
  if (node.op == "Add" && theirs && *theirs == *mine && constant_of(graph, other) == nullptr) return true;
  return is_channel_constant(graph, main, other, value);
}

std::vector<size_t> order_of_taking(const Graph& graph, const FusionRules& rules) {
  std::vector<size_t> order(graph.nodes.size());
  std::iota(order.rbegin(), order.rend(), size_t{0});
  const auto is_early = [&](size_t i) { return is_pointwise(graph, graph.nodes[i]); };
  if (rules.pointwise_takes_sum) std::stable_partition(order.begin(), order.end(), is_early);
  return order;
}

std::vector<Node> nodes_at(const Graph& graph, const std::vector<size_t>& indices) {
  std::vector<Node> nodes;
  for (size_t index : indices) nodes.push_back(graph.nodes[index]);
  return nodes;
}

}  // namespace deepgap
