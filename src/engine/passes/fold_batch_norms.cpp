// y = gamma * (conv(x) - mean) / sqrt(variance + epsilon) + beta is a convolution with its weights scaled per output channel and another
// bias. Computed in double precision and rounded once.
#include "engine/passes/edit.h"
#include "engine/passes/passes.h"
#include "model/graph_tools.h"

#include <cmath>

namespace deepgap {
namespace {

struct Affine {
  std::vector<double> scale, shift;  // per channel
};

// Empty when the node is no inference-time BatchNormalization with constant statistics.
Affine affine_of(const Graph& graph, const Node& node) {
  if (!is_onnx_op(node, "BatchNormalization") || node.inputs.size() < 5) return {};
  if (attribute_int(node, "training_mode", 0) != 0) return {};
  for (size_t i = 1; i < node.outputs.size(); ++i)
    if (node.outputs[i] != no_value) return {};
  const auto gamma = constant_values(graph, node.inputs[1]), beta = constant_values(graph, node.inputs[2]);
  const auto mean = constant_values(graph, node.inputs[3]), variance = constant_values(graph, node.inputs[4]);
  const size_t channels = gamma.size();
  if (channels == 0 || beta.size() != channels || mean.size() != channels || variance.size() != channels) return {};
  const double epsilon = static_cast<double>(attribute_float(node, "epsilon", 1e-5F));
  Affine result{std::vector<double>(channels), std::vector<double>(channels)};
  for (size_t c = 0; c < channels; ++c) {
    result.scale[c] = gamma[c] / std::sqrt(variance[c] + epsilon);
    result.shift[c] = beta[c] - mean[c] * result.scale[c];
  }
  return result;
}

// The output channel that a weight element belongs to: index / inner % channels, plus the group's first for ConvTranspose.
// NOLINTBEGIN(clang-analyzer-core.DivideZero): channel_rule asks for at least one row a group, and without channels there are no elements
struct ChannelOf {
  size_t inner = 1, channels = 1, per_group = 0, rows_per_group = 1;
  size_t operator()(size_t index) const {
    if (per_group == 0) return index / inner % channels;
    const size_t row = index / (inner * per_group);  // input channel of a transposed convolution
    return row / rows_per_group * per_group + index / inner % per_group;
  }
};
// NOLINTEND(clang-analyzer-core.DivideZero)

std::optional<ChannelOf> channel_rule(const Node& node, const Shape& weights, size_t channels) {
  ChannelOf rule{.channels = channels};
  const auto inner_from = [&](size_t axis) { return static_cast<size_t>(element_count(std::span(weights).subspan(axis))); };
  if (is_onnx_op(node, "Conv")) {
    rule.inner = inner_from(1);
    return weights[0] == static_cast<int64_t>(channels) ? std::optional(rule) : std::nullopt;
  }
  if (is_onnx_op(node, "ConvTranspose")) {
    const auto groups = static_cast<size_t>(attribute_int(node, "group", 1));
    if (groups == 0 || weights[0] < static_cast<int64_t>(groups)) return std::nullopt;
    rule.inner = inner_from(2);
    rule.per_group = static_cast<size_t>(weights[1]);
    rule.rows_per_group = static_cast<size_t>(weights[0]) / groups;
    return rule.per_group * groups == channels ? std::optional(rule) : std::nullopt;
  }
  if (!is_onnx_op(node, "Gemm") || weights.size() != 2) return std::nullopt;
  const bool transposed = attribute_int(node, "transB", 0) != 0;
  rule.inner = transposed ? inner_from(1) : 1;
  const bool fits = weights[transposed ? 0 : 1] == static_cast<int64_t>(channels);
  return fits ? std::optional(rule) : std::nullopt;
}

Tensor to_tensor(const Shape& shape, const std::vector<double>& values) {
  Tensor result = make_tensor(DataType::f32, shape);
  auto out = writable<float>(result);
  for (size_t i = 0; i < values.size(); ++i) out[i] = static_cast<float>(values[i]);
  return result;
}

bool fold_into(Graph& graph, Node& node, const Affine& affine) {
  const size_t channels = affine.scale.size();
  const Tensor* weights = node.inputs.size() > 1 ? constant_of(graph, node.inputs[1]) : nullptr;
  if (weights == nullptr || weights->type != DataType::f32 || weights->shape.size() < 2) return false;
  const auto rule = channel_rule(node, weights->shape, channels);
  if (!rule) return false;

  std::vector<double> bias(channels, 0.0);
  if (node.inputs.size() > 2 && node.inputs[2] != no_value) {
    const auto old = constant_values(graph, node.inputs[2]);
    const double beta = is_onnx_op(node, "Gemm") ? static_cast<double>(attribute_float(node, "beta", 1.0F)) : 1.0;
    if (old.size() != channels || beta != 1.0) return false;
    bias = old;
  }
  for (size_t c = 0; c < channels; ++c) bias[c] = bias[c] * affine.scale[c] + affine.shift[c];
  auto scaled = constant_values(graph, node.inputs[1]);
  for (size_t i = 0; i < scaled.size(); ++i) scaled[i] *= affine.scale[(*rule)(i)];

  const Tensor new_weights = to_tensor(weights->shape, scaled);
  node.inputs.resize(3, no_value);
  node.inputs[1] = add_constant(graph, node.name + ".folded_weight", new_weights);
  node.inputs[2] = add_constant(graph, node.name + ".folded_bias", to_tensor({static_cast<int64_t>(channels)}, bias));
  return true;
}

}  // namespace

void fold_batch_norms(Graph& graph) {
  const auto readers = consumers(graph);
  std::vector<bool> erase(graph.nodes.size(), false);
  for (auto& node : graph.nodes) {
    if (node.outputs.size() != 1 || is_graph_output(graph, node.outputs[0])) continue;
    const auto& reading = readers[static_cast<size_t>(node.outputs[0])];
    if (reading.size() != 1 || graph.nodes[reading[0]].inputs[0] != node.outputs[0]) continue;
    const Node& norm = graph.nodes[reading[0]];
    const Affine affine = affine_of(graph, norm);
    if (affine.scale.empty() || !fold_into(graph, node, affine)) continue;
    node.outputs[0] = norm.outputs[0];  // the name of the pair's result stays
    erase[reading[0]] = true;
  }
  erase_nodes(graph, erase);
}

}  // namespace deepgap
