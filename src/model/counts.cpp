// Computes what a Graph costs, from its shapes alone.
#include "model/checked.h"
#include "model/decoder/decoder.h"
#include "model/decoder/onnx_decoder.h"
#include "model/einsum.h"
#include "model/eval/fold_constants.h"
#include "model/graph_tools.h"
#include "model/input_uses.h"
#include "model/item_counts.h"
#include "model/packed_weights.h"

#include <deepgap/batching.h>
#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

namespace deepgap {
namespace {

using Names = std::set<std::string_view>;

// The result is the input's bytes under another shape, or nothing is computed while the model runs.
const Names& views() {
  static const Names names{"Constant", "Dropout", "Flatten", "Identity", "Reshape", "Shape", "Size", "Squeeze", "Unsqueeze"};
  return names;
}

// Elements move or change type, nothing is computed.
const Names& moves() {
  static const Names names{"Cast",         "CastLike",        "Concat",         "ConstantOfShape", "DepthToSpace", "Expand",
                           "EyeLike",      "Gather",          "GatherElements", "GatherND",        "NonZero",      "OneHot",
                           "Pad",          "ReverseSequence", "Scatter",        "ScatterElements", "ScatterND",    "Slice",
                           "SpaceToDepth", "Split",           "Tile",           "Transpose",       "Trilu"};
  return names;
}

// One operation for each element read rather than made.
bool reduces(const std::string& op) {
  return op.rfind("Reduce", 0) == 0 || op.rfind("Global", 0) == 0 || op == "ArgMax" || op == "ArgMin" || op == "Einsum";
}

int64_t times(int64_t a, int64_t b, const Node& node) {
  const auto result = checked_multiply(a, b);
  if (!result) throw Error(ErrorKind::input, fmt::format("node '{}': its work does not fit into 64 bits", node.name));
  return *result;
}

int64_t elements(const Graph& graph, ValueId id) { return element_count(known_shape(graph, id)); }

int64_t window_elements(const Node& node, const Shape& weights, size_t first) {
  int64_t count = 1;
  for (size_t i = first; i < weights.size(); ++i) count = times(count, weights[i], node);
  return count;
}

// Counts all indices together, however an engine splits them up; a sum over one input multiplies nothing.
int64_t einsum_macs(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2) return 0;
  return window_elements(node, einsum_sizes(node, known_shapes(graph, node.inputs)).sizes, 0);
}

bool is_product_of_few_bits(const Node& node) { return node.domain == "com.microsoft" && node.op == "MatMulNBits"; }

int64_t macs_of(const Graph& graph, const Node& node) {
  if (is_product_of_few_bits(node)) return times(elements(graph, node.outputs[0]), known_shape(graph, node.inputs[0]).back(), node);
  if (!node.domain.empty()) return 0;
  if (node.op == "Conv" || node.op == "ConvInteger")  // weights [out, in/group, k...]
    return times(elements(graph, node.outputs[0]), window_elements(node, known_shape(graph, node.inputs[1]), 1), node);
  if (node.op == "ConvTranspose")  // weights [in, out/group, k...]: each element read meets these
    return times(elements(graph, node.inputs[0]), window_elements(node, known_shape(graph, node.inputs[1]), 1), node);
  if (node.op == "QLinearConv")
    return times(elements(graph, node.outputs[0]), window_elements(node, known_shape(graph, node.inputs[3]), 1), node);
  if (node.op == "MatMul" || node.op == "MatMulInteger")
    return times(elements(graph, node.outputs[0]), known_shape(graph, node.inputs[0]).back(), node);
  if (node.op == "Gemm") {
    const Shape a = known_shape(graph, node.inputs[0]);
    return times(elements(graph, node.outputs[0]), a.at(attribute_int(node, "transA", 0) != 0 ? 0 : 1), node);
  }
  if (node.op == "Einsum") return einsum_macs(graph, node);
  // Each step of each sequence meets all weights of input and recurrence.
  if (node.op == "LSTM" || node.op == "GRU" || node.op == "RNN") {
    const Shape x = known_shape(graph, node.inputs[0]);
    return times(x.at(0) * x.at(1), elements(graph, node.inputs[1]) + elements(graph, node.inputs[2]), node);
  }
  return 0;
}

int64_t flop_of(const Graph& graph, const Node& node, int64_t macs) {
  if (macs > 0) return times(2, macs, node);
  if (!node.domain.empty()) return elements(graph, node.outputs[0]);  // by whatever name
  if (views().count(node.op) != 0 || moves().count(node.op) != 0) return 0;
  if (reduces(node.op) && !node.inputs.empty()) return elements(graph, node.inputs[0]);
  if (node.op == "MaxPool" || node.op == "AveragePool" || node.op == "LpPool")
    return times(elements(graph, node.outputs[0]), window_elements(node, attribute_ints(node, "kernel_shape", {}), 0), node);
  return elements(graph, node.outputs[0]);
}

int64_t bytes_of(const Graph& graph, const Node& node) {
  if (views().count(node.op) != 0) return 0;
  int64_t bytes = 0;
  std::set<ValueId> read(node.inputs.begin(), node.inputs.end());
  read.insert(node.outputs.begin(), node.outputs.end());
  read.erase(no_value);
  for (const ValueId id : read) {
    // A second output that nobody knows, such as the indices of a pooling, costs nothing.
    if (!is_known(graph, id)) continue;
    bytes += times(elements(graph, id), static_cast<int64_t>(byte_size(graph.values[id].type)), node);
  }
  return bytes;
}

// Where trained weights go in: operator -> which inputs. BatchNormalization's statistics (3, 4) are measured, not trained.
bool takes_weights(const Node& node, size_t input, const Tensor& tensor) {
  static const std::map<std::string_view, std::set<size_t>> places{{"Conv", {1, 2}},
                                                                   {"ConvTranspose", {1, 2}},
                                                                   {"Gemm", {0, 1, 2}},
                                                                   {"MatMul", {0, 1}},
                                                                   {"Einsum", {0, 1}},
                                                                   {"BatchNormalization", {1, 2}},
                                                                   {"InstanceNormalization", {1, 2}},
                                                                   {"LayerNormalization", {1, 2}},
                                                                   {"GroupNormalization", {1, 2}},
                                                                   {"PRelu", {1}},
                                                                   {"Gather", {0}},
                                                                   {"Expand", {0}},  // a token that every sample gets
                                                                   {"LSTM", {1, 2, 3, 6, 7}},
                                                                   {"GRU", {1, 2, 3}},
                                                                   {"RNN", {1, 2, 3}},
                                                                   {"QLinearConv", {3, 8}},
                                                                   {"QLinearMatMul", {3}},
                                                                   {"ConvInteger", {1}},
                                                                   {"MatMulInteger", {1}}};
  if (!node.domain.empty()) return true;  // engines' own operators take their weights anywhere
  if (const auto found = places.find(node.op); found != places.end()) return found->second.count(input) != 0;
  // The bias of a linear layer and a learnt scale, written out; a single number is a setting.
  return (node.op == "Add" || node.op == "Mul") && !tensor.shape.empty() && element_count(tensor.shape) > 1;
}

bool passes_weights(const Node& node, size_t input) {
  static const Names names{"Identity", "Cast", "QuantizeLinear", "DequantizeLinear", "Transpose", "Reshape", "Squeeze", "Unsqueeze", "Pad"};
  return input == 0 && names.count(node.op) != 0 && !node.outputs.empty() && node.outputs[0] != no_value;
}

bool is_weight(const Graph& graph, const std::vector<std::vector<size_t>>& readers, ValueId id, const Tensor& tensor, int depth = 0) {
  for (const size_t reader : readers[id]) {
    const Node& node = graph.nodes[reader];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != id) continue;
      if (takes_weights(node, i, tensor)) return true;
      if (depth < 4 && passes_weights(node, i) && is_weight(graph, readers, node.outputs[0], tensor, depth + 1)) return true;
    }
  }
  return false;
}

