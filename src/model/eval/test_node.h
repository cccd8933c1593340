// For tests: one node run by the evaluator, and tensors from lists.
#pragma once

#include "model/eval/evaluator.h"

#include <algorithm>
#include <vector>

namespace deepgap {

template <typename T>
Tensor tensor_of(DataType type, Shape shape, const std::vector<T>& values) {
  Tensor tensor = make_tensor(type, std::move(shape));
  std::ranges::copy(values, writable<T>(tensor).begin());
  return tensor;
}
inline Tensor floats(Shape shape, const std::vector<float>& values) { return tensor_of(DataType::f32, std::move(shape), values); }
inline Tensor longs(Shape shape, const std::vector<int64_t>& values) { return tensor_of(DataType::i64, std::move(shape), values); }
inline Tensor flags(Shape shape, const std::vector<uint8_t>& values) { return tensor_of(DataType::boolean, std::move(shape), values); }
// 0, 1, 2, ...
inline Tensor counting(Shape shape) {
  Tensor tensor = make_tensor(DataType::f32, std::move(shape));
  float next = 0;
  for (float& value : writable<float>(tensor)) value = next++;
  return tensor;
}

template <typename T>
std::vector<T> list(const Tensor& tensor) {
  return {tensor.as<T>().begin(), tensor.as<T>().end()};
}
inline std::vector<float> list_floats(const Tensor& tensor) { return list<float>(tensor); }

struct TestNode {
  std::string op;
  std::map<std::string, Attribute> attributes = {};
  int opset = 17;
  size_t outputs = 1;

  std::vector<Tensor> run_all(const std::vector<Tensor>& inputs) const {
    Graph graph;
    graph.opset = opset;
    Node node{"tested", op, "", {}, {}, attributes};
    for (size_t i = 0; i < inputs.size(); ++i) node.inputs.push_back(inputs[i].data ? static_cast<ValueId>(i) : no_value);
    for (size_t i = 0; i < outputs; ++i) node.outputs.push_back(static_cast<ValueId>(100 + i));
    return evaluate_node(graph, node, inputs);
  }
  Tensor run(const std::vector<Tensor>& inputs) const { return run_all(inputs).at(0); }
};

using Ints = std::vector<int64_t>;

}  // namespace deepgap
