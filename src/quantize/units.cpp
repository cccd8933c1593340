#include "quantize/units.h"

#include "base/text.h"
#include "engine/passes/edit.h"
#include "engine/passes/passes.h"
#include "model/graph_tools.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace deepgap {
namespace {

using Names = std::set<std::string_view>;

const Value& value_of(const Graph& graph, ValueId id) { return graph.values[static_cast<size_t>(id)]; }

bool is_constant(const Graph& graph, ValueId id) { return constant_of(graph, id) != nullptr; }

bool is_data(const Graph& graph, ValueId id) {
  return id != no_value && !is_constant(graph, id) && value_of(graph, id).type == DataType::f32;
}

bool has_weights(const Graph& graph, const Node& node, size_t least_rank, size_t most_rank) {
  const Tensor* weights = node.inputs.size() > 1 ? constant_of(graph, node.inputs[1]) : nullptr;
  if (weights == nullptr || weights->type != DataType::f32) return false;
  if (weights->shape.size() < least_rank || weights->shape.size() > most_rank || element_count(weights->shape) == 0) return false;
  return node.inputs.size() < 3 || node.inputs[2] == no_value || is_constant(graph, node.inputs[2]);
}

bool is_weighted(const Graph& graph, const Node& node) {
  if (!is_data(graph, node.inputs.at(0))) return false;
  if (is_onnx_op(node, "Conv")) return has_weights(graph, node, 3, 5);
  if (is_onnx_op(node, "MatMul")) return has_weights(graph, node, 2, 2);
  if (!is_onnx_op(node, "Gemm") || !has_weights(graph, node, 2, 2)) return false;
  const bool plain = attribute_float(node, "alpha", 1.0F) == 1.0F && attribute_float(node, "beta", 1.0F) == 1.0F;
  if (!plain || attribute_int(node, "transA", 0) != 0) return false;
  // A bias of one number per row of the result is not a bias of channels.
  const Tensor* bias = node.inputs.size() > 2 && node.inputs[2] != no_value ? constant_of(graph, node.inputs[2]) : nullptr;
  const Tensor* weights = constant_of(graph, node.inputs[1]);
  return bias == nullptr || bias->shape == Shape{weights->shape[static_cast<size_t>(channel_axis(graph, node))]};
}

// Additions of two results; that of a constant is a bias, which engines fold or do in FP32.
bool is_residual(const Graph& graph, const Node& node) {
  if (!is_onnx_op(node, "Add") || node.inputs[0] == node.inputs[1]) return false;
  if (!is_data(graph, node.inputs[0]) || !is_data(graph, node.inputs[1])) return false;
  const auto &a = value_of(graph, node.inputs[0]).dims, &b = value_of(graph, node.inputs[1]).dims;
  return a && b && *a == *b;
}

// Where only the run knows a size, as behind NonMaxSuppression, there is little to compute and no range to observe.
bool has_sizes(const Graph& graph, ValueId id) {
  const auto& dims = value_of(graph, id).dims;
  return dims && std::all_of(dims->begin(), dims->end(), [](const Dim& dim) { return dim.known() || dim.symbol == batch_symbol; });
}

std::optional<Unit::Kind> kind_of(const Graph& graph, const Node& node) {
  static const Names pools{"AveragePool", "GlobalAveragePool"};
  static const Names moves{"MaxPool", "Flatten", "Reshape", "Transpose", "Squeeze", "Unsqueeze"};
  if (!node.domain.empty() || node.inputs.empty() || node.outputs.size() != 1) return std::nullopt;
  if (is_weighted(graph, node)) return Unit::Kind::weighted;
  if (is_residual(graph, node)) return Unit::Kind::glue;
  if (node.op == "Concat") {
    const bool all = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return is_data(graph, id); });
    return all ? std::optional(Unit::Kind::passing) : std::nullopt;
  }
  if (!is_data(graph, node.inputs[0])) return std::nullopt;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] != no_value && !is_constant(graph, node.inputs[i])) return std::nullopt;
  }
  if (pools.contains(node.op)) return Unit::Kind::glue;
  return moves.contains(node.op) ? std::optional(Unit::Kind::passing) : std::nullopt;
}

bool is_cutting(const Graph& graph, const Node& node, ValueId input) {
  if (node.inputs.empty() || node.inputs[0] != input || node.outputs.size() != 1) return false;
  if (is_onnx_op(node, "Relu")) return true;
  if (!is_onnx_op(node, "Clip")) return false;
  return std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](ValueId id) { return id == no_value || is_constant(graph, id); });
}