// Read by bodies of If and Loop alone.
bool is_weight_in_bodies(const Graph& graph, ValueId id, const Tensor& tensor) {
  bool found = false;
  visit_uses(graph, id, false, [&](const InputUse& use) { found = found || takes_weights(use.node, use.input, tensor); });
  return found;
}

// Quantized weights are integers that a DequantizeLinear reads; any other integer is a shape or an index.
bool may_be_weight(const Tensor& tensor) {
  switch (tensor.type) {
    case DataType::f32:
    case DataType::f64:
    case DataType::f16:
    case DataType::bf16:
    case DataType::i8:
    case DataType::u8:
    case DataType::i32:
      return true;
    default:
      return false;
  }
}

void count_weights(const Graph& graph, GraphSummary& summary) {
  if (const Graph* body = onnx_decoder_body(graph)) return count_weights(*body, summary);
  for (const auto& [id, tensor] : graph.constants) summary.weight_bytes += static_cast<int64_t>(stored_bytes(tensor));
  if (is_decoder(graph)) {  // whose weights may be blocks of several numbers
    for (const auto& [name, weight] : decoder_of(graph).weights) summary.parameters += weight.rows * weight.columns;
    return;
  }
  for (const ValueId id : parameter_constants(graph)) summary.parameters += element_count(graph.constants.at(id).shape);
}

