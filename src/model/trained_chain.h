// For tests of engines that train: small networks whose weights are given by hand.
#pragma once

#include "model/graph_tools.h"
#include "model/model_of.h"

#include <deepgap/model.h>
#include <deepgap/tensor.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {

inline Tensor floats(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor = make_tensor(DataType::f32, shape);
  std::copy(values.begin(), values.end(), writable<float>(tensor).begin());
  return tensor;
}

// x [N, inputs] through nodes that each take the value before; constants by what they are called.
struct Chain {
  Graph graph;
  ValueId last = 0;

  explicit Chain(Dims input) {
    graph.opset = 17;
    graph.values = {{"x", DataType::f32, std::move(input)}};
    graph.inputs = {0};
  }
  ValueId constant(const std::string& name, const Tensor& tensor) {
    const auto id = static_cast<ValueId>(graph.values.size());
    Dims dims;
    for (const int64_t size : tensor.shape) dims.push_back({size, ""});
    graph.values.push_back({name, tensor.type, dims});
    graph.constants[id] = tensor;
    return id;
  }
  Chain& node(const std::string& op, std::vector<ValueId> more = {}, std::map<std::string, Attribute> attributes = {}) {
    const auto out = static_cast<ValueId>(graph.values.size());
    graph.values.push_back({op + ".out", DataType::f32, std::nullopt});
    more.insert(more.begin(), last);
    graph.nodes.push_back({op, op, "", more, {out}, std::move(attributes)});
    last = out;
    return *this;
  }
  std::shared_ptr<const Model> model() {
    graph.outputs = {last};
    infer_shapes(graph);
    return model_of("chain", graph);
  }
};

// Conv, BatchNormalization, Relu, scores.
struct SmallNetwork {
  bool dropout = false, norm = true;
};
inline std::shared_ptr<const Model> small_network(const SmallNetwork& with) {
  Chain chain({{1, batch_symbol}, {1, ""}, {4, ""}, {4, ""}});
  std::vector<float> kernel(18), head(2 * 16 * 3);
  for (size_t i = 0; i < kernel.size(); ++i) kernel[i] = std::sin(static_cast<float>(i));
  for (size_t i = 0; i < head.size(); ++i) head[i] = std::cos(static_cast<float>(3 * i)) / 4;
  chain.node("Conv", {chain.constant("kernel", floats({2, 1, 3, 3}, kernel))}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  if (with.norm)
    chain.node("BatchNormalization", {chain.constant("scale", floats({2}, {1, 1})), chain.constant("shift", floats({2}, {0, 0})),
                                      chain.constant("mean", floats({2}, {0, 0})), chain.constant("variance", floats({2}, {1, 1}))});
  chain.node("Relu");
  if (with.dropout) chain.node("Dropout", {chain.constant("ratio", floats({}, {0.5F}))});
  return chain.node("Flatten").node("MatMul", {chain.constant("head", floats({32, 3}, head))}).node("Softmax").model();
}

}  // namespace deepgap
