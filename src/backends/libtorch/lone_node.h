// For the tests of this folder: a Graph of one node.
#pragma once

#include "model/graph_tools.h"

#include <deepgap/graph.h>

#include <map>
#include <string>
#include <vector>

namespace deepgap {

struct LoneNode {
  std::string op;
  std::map<std::string, Attribute> attributes = {};
  std::vector<Tensor> constants = {};  // an empty one is an input left out
  int opset = 17;
  int outputs = 1;
  size_t first = 0;  // where the float input x stands among the node's inputs
};

inline Dims known_dims(const Shape& shape) {
  Dims dims;
  for (const int64_t size : shape) dims.push_back({size, ""});
  return dims;
}

inline Graph graph_of(const LoneNode& one, const Shape& x) {
  Graph graph;
  graph.opset = one.opset;
  graph.values = {{"x", DataType::f32, known_dims(x)}};
  graph.inputs = {0};
  Node node{"one", one.op, "", {}, {}, one.attributes};
  for (const Tensor& constant : one.constants) {
    if (node.inputs.size() == one.first) node.inputs.push_back(0);
    const auto id = static_cast<ValueId>(graph.values.size());
    node.inputs.push_back(constant.data == nullptr ? no_value : id);
    if (constant.data == nullptr) continue;
    graph.values.push_back({"c" + std::to_string(id), constant.type, known_dims(constant.shape)});
    graph.constants[id] = constant;
  }
  if (node.inputs.size() <= one.first) node.inputs.push_back(0);
  for (int i = 0; i < one.outputs; ++i) {
    node.outputs.push_back(static_cast<ValueId>(graph.values.size()));
    graph.outputs.push_back(node.outputs.back());
    graph.values.push_back({"y" + std::to_string(i), DataType::f32, std::nullopt});
  }
  graph.nodes = {node};
  infer_shapes(graph);
  return graph;
}

}  // namespace deepgap