void list_operators(const Graph& graph, GraphSummary& summary) {
  std::map<std::pair<std::string, std::string>, OperatorUse> uses;
  const auto count = [&](const Graph& counted) {
    for (const Node& node : counted.nodes) {
      OperatorUse& use = uses.try_emplace({node.op, node.domain}, OperatorUse{node.op, node.domain, 0, node.name}).first->second;
      ++use.count;
    }
  };
  count(graph);
  if (const Graph* body = onnx_decoder_body(graph)) count(*body);
  for (auto& [key, use] : uses) summary.operators.push_back(std::move(use));
}

// Per node: whether it makes as much as the data ask for, or reads such a value. Nobody knows beforehand what that costs; it counts as
// nothing, as it is little: of thousands of boxes a few are kept.
std::vector<bool> sized_by_data(const Graph& bound) {
  static const Names first{"Compress", "NonMaxSuppression", "NonZero", "Unique"};
  std::vector<bool> by_data(bound.nodes.size()), open(bound.values.size());
  for (size_t i = 0; i < bound.nodes.size(); ++i) {
    const Node& node = bound.nodes[i];
    by_data[i] = first.count(node.op) != 0 ||
                 std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return id != no_value && open[id]; });
    for (const ValueId id : node.outputs)
      if (id != no_value) open[id] = by_data[i] && !is_known(bound, id);
  }
  return by_data;
}

bool has_macs(const std::string& op) {
  static const Names names{"Conv",   "ConvInteger",   "ConvTranspose", "Einsum",     "Gemm",
                           "MatMul", "MatMulInteger", "MatMulNBits",   "QLinearConv"};
  return names.count(op) != 0;
}

// Returns whether count_node can answer for all nodes but those that are sized by data.
bool all_known(const Graph& bound, const std::vector<bool>& by_data) {
  const auto known = [&](ValueId id) { return id == no_value || is_known(bound, id); };
  for (size_t i = 0; i < bound.nodes.size(); ++i) {
    const Node& node = bound.nodes[i];
    if (views().count(node.op) != 0) continue;
    if (by_data[i] && !has_macs(node.op)) continue;
    if (!std::all_of(node.inputs.begin(), node.inputs.end(), known)) return false;
    if (!node.outputs.empty() && !known(node.outputs[0])) return false;
  }
  return true;
}

// For one item. Sizes that the file computes in a way that inference does not follow are known once that is folded.
Graph bound_for_counting(const Graph& graph) {
  Graph bound = bind_symbols(graph, {{batch_symbol, 1}});
  if (all_known(bound, sized_by_data(bound))) return bound;
  Graph folded = bound;
  fold_constants(folded, true);
  bound.values = std::move(folded.values);
  return bound;
}

}  // namespace