void require_fp32(const Graph& graph, const std::string& name) {
  for (const Node& node : graph.nodes) {
    if (node.op.find("QuantizeLinear") == std::string::npos && !node.op.starts_with("QLinear")) continue;
    throw Error(ErrorKind::input,
                fmt::format("{} is quantized already (operator '{}', node '{}'): give the FP32 network", name, node.op, node.name));
  }
}

// Opset 13 changed the meaning of an attribute or input of these operators; all others mean the same from opset 11 on.
void raise_opset(Graph& graph, const std::string& model) {
  static const Names changed{"Softmax", "LogSoftmax", "Hardmax", "Squeeze", "Unsqueeze", "ReduceSum", "Split"};
  if (graph.opset >= 13) return;
  for (const Node& node : graph.nodes) {
    const bool other = graph.opset < 11 || (node.domain.empty() && changed.contains(node.op));
    if (!other) continue;
    throw Error(ErrorKind::input, fmt::format("{} has opset {}: scales per channel need opset 13, to which operator '{}' (node '{}') "
                                              "cannot be raised as it stands; export it with opset 13 or later",
                                              model, graph.opset, node.op, node.name));
  }
  graph.opset = 13;
}

}  // namespace

Graph prepare_for_quantizing(const Graph& graph, const std::string& name) {
  require_fp32(graph, name);
  Graph prepared = graph;
  // Every engine does this anyway, and no operator is added that the file's opset may not have: each engine fuses the file for itself.
  remove_identities(prepared);
  fold_constants(prepared, true);
  fold_affines(prepared);
  remove_dead(prepared);
  raise_opset(prepared, name);
  return prepared;
}

int64_t channel_axis(const Graph& graph, const Node& node) {
  if (is_onnx_op(node, "Conv")) return 0;
  if (is_onnx_op(node, "Gemm") && attribute_int(node, "transB", 0) != 0) return 0;
  return static_cast<int64_t>(constant_of(graph, node.inputs[1])->shape.size()) - 1;
}

std::vector<Unit> find_units(const Graph& graph) {
  const auto readers = consumers(graph);
  std::vector<Unit> units;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const auto kind = kind_of(graph, node);
    if (!kind) continue;
    Unit unit{.kind = *kind, .node = i, .activation = {}, .data = {node.inputs[0]}, .output = node.outputs[0]};
    if (node.op == "Add" || node.op == "Concat") unit.data = node.inputs;
    const auto& reading = readers[static_cast<size_t>(unit.output)];
    const bool alone = reading.size() == 1 && !is_graph_output(graph, unit.output);
    if (*kind != Unit::Kind::passing && alone && is_cutting(graph, graph.nodes[reading[0]], unit.output)) {
      unit.activation = reading[0];
      unit.output = graph.nodes[reading[0]].outputs[0];
    }
    const bool sized = std::all_of(unit.data.begin(), unit.data.end(), [&](ValueId id) { return has_sizes(graph, id); });
    if (sized && has_sizes(graph, unit.output)) units.push_back(std::move(unit));
  }
  return units;
}

std::vector<Unit> units_to_quantize(const Graph& graph, const std::vector<Unit>& all, const std::vector<bool>& kept) {
  std::set<ValueId> made, read;
  std::vector<Unit> units;
  for (const Unit& unit : all) {  // in topological order
    if (kept[unit.node]) continue;
    const bool fed = std::any_of(unit.data.begin(), unit.data.end(), [&](ValueId id) { return made.contains(id); });
    if (unit.kind != Unit::Kind::weighted && !fed) continue;
    made.insert(unit.output);
    read.insert(unit.data.begin(), unit.data.end());
    units.push_back(unit);
  }
  for (Unit& unit : units) {
    const bool dense = is_onnx_op(graph.nodes[unit.node], "Gemm") || is_onnx_op(graph.nodes[unit.node], "MatMul");
    unit.quantize_output = !dense || read.contains(unit.output);
  }
  return units;
}

double mac_share(const Graph& graph, const std::vector<Unit>& units) {
  const Graph bound = bind_symbols(graph, {{batch_symbol, 1}});
  double all = 0, mine = 0;
  for (const Node& node : bound.nodes) {
    const auto sized = [&](ValueId id) { return id == no_value || has_sizes(bound, id); };
    const bool counts =
        std::all_of(node.inputs.begin(), node.inputs.end(), sized) && std::all_of(node.outputs.begin(), node.outputs.end(), sized);
    if (counts) all += static_cast<double>(count_node(bound, node).macs);
  }
  for (const Unit& unit : units) {
    if (unit.kind == Unit::Kind::weighted) mine += static_cast<double>(count_node(bound, bound.nodes[unit.node]).macs);
  }
  return all == 0 ? 0 : mine / all;
}

}  // namespace deepgap
