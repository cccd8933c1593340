// A ConvTranspose with strides as large as its kernel makes of each pixel a tile of its own: a convolution of one pixel that answers with
// a tile's numbers as channels, and then the tiles are laid out. Libraries fill up a transposed convolution's output channels to a vector,
// so with one or two of them most of its work is for nothing.
#include "engine/passes/edit.h"
#include "engine/passes/flow.h"
#include "engine/passes/fused.h"
#include "engine/passes/passes.h"
#include "model/graph_tools.h"

#include <algorithm>

namespace deepgap {
namespace {

struct Tiles {
  int64_t channels = 0, height = 0, width = 0;  // sizes of one tile
  int64_t size() const { return channels * height * width; }
};

bool all_equal(const std::vector<int64_t>& values, int64_t expected) {
  return std::all_of(values.begin(), values.end(), [&](int64_t value) { return value == expected; });
}

std::optional<Tiles> tiles_of(const Graph& graph, const Node& node, int64_t most_channels) {
  if (!is_onnx_op(node, "ConvTranspose") || node.inputs.size() < 2) return std::nullopt;
  const Tensor* weights = constant_of(graph, node.inputs[1]);
  if (weights == nullptr || weights->type != DataType::f32 || weights->shape.size() != 4) return std::nullopt;
  const Tiles tiles{weights->shape[1], weights->shape[2], weights->shape[3]};
  const bool plain = attribute_int(node, "group", 1) == 1 && attribute_string(node, "auto_pad", "NOTSET") == "NOTSET" &&
                     all_equal(attribute_ints(node, "pads", {}), 0) && all_equal(attribute_ints(node, "dilations", {}), 1) &&
                     all_equal(attribute_ints(node, "output_padding", {}), 0) && node.attributes.count("output_shape") == 0;
  const bool side_by_side = attribute_ints(node, "strides", {1, 1}) == std::vector<int64_t>{tiles.height, tiles.width};
  const auto& dims = graph.values[static_cast<size_t>(node.inputs[0])].dims;
  const bool known = dims && dims->size() == 4 && (*dims)[2].known() && (*dims)[3].known();
  const bool bias = node.inputs.size() < 3 || node.inputs[2] == no_value || constant_of(graph, node.inputs[2]) != nullptr;
  return plain && side_by_side && known && bias && tiles.channels <= most_channels ? std::optional(tiles) : std::nullopt;
}

// {inputs, channels, height, width} to {channels * height * width, inputs, 1, 1}.
Tensor pointwise_weights(const Tensor& weights, const Tiles& tiles) {
  const int64_t inputs = weights.shape[0];
  Tensor result = make_tensor(DataType::f32, {tiles.size(), inputs, 1, 1});
  const auto from = weights.as<float>();
  const auto to = writable<float>(result);
  for (int64_t input = 0; input < inputs; ++input)
    for (int64_t i = 0; i < tiles.size(); ++i)
      to[static_cast<size_t>(i * inputs + input)] = from[static_cast<size_t>(input * tiles.size() + i)];
  return result;
}

Tensor repeated_bias(const std::vector<double>& bias, const Tiles& tiles) {
  Tensor result = make_tensor(DataType::f32, {tiles.size()});
  const auto to = writable<float>(result);
  for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(bias[i / static_cast<size_t>(tiles.height * tiles.width)]);
  return result;
}

ValueId integers(Graph& graph, const std::string& stem, const std::vector<int64_t>& numbers) {
  Tensor tensor = make_tensor(DataType::i64, {static_cast<int64_t>(numbers.size())});
  std::copy(numbers.begin(), numbers.end(), writable<int64_t>(tensor).begin());
  return add_constant(graph, stem, tensor);
}

Node pointwise(Graph& graph, const Node& node, const Tiles& tiles) {
  Node result{.name = node.name, .op = "Conv", .inputs = {node.inputs[0]}};
  const Tensor weights = *constant_of(graph, node.inputs[1]);
  result.inputs.push_back(add_constant(graph, node.name + ".pointwise_weight", pointwise_weights(weights, tiles)));
  if (node.inputs.size() > 2 && node.inputs[2] != no_value) {
    const auto bias = constant_values(graph, node.inputs[2]);
    result.inputs.push_back(add_constant(graph, node.name + ".pointwise_bias", repeated_bias(bias, tiles)));
  }
  return result;
}

// From {N, size, H, W} in `from` to {N, channels, H * height, W * width} in `to`.
std::vector<Node> lay_out(Graph& graph, const std::string& stem, const Tiles& tiles, ValueId from, ValueId to) {
  const Dims dims = *graph.values[static_cast<size_t>(from)].dims;
  const int64_t height = dims[2].size, width = dims[3].size;
  const auto size = [](int64_t number) { return Dim{number, ""}; };
  const Dims split{dims[0], size(tiles.channels), size(tiles.height), size(tiles.width), dims[2], dims[3]};
  const Dims turned{dims[0], size(tiles.channels), dims[2], size(tiles.height), dims[3], size(tiles.width)};
  const ValueId parts = add_value(graph, stem + ".tiles", DataType::f32, split);
  const ValueId rows = add_value(graph, stem + ".rows", DataType::f32, turned);
  const ValueId split_shape = integers(graph, stem + ".tiles_shape", {0, tiles.channels, tiles.height, tiles.width, height, width});
  const ValueId shape = integers(graph, stem + ".shape", {0, tiles.channels, height * tiles.height, width * tiles.width});
  const std::vector<int64_t> order{0, 1, 4, 2, 5, 3};
  return {{.name = stem + ".split", .op = "Reshape", .inputs = {from, split_shape}, .outputs = {parts}},
          {.name = stem + ".turn", .op = "Transpose", .inputs = {parts}, .outputs = {rows}, .attributes = {{"perm", order}}},
          {.name = stem + ".join", .op = "Reshape", .inputs = {rows, shape}, .outputs = {to}}};
}

// The node and the activations that alone read its result: these do not mind where a number lies.
std::vector<size_t> with_activations(const Graph& graph, size_t node) {
  const Flow flow(graph);
  std::vector<size_t> chain{node};
  while (const Node* reader = flow.only_reader(graph.nodes[chain.back()].outputs[0])) {
    if (!activation_of(graph, *reader)) break;
    chain.push_back(flow.index_of(*reader));
  }
  return chain;
}

}  // namespace

void spread_up_convolutions(Graph& graph, const FusionRules& rules) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto tiles = tiles_of(graph, graph.nodes[i], rules.most_spread_channels);
    if (!tiles) continue;
    const std::vector<size_t> chain = with_activations(graph, i);
    const std::string stem = graph.nodes[i].name;
    const ValueId result = graph.nodes[chain.back()].outputs[0];
    Dims dims = *graph.values[static_cast<size_t>(graph.nodes[i].inputs[0])].dims;
    dims[1] = {tiles->size(), ""};
    Node convolution = pointwise(graph, graph.nodes[i], *tiles);
    convolution.outputs = graph.nodes[i].outputs;
    graph.nodes[i] = std::move(convolution);
    for (size_t k = 0; k < chain.size(); ++k) {
      const ValueId made = add_value(graph, stem + ".spread", DataType::f32, dims);
      graph.nodes[chain[k]].outputs[0] = made;
      if (k + 1 < chain.size()) graph.nodes[chain[k + 1]].inputs[0] = made;
    }
    auto nodes = lay_out(graph, stem, *tiles, graph.nodes[chain.back()].outputs[0], result);
    graph.nodes.insert(graph.nodes.begin() + static_cast<std::ptrdiff_t>(chain.back() + 1), nodes.begin(), nodes.end());
  }
}

}  // namespace deepgap