std::optional<std::vector<NodeCount>> item_counts(const Graph& graph) {
  const Graph bound = bound_for_counting(graph);
  const std::vector<bool> by_data = sized_by_data(bound);
  if (!all_known(bound, by_data)) return std::nullopt;
  std::vector<NodeCount> counts(bound.nodes.size());
  for (size_t i = 0; i < counts.size(); ++i)
    if (!by_data[i] || has_macs(bound.nodes[i].op)) counts[i] = count_node(bound, bound.nodes[i]);
  const int64_t items = batching_of(graph).samples;
  for (NodeCount& count : counts) count = {count.macs / items, count.flop / items, count.bytes / items};
  return counts;
}

namespace {

void count_work(const Graph& graph, GraphSummary& summary) {
  summary.macs_per_item = summary.flop_per_item = summary.bytes_per_item = -1;
  if (is_decoder(graph) || onnx_decoder_body(graph) != nullptr) return;  // a prompt and its answer may have any length
  const auto counts = item_counts(graph);
  if (!counts) return;
  NodeCount total;
  for (const NodeCount& count : *counts) {
    if (__builtin_add_overflow(total.macs, count.macs, &total.macs) || __builtin_add_overflow(total.flop, count.flop, &total.flop) ||
        __builtin_add_overflow(total.bytes, count.bytes, &total.bytes))
      throw Error(ErrorKind::input, "the model's work does not fit into 64 bits");
  }
  summary.macs_per_item = total.macs;
  summary.flop_per_item = total.flop;
  summary.bytes_per_item = total.bytes;
}

std::vector<TensorInfo> describe(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<TensorInfo> infos;
  for (const ValueId id : ids) infos.push_back({graph.values[id].name, graph.values[id].type, graph.values[id].dims});
  return infos;
}

}  // namespace

NodeCount count_node(const Graph& bound, const Node& node) {
  NodeCount count;
  if (node.outputs.empty() || node.outputs[0] == no_value) return count;
  count.macs = macs_of(bound, node);
  count.flop = flop_of(bound, node, count.macs);
  count.bytes = bytes_of(bound, node);
  return count;
}

std::vector<ValueId> parameter_constants(const Graph& graph) {
  const auto readers = consumers(graph);
  std::vector<ValueId> found;
  for (const auto& [id, tensor] : graph.constants)
    if (may_be_weight(tensor) && (readers[id].empty() ? is_weight_in_bodies(graph, id, tensor) : is_weight(graph, readers, id, tensor)))
      found.push_back(id);
  return found;
}

std::vector<ValueId> trainable_constants(const Graph& graph) {
  std::vector<ValueId> found = parameter_constants(graph);
  std::erase_if(found, [&](ValueId id) {
    const DataType type = graph.constants.at(id).type;
    return type == DataType::i8 || type == DataType::u8 || type == DataType::i32;
  });
  return found;
}

NodeCount known_count(const Graph& bound, const Node& node) {
  try {
    return count_node(bound, node);
  } catch (const Error&) {
    return {};
  }
}

std::vector<int64_t> node_macs(const Graph& graph) {
  std::vector<int64_t> macs;
  for (const NodeCount& count : item_counts(graph).value_or(std::vector<NodeCount>())) macs.push_back(count.macs);
  return macs;
}

GraphSummary summarize(const Graph& graph) {
  GraphSummary summary;
  summary.name = graph.name;
  summary.opset = graph.opset;
  summary.nodes = static_cast<int64_t>(graph.nodes.size());
  summary.inputs = describe(graph, graph.inputs);
  summary.outputs = describe(graph, graph.outputs);
  list_operators(graph, summary);
  count_weights(graph, summary);
  count_work(graph, summary);
  summary.content_hash = graph_hash(graph);
  return summary;
}

}  // namespace deepgap
