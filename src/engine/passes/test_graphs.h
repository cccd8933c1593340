// Shared by the engine's tests: small Graphs built by hand, random tensors, and comparing. Only for tests.
#pragma once

#include "model/graph_tools.h"

#include <deepgap/graph.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace deepgap::testing {

inline Dims known_dims(const Shape& shape) {
  Dims dims;
  for (int64_t size : shape) dims.push_back({size, ""});
  return dims;
}

inline Tensor random_tensor(const Shape& shape, std::mt19937& random, float scale = 1.0F) {
  Tensor tensor = make_tensor(DataType::f32, shape);
  std::normal_distribution<float> normal(0.0F, scale);
  for (float& value : writable<float>(tensor)) value = normal(random);
  return tensor;
}

inline Tensor floats(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor = make_tensor(DataType::f32, shape);
  std::copy(values.begin(), values.end(), writable<float>(tensor).begin());
  return tensor;
}

inline Tensor integers(const std::vector<int64_t>& values) {
  Tensor tensor = make_tensor(DataType::i64, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), writable<int64_t>(tensor).begin());
  return tensor;
}

struct GraphBuilder {
  Graph graph;
  std::mt19937 random{1};

  explicit GraphBuilder(uint32_t seed = 1) : random(seed) { graph.opset = 17; }

  ValueId value(const std::string& name, std::optional<Dims> dims = {}, DataType type = DataType::f32) {
    graph.values.push_back({name, type, std::move(dims)});
    return static_cast<ValueId>(graph.values.size() - 1);
  }
  // A first size of -1 is the batch.
  ValueId input(const Shape& shape, const std::string& name = "x") {
    Dims dims = known_dims(shape);
    if (!dims.empty() && dims[0].size == -1) dims[0] = {1, batch_symbol};
    graph.inputs.push_back(value(name, dims));
    return graph.inputs.back();
  }
  ValueId constant(Tensor tensor) {
    const ValueId id = value("c" + std::to_string(graph.values.size()), known_dims(tensor.shape), tensor.type);
    graph.constants.emplace(id, std::move(tensor));
    return id;
  }
  ValueId weights(const Shape& shape) {
    const auto fan_in = static_cast<float>(std::max<int64_t>(1, element_count(shape) / shape[0]));
    return constant(random_tensor(shape, random, 1.0F / std::sqrt(fan_in)));
  }
  ValueId node(const std::string& op, std::vector<ValueId> inputs, std::map<std::string, Attribute> attributes = {}) {
    const auto name = op + "_" + std::to_string(graph.nodes.size());
    const ValueId out = value(name + "_out");
    graph.nodes.push_back({name, op, "", std::move(inputs), {out}, std::move(attributes)});
    return out;
  }
  ValueId conv(ValueId x, int64_t in, int64_t out, int64_t kernel, int64_t stride = 1, int64_t group = 1, bool bias = true) {
    std::vector<ValueId> inputs{x, weights({out, in / group, kernel, kernel})};
    if (bias) inputs.push_back(weights({out}));
    const int64_t pad = kernel / 2;
    return node("Conv", inputs,
                {{"strides", std::vector<int64_t>{stride, stride}},
                 {"pads", std::vector<int64_t>{pad, pad, pad, pad}},
                 {"kernel_shape", std::vector<int64_t>{kernel, kernel}},
                 {"group", group}});
  }
  ValueId batch_norm(ValueId x, int64_t channels) {
    Tensor variance = random_tensor({channels}, random);
    for (float& v : writable<float>(variance)) v = 0.5F + v * v;
    const ValueId gamma = weights({channels}), beta = weights({channels}), mean = weights({channels});
    return node("BatchNormalization", {x, gamma, beta, mean, constant(variance)});
  }
  Graph finish(const std::vector<ValueId>& outputs) {
    graph.outputs = outputs;
    infer_shapes(graph);
    validate(graph);
    return graph;
  }
};

inline double sqnr_db(const Tensor& reference, std::span<const float> got) {
  double signal = 0, noise = 0;
  const auto expected = reference.as<float>();
  if (expected.size() != got.size()) return -1000;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double r = static_cast<double>(expected[i]), e = r - static_cast<double>(got[i]);
    signal += r * r;
    noise += e * e;
  }
  if (noise == 0) return 300;
  return std::isfinite(noise) ? 10 * std::log10(signal / noise) : -1000;
}

inline size_t count_ops(const Graph& graph, const std::string& op) {
  size_t count = 0;
  for (const auto& node : graph.nodes) count += node.op == op ? 1 : 0;
  return count;
}

}  // namespace deepgap::testing
