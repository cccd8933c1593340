// BatchNormalization, and arithmetic with a constant per channel, as y = scale * x + shift: part of the convolution that makes x (its
// weights scaled per output channel, and another bias), or one product and one addition. Computed in double precision and rounded once.
#include "engine/passes/chains.h"
#include "engine/passes/edit.h"
#include "engine/passes/flow.h"
#include "engine/passes/passes.h"
#include "model/eval/parallel.h"
#include "model/graph_tools.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>

namespace deepgap {
namespace {

struct Affine {
  std::vector<double> scale, shift;  // per channel
};

// Empty when the node is not an inference-time BatchNormalization with constant statistics.
Affine of_batch_norm(const Graph& graph, const Node& node) {
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

// Empty when the node is not an Add, Sub, Mul or Div of `value`, which `main` makes, with one number or one per channel.
Affine of_arithmetic(const Graph& graph, const Node& main, const Node& node, ValueId value, size_t channels) {
  const bool add = is_onnx_op(node, "Add"), multiply = is_onnx_op(node, "Mul"), divide = is_onnx_op(node, "Div");
  if (!add && !multiply && !divide && !is_onnx_op(node, "Sub")) return {};
  const bool first = node.inputs[0] == value;
  if (!first && !add && !multiply) return {};
  const ValueId operand = node.inputs[first ? 1 : 0];
  if (!is_channel_constant(graph, main, operand, value)) return {};
  auto numbers = constant_values(graph, operand);
  if (numbers.size() == 1) numbers.resize(channels, numbers[0]);
  if (numbers.size() != channels) return {};
  if (divide && std::count(numbers.begin(), numbers.end(), 0.0) != 0) return {};
  Affine result{std::vector<double>(channels, 1.0), std::vector<double>(channels, 0.0)};
  for (size_t c = 0; c < channels; ++c) {
    if (multiply || divide) {
      result.scale[c] = multiply ? numbers[c] : 1 / numbers[c];
    } else {
      result.shift[c] = add ? numbers[c] : -numbers[c];
    }
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

// Returns the rule for a Conv, ConvTranspose or Gemm with constant float32 weights and at least one output channel.
std::optional<ChannelOf> channel_rule(const Graph& graph, const Node& node) {
  const Tensor* tensor = node.inputs.size() > 1 ? constant_of(graph, node.inputs[1]) : nullptr;
  if (tensor == nullptr || tensor->type != DataType::f32 || tensor->shape.size() < 2) return std::nullopt;
  const Shape& weights = tensor->shape;
  const auto inner_from = [&](size_t axis) { return static_cast<size_t>(element_count(std::span(weights).subspan(axis))); };
  ChannelOf rule{.channels = 0};
  if (is_onnx_op(node, "Conv")) {
    rule = {.inner = inner_from(1), .channels = static_cast<size_t>(weights[0])};
  } else if (is_onnx_op(node, "ConvTranspose")) {
    const int64_t groups = attribute_int(node, "group", 1);
    if (groups < 1 || weights[0] < groups) return std::nullopt;
    rule = {.inner = inner_from(2),
            .channels = static_cast<size_t>(weights[1] * groups),
            .per_group = static_cast<size_t>(weights[1]),
            .rows_per_group = static_cast<size_t>(weights[0] / groups)};
  } else if (is_onnx_op(node, "Gemm") && weights.size() == 2) {
    const bool transposed = attribute_int(node, "transB", 0) != 0;
    rule = {.inner = transposed ? inner_from(1) : 1, .channels = static_cast<size_t>(weights[transposed ? 0 : 1])};
  }
  return rule.channels == 0 ? std::nullopt : std::optional(rule);
}

Tensor to_tensor(const Shape& shape, const std::vector<double>& values) {
  Tensor result = make_tensor(DataType::f32, shape);
  auto out = writable<float>(result);
  for (size_t i = 0; i < values.size(); ++i) out[i] = static_cast<float>(values[i]);
  return result;
}

// Elements of one channel stand in rows of `inner`; the rows are shared among the CPUs.
Tensor scaled_weights(const Tensor& weights, const ChannelOf& rule, const std::vector<double>& scale) {
  constexpr size_t part_size = 1 << 14;
  Tensor result = make_tensor(DataType::f32, weights.shape);
  const std::byte* const from = weights.data.get();  // may be unaligned
  const auto to = writable<float>(result);
  if (to.empty()) return result;
  const size_t rows = to.size() / rule.inner, part_rows = std::max<size_t>(1, part_size / rule.inner);
  const size_t parts = (rows + part_rows - 1) / part_rows;
  parallel_for(static_cast<int64_t>(parts), static_cast<double>(part_rows * rule.inner), [&](int64_t part) {
    const size_t first = static_cast<size_t>(part) * part_rows;
    for (size_t row = first; row < std::min(rows, first + part_rows); ++row) {
      const double factor = scale[rule(row * rule.inner)];
      for (size_t i = row * rule.inner; i < (row + 1) * rule.inner; ++i) {
        float weight = 0;
        std::memcpy(&weight, from + i * sizeof(weight), sizeof(weight));
        to[i] = static_cast<float>(weight * factor);
      }
    }
  });
  return result;
}

bool fold_into(Graph& graph, Node& node, const ChannelOf& rule, const Affine& affine) {
  const size_t channels = rule.channels;
  std::vector<double> bias(channels, 0.0);
  if (node.inputs.size() > 2 && node.inputs[2] != no_value) {
    const auto old = constant_values(graph, node.inputs[2]);
    const double beta = is_onnx_op(node, "Gemm") ? static_cast<double>(attribute_float(node, "beta", 1.0F)) : 1.0;
    if (old.size() != channels || beta != 1.0) return false;
    bias = old;
  }
  for (size_t c = 0; c < channels; ++c) bias[c] = bias[c] * affine.scale[c] + affine.shift[c];
  const Tensor new_weights = scaled_weights(*constant_of(graph, node.inputs[1]), rule, affine.scale);
  node.inputs.resize(3, no_value);
  node.inputs[1] = add_constant(graph, node.name + ".folded_weight", new_weights);
  node.inputs[2] = add_constant(graph, node.name + ".folded_bias", to_tensor({static_cast<int64_t>(channels)}, bias));
  return true;
}

}  // namespace

void fold_affines(Graph& graph) {
  const Flow flow(graph);
  std::vector<bool> erase(graph.nodes.size(), false);
  for (auto& node : graph.nodes) {
    const auto rule = channel_rule(graph, node);
    if (!rule || node.outputs.size() != 1) continue;
    while (const Node* next = flow.only_reader(node.outputs[0])) {
      Affine affine = of_batch_norm(graph, *next);
      if (affine.scale.empty()) affine = of_arithmetic(graph, node, *next, node.outputs[0], rule->channels);
      if (affine.scale.size() != rule->channels || !fold_into(graph, node, *rule, affine)) break;
      node.outputs[0] = next->outputs[0];  // the name of the pair's result stays
      erase[flow.index_of(*next)] = true;
    }
  }
  erase_nodes(graph, erase);
}

void write_out_batch_norms(Graph& graph) {
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) {
    const Affine affine = of_batch_norm(graph, node);
    const auto dims = affine.scale.empty() ? std::nullopt : graph.values[static_cast<size_t>(node.inputs[0])].dims;
    if (!dims || dims->size() < 2) {
      nodes.push_back(std::move(node));
      continue;
    }
    Shape shape(dims->size() - 1, 1);
    shape[0] = static_cast<int64_t>(affine.scale.size());
    const ValueId scale = add_constant(graph, node.name + ".scale", to_tensor(shape, affine.scale));
    const ValueId shift = add_constant(graph, node.name + ".shift", to_tensor(shape, affine.shift));
    const ValueId scaled = add_value(graph, node.name + ".scaled", DataType::f32, dims);
    nodes.push_back({.name = node.name, .op = "Mul", .inputs = {node.inputs[0], scale}, .outputs = {scaled}});
    nodes.push_back({.name = node.name + ".shift", .op = "Add", .inputs = {scaled, shift}, .outputs = {node.outputs[0]}});
  }
  graph.nodes = std::move(nodes);
}

}  // namespace deepgap
