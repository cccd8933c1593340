#include "engine/passes/quantization.h"

#include "engine/passes/edit.h"
#include "model/eval/evaluator.h"
#include "model/graph_tools.h"
#include "model/packed_weights.h"

#include <deepgap/error.h>

#include <fmt/core.h>

#include <cstring>

namespace deepgap {
namespace {

bool has_input(const Node& node, size_t index) { return node.inputs.size() > index && node.inputs[index] != no_value; }

// nullopt for other types than those of 8 bits.
std::optional<std::vector<int32_t>> zero_points_of(const Tensor& tensor) {
  const auto count = static_cast<size_t>(element_count(tensor.shape));
  std::vector<int32_t> result;
  for (size_t i = 0; i < count; ++i) {
    if (tensor.type == DataType::u8) {
      result.push_back(tensor.as<uint8_t>()[i]);
    } else if (tensor.type == DataType::i8) {
      result.push_back(tensor.as<int8_t>()[i]);
    } else {
      return std::nullopt;
    }
  }
  return result;
}

}  // namespace

bool is_quantize(const Node& node) { return is_onnx_op(node, "QuantizeLinear"); }
bool is_dequantize(const Node& node) { return is_onnx_op(node, "DequantizeLinear"); }

namespace {

// To integers of 4 bits or floats of 8, which stand in wider types here (model/packed_weights.h).
bool quantizes_to_few_bits(const Graph& graph, const Node& node) {
  if (!is_quantize(node)) return false;
  const Tensor* zero = node.inputs.size() > 2 ? constant_of(graph, node.inputs[2]) : nullptr;
  return (zero != nullptr && packed_content(*zero) != nullptr) || widened_type_of(attribute_int(node, "output_dtype", 0));
}

// Weights that native does not compute with as they are: blocks with a scale each, and what stands in a wider type than int8.
bool is_for_folding(const Graph& graph, const Node& node) {
  if (!is_dequantize(node)) return false;
  const Tensor* weights = constant_of(graph, node.inputs[0]);
  return weights != nullptr && (attribute_int(node, "block_size", 0) != 0 || weights->type == DataType::f32);
}

}  // namespace

void require_handled_quantization(const Graph& graph) {
  const auto type_of = [&](ValueId id) { return graph.values[static_cast<size_t>(id)].type; };
  for (const Node& node : graph.nodes) {
    if (!is_quantize(node) && !is_dequantize(node)) continue;
    const auto refuse = [&](const std::string& what) {
      throw Error(ErrorKind::refused, fmt::format("native: node '{}' ({}): {} not handled here", node.name, node.op, what));
    };
    const DataType scale = type_of(node.inputs[1]), numbers = type_of(is_quantize(node) ? node.inputs[0] : node.outputs[0]);
    if (attribute_int(node, "block_size", 0) != 0) refuse("scales of blocks are");
    if (quantizes_to_few_bits(graph, node)) refuse("levels of fewer than 8 bits or of floats are");
    if (scale != DataType::f32) refuse(fmt::format("a scale of {} is", name_of(scale)));
    if (numbers != DataType::f32) refuse(fmt::format("numbers of {} are", name_of(numbers)));
  }
}

std::optional<Quantization> quantization_of(const Graph& graph, const Node& node) {
  if ((!is_quantize(node) && !is_dequantize(node)) || node.inputs.size() < 2 || attribute_int(node, "block_size", 0) != 0)
    return std::nullopt;
  const auto scales = constant_values(graph, node.inputs[1]);
  if (scales.empty()) return std::nullopt;
  Quantization result{DataType::u8, {scales.begin(), scales.end()}, std::vector<int32_t>(scales.size(), 0), 0};
  const ValueId integers = is_quantize(node) ? node.outputs[0] : node.inputs[0];
  if (has_input(node, 2)) {
    const Tensor* tensor = constant_of(graph, node.inputs[2]);
    const auto zeros = tensor == nullptr ? std::nullopt : zero_points_of(*tensor);
    if (!zeros || zeros->size() != scales.size()) return std::nullopt;
    result.type = tensor->type;
    result.zero_points = *zeros;
  } else if (integers != no_value) {
    result.type = graph.values[static_cast<size_t>(integers)].type;
  }
  if (result.type != DataType::u8 && result.type != DataType::i8) return std::nullopt;
  if (result.per_tensor()) return result;
  const ValueId sized = node.inputs[0] != no_value ? node.inputs[0] : node.outputs[0];
  const auto& dims = graph.values[static_cast<size_t>(sized)].dims;
  if (!dims) return std::nullopt;
  const int64_t axis = attribute_int(node, "axis", 1);
  result.axis = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(dims->size()) : axis);
  return result;
}

namespace {

// Folds the nodes that `concerns` selects and whose inputs are all constants.
template <typename Predicate>
void fold_where(Graph& graph, Predicate concerns) {
  std::vector<bool> erase(graph.nodes.size(), false);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!concerns(node)) continue;
    std::vector<Tensor> inputs;
    for (ValueId id : node.inputs) {
      const Tensor* tensor = id == no_value ? nullptr : constant_of(graph, id);
      if (tensor == nullptr && id != no_value) break;
      inputs.push_back(tensor == nullptr ? Tensor{} : *tensor);
    }
    if (inputs.size() != node.inputs.size()) continue;
    graph.constants[node.outputs[0]] = evaluate_node(graph, node, inputs).at(0);
    erase[i] = true;
  }
  erase_nodes(graph, erase);
}

}  // namespace

void fold_dequantized(Graph& graph) { fold_where(graph, is_dequantize); }

void fold_packed_weights(Graph& graph) {
  fold_where(graph, [&](const Node& node) { return is_for_folding(graph, node); });
}

}  // namespace deepgap
