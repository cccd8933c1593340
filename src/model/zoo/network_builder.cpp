#include "model/zoo/network_builder.h"

#include "model/graph_tools.h"

#include <algorithm>
#include <utility>

namespace deepgap {

namespace {

struct Pads {
  int64_t begin = 0, end = 0;
};

int64_t windows(int64_t size, int64_t kernel, int64_t stride, Pads pads) { return (size + pads.begin + pads.end - kernel) / stride + 1; }

Pads pads_for(Padding padding, int64_t size, int64_t kernel, int64_t stride) {
  if (padding == Padding::symmetric) return {(kernel - 1) / 2, (kernel - 1) / 2};
  const int64_t out = (size + stride - 1) / stride;
  const int64_t total = std::max<int64_t>(0, (out - 1) * stride + kernel - size);
  return {total / 2, total - total / 2};
}

}  // namespace

NetworkBuilder::NetworkBuilder(std::string name) {
  graph_.name = std::move(name);
  graph_.opset = 17;
}

ValueId NetworkBuilder::value(const std::string& name, DataType type) {
  graph_.values.push_back({name, type, std::nullopt});
  return static_cast<ValueId>(graph_.values.size() - 1);
}

ValueId NetworkBuilder::constant(const std::string& name, Shape shape) {
  const ValueId id = value(name);
  Dims dims;
  for (int64_t size : shape) dims.push_back({size, ""});
  graph_.values[id].dims = dims;
  graph_.constants[id] = Tensor{DataType::f32, std::move(shape), nullptr};
  return id;
}

ValueId NetworkBuilder::scalar(const std::string& name, float content) {
  if (const auto found = scalars_.find(name); found != scalars_.end()) return found->second;
  const ValueId id = constant(name, {});
  Tensor tensor = make_tensor(DataType::f32, {});
  writable<float>(tensor)[0] = content;
  graph_.constants[id] = std::move(tensor);
  return scalars_[name] = id;
}

ValueId NetworkBuilder::node(const std::string& op, const std::string& name, std::vector<ValueId> inputs,
                             std::map<std::string, Attribute> attributes, const std::string& output) {
  const ValueId id = value(output.empty() ? name + ".out" : output);
  graph_.nodes.push_back({name, op, "", std::move(inputs), {id}, std::move(attributes)});
  return id;
}

Feature NetworkBuilder::picture(const std::string& name, int64_t channels, int64_t size) {
  const ValueId id = value(name);
  graph_.values[id].dims = Dims{{1, batch_symbol}, {channels, ""}, {size, ""}, {size, ""}};
  graph_.inputs.push_back(id);
  return {id, channels, size, size};
}

Feature NetworkBuilder::conv(const std::string& layer, const Feature& x, const ConvShape& shape) {
  const Pads rows = pads_for(shape.padding, x.height, shape.kernel, shape.stride);
  const Pads columns = pads_for(shape.padding, x.width, shape.kernel, shape.stride);
  const ValueId weight = constant(layer + ".weight", {shape.out_channels, x.channels / shape.groups, shape.kernel, shape.kernel});
  using Ints = std::vector<int64_t>;
  const ValueId id = node("Conv", layer, {x.id, weight},
                          {{"dilations", Ints{1, 1}},
                           {"group", shape.groups},
                           {"kernel_shape", Ints{shape.kernel, shape.kernel}},
                           {"pads", Ints{rows.begin, columns.begin, rows.end, columns.end}},
                           {"strides", Ints{shape.stride, shape.stride}}});
  return {id, shape.out_channels, windows(x.height, shape.kernel, shape.stride, rows),
          windows(x.width, shape.kernel, shape.stride, columns)};
}

Feature NetworkBuilder::batch_norm(const std::string& layer, const Feature& x, float epsilon) {
  std::vector<ValueId> inputs{x.id};
  for (const char* part : {".weight", ".bias", ".running_mean", ".running_var"}) inputs.push_back(constant(layer + part, {x.channels}));
  Feature y = x;
  y.id = node("BatchNormalization", layer, std::move(inputs), {{"epsilon", epsilon}});
  return y;
}

Feature NetworkBuilder::relu(const std::string& layer, const Feature& x) {
  Feature y = x;
  y.id = node("Relu", layer, {x.id});
  return y;
}

Feature NetworkBuilder::relu6(const std::string& layer, const Feature& x) {
  Feature y = x;
  y.id = node("Clip", layer, {x.id, scalar("relu6.min", 0.0f), scalar("relu6.max", 6.0f)});
  return y;
}

Feature NetworkBuilder::add(const std::string& layer, const Feature& a, const Feature& b) {
  Feature y = a;
  y.id = node("Add", layer, {a.id, b.id});
  return y;
}

Feature NetworkBuilder::max_pool(const std::string& layer, const Feature& x, int64_t kernel, int64_t stride, int64_t pad) {
  using Ints = std::vector<int64_t>;
  const ValueId id = node("MaxPool", layer, {x.id},
                          {{"kernel_shape", Ints{kernel, kernel}}, {"pads", Ints{pad, pad, pad, pad}}, {"strides", Ints{stride, stride}}});
  return {id, x.channels, windows(x.height, kernel, stride, {pad, pad}), windows(x.width, kernel, stride, {pad, pad})};
}

ValueId NetworkBuilder::classify(const std::string& layer, const Feature& x, int64_t classes, const std::string& output) {
  const ValueId pooled = node("GlobalAveragePool", "avgpool", {x.id});
  const ValueId flat = node("Flatten", "flatten", {pooled}, {{"axis", int64_t{1}}});
  const ValueId weight = constant(layer + ".weight", {classes, x.channels});
  const ValueId bias = constant(layer + ".bias", {classes});
  return node("Gemm", layer, {flat, weight, bias}, {{"transB", int64_t{1}}}, output);
}

Graph NetworkBuilder::finish(ValueId output) {
  graph_.outputs = {output};
  infer_shapes(graph_);
  return std::move(graph_);
}

}  // namespace deepgap
