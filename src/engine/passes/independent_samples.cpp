#include "engine/passes/independent_samples.h"

#include "engine/passes/edit.h"
#include "engine/passes/loops.h"
#include "engine/passes/passes.h"
#include "engine/passes/quantization.h"
#include "model/graph_tools.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace deepgap {
namespace {

// Inputs after the first are weights or settings: constants.
const std::set<std::string_view> by_first_input{
    "AveragePool", "BatchNormalization", "Clip",          "Conv",     "ConvTranspose",     "Dropout",   "Elu",     "Flatten", "Gelu",
    "HardSigmoid", "HardSwish",          "GlobalMaxPool", "Identity", "GlobalAveragePool", "LeakyRelu", "MaxPool", "Relu",    "Reshape",
    "Sigmoid",     "Softplus",           "Squeeze",       "Tanh",     "Unsqueeze"};
// These work on images; the batch keeps its size, so that no axis but those of a crop could move it.
const std::set<std::string_view> rearranging{"DepthToSpace", "Resize", "SpaceToDepth", "Upsample"};
const std::set<std::string_view> elementwise{"Add", "Sub", "Mul", "Div", "Max", "Min", "Pow"};

struct Samples {
  const Graph& graph;
  int64_t batch;
  std::set<ValueId> separate;  // values with one part per sample along the first axis
  std::set<ValueId> computed;  // values made of constants alone

  size_t rank(ValueId id) const { return graph.values[static_cast<size_t>(id)].dims.value_or(Dims{}).size(); }
  bool is_constant(ValueId id) const { return id == no_value || constant_of(graph, id) != nullptr || computed.contains(id); }
  bool leads_with_batch(ValueId id) const {
    const auto& dims = graph.values[static_cast<size_t>(id)].dims;
    return dims && !dims->empty() && dims->front() == Dim{batch, ""};
  }
  // A constant that is the same for all samples when it is broadcast against `result`.
  bool same_for_all(ValueId id, ValueId result) const {
    return is_constant(id) && (rank(id) < rank(result) || graph.values[static_cast<size_t>(id)].dims->front() == Dim{1, ""});
  }
  bool rest_constant(const Node& node, size_t from) const {
    return std::all_of(node.inputs.begin() + static_cast<std::ptrdiff_t>(from), node.inputs.end(),
                       [&](ValueId id) { return is_constant(id); });
  }

  bool keeps_apart(const Node& node) const {
    if (!node.domain.empty() || node.inputs.empty() || node.outputs.size() != 1) return false;
    const ValueId first = node.inputs[0], result = node.outputs[0];
    const auto operand = [&](ValueId id) { return (separate.contains(id) && rank(id) == rank(result)) || same_for_all(id, result); };
    if (elementwise.contains(node.op)) return std::all_of(node.inputs.begin(), node.inputs.end(), operand);
    if (!separate.contains(first)) return false;
    if (by_first_input.contains(node.op)) return rest_constant(node, 1);
    if (rearranging.contains(node.op))
      return rest_constant(node, 1) && attribute_string(node, "coordinate_transformation_mode", "") != "tf_crop_and_resize";
    const auto axis_of = [&](int64_t fallback) {
      const int64_t axis = attribute_int(node, "axis", fallback);
      return axis < 0 ? axis + static_cast<int64_t>(rank(first)) : axis;
    };
    if (is_quantize(node) || is_dequantize(node)) {
      const auto quantization = quantization_of(graph, node);
      return quantization && (quantization->per_tensor() || quantization->axis != 0);
    }
    if (node.op == "Softmax" || node.op == "LogSoftmax") return axis_of(graph.opset < 13 ? 1 : -1) != 0;
    if (node.op == "LayerNormalization") return axis_of(-1) != 0 && rest_constant(node, 1);
    if (node.op == "Concat")
      return axis_of(0) != 0 && std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return separate.contains(id); });
    if (node.op == "Transpose") return !node.attributes.contains("perm") ? false : attribute_ints(node, "perm", {0}).front() == 0;
    if (node.op == "Gemm")
      return attribute_int(node, "transA", 0) == 0 && rest_constant(node, 1) &&
             (node.inputs.size() < 3 || node.inputs[2] == no_value || same_for_all(node.inputs[2], result));
    if (node.op == "MatMul") {
      const ValueId second = node.inputs[1];
      return (is_constant(second) && rank(second) == 2) || (separate.contains(second) && rank(second) >= 3 && rank(first) == rank(second));
    }
    return false;
  }
};

}  // namespace

bool samples_are_independent(const Graph& bound, int64_t batch) {
  Samples samples{bound, batch, {}, {}};
  for (ValueId id : bound.inputs) {
    if (!samples.leads_with_batch(id)) return false;
    samples.separate.insert(id);
  }
  for (const auto& node : bound.nodes) {
    if (!node.inputs.empty() && samples.rest_constant(node, 0)) {  // weights that become numbers
      samples.computed.insert(node.outputs.begin(), node.outputs.end());
      continue;
    }
    if (!samples.keeps_apart(node) || !samples.leads_with_batch(node.outputs[0])) return false;
    samples.separate.insert(node.outputs[0]);
  }
  return std::all_of(bound.outputs.begin(), bound.outputs.end(), [&](ValueId id) { return samples.separate.contains(id); });
}

Graph folded_graph(const Graph& unbound, int64_t batch) {
  Graph graph = bind_symbols(unbound, {{batch_symbol, batch}});
  bind_loops(graph);
  fold_constants(graph, true);
  remove_dead(graph);
  return graph;
}

bool runs_in_parts(const Graph& unbound, const Graph& bound, int64_t batch, int64_t part) {
  return samples_are_independent(bound, batch) && samples_are_independent(folded_graph(unbound, part), part);
}

}  // namespace deepgap
