#include "model/zoo/network_builder.h"

#include "model/graph_tools.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace deepgap {

namespace {

using Ints = std::vector<int64_t>;

struct Pads {
  int64_t begin = 0, end = 0;
};

Pads pads_for(Padding padding, int64_t size, int64_t kernel, int64_t stride) {
  if (padding == Padding::none) return {};
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

ValueId NetworkBuilder::constant(const std::string& name, Tensor tensor) {
  const ValueId id = value(name, tensor.type);
  Dims dims;
  for (int64_t size : tensor.shape) dims.push_back({size, ""});
  graph_.values[id].dims = dims;
  graph_.constants[id] = std::move(tensor);
  return id;
}

ValueId NetworkBuilder::weight(const std::string& name, Shape shape) { return constant(name, {DataType::f32, std::move(shape), nullptr}); }

ValueId NetworkBuilder::numbers(const std::string& name, Shape shape, const std::vector<float>& content) {
  Tensor tensor = make_tensor(DataType::f32, std::move(shape));
  std::ranges::copy(content, writable<float>(tensor).begin());
  return constant(name, std::move(tensor));
}

ValueId NetworkBuilder::scalar(const std::string& name, float content) {
  const auto found = settings_.find(name);
  return found != settings_.end() ? found->second : settings_[name] = numbers(name, {}, {content});
}

ValueId NetworkBuilder::integers(const std::string& name, const std::vector<int64_t>& content) {
  if (const auto found = settings_.find(name); found != settings_.end()) return found->second;
  Tensor tensor = make_tensor(DataType::i64, {static_cast<int64_t>(content.size())});
  std::ranges::copy(content, writable<int64_t>(tensor).begin());
  return settings_[name] = constant(name, std::move(tensor));
}

ValueId NetworkBuilder::node(const std::string& op, const std::string& name, std::vector<ValueId> inputs,
                             std::map<std::string, Attribute> attributes, const std::string& output) {
  const ValueId id = value(output.empty() ? name + ".out" : output);
  graph_.nodes.push_back({name, op, "", std::move(inputs), {id}, std::move(attributes)});
  return id;
}

std::vector<ValueId> NetworkBuilder::node_of_many(const std::string& op, const std::string& name, std::vector<ValueId> inputs,
                                                  std::map<std::string, Attribute> attributes, size_t outputs) {
  std::vector<ValueId> made;
  for (size_t i = 0; i < outputs; ++i) made.push_back(value(fmt::format("{}.out{}", name, i)));
  graph_.nodes.push_back({name, op, "", std::move(inputs), made, std::move(attributes)});
  return made;
}

std::vector<ValueId> NetworkBuilder::split(const std::string& name, ValueId x, int64_t axis, size_t parts) {
  return node_of_many("Split", name, {x}, {{"axis", axis}}, parts);
}

ValueId NetworkBuilder::input(const std::string& name, DataType type, Dims dims) {
  const ValueId id = value(name, type);
  graph_.values[id].dims = std::move(dims);
  graph_.inputs.push_back(id);
  return id;
}

Feature NetworkBuilder::picture(const std::string& name, int64_t channels, int64_t size) {
  return {input(name, DataType::f32, {{1, batch_symbol}, {channels, ""}, {size, ""}, {size, ""}}), channels, size, size};
}

int64_t NetworkBuilder::windows(const std::string& layer, int64_t size, int64_t kernel, int64_t stride, int64_t pads) const {
  if (size + pads < kernel)
    throw Error(ErrorKind::usage, fmt::format("model '{}': the image is too small, layer '{}' sees {} of the {} pixels that it needs",
                                              graph_.name, layer, size + pads, kernel));
  return (size + pads - kernel) / stride + 1;
}

Feature NetworkBuilder::conv(const std::string& layer, const Feature& x, const ConvShape& shape) {
  const int64_t kernel_width = shape.kernel_width > 0 ? shape.kernel_width : shape.kernel;
  const Pads rows = pads_for(shape.padding, x.height, shape.kernel, shape.stride);
  const Pads columns = pads_for(shape.padding, x.width, kernel_width, shape.stride);
  const Feature y{no_value, shape.out_channels, windows(layer, x.height, shape.kernel, shape.stride, rows.begin + rows.end),
                  windows(layer, x.width, kernel_width, shape.stride, columns.begin + columns.end)};
  std::vector<ValueId> inputs{x.id, weight(layer + ".weight", {shape.out_channels, x.channels / shape.groups, shape.kernel, kernel_width})};
  if (shape.bias) inputs.push_back(weight(layer + ".bias", {shape.out_channels}));
  const ValueId id = node("Conv", layer, std::move(inputs),
                          {{"dilations", Ints{1, 1}},
                           {"group", shape.groups},
                           {"kernel_shape", Ints{shape.kernel, kernel_width}},
                           {"pads", Ints{rows.begin, columns.begin, rows.end, columns.end}},
                           {"strides", Ints{shape.stride, shape.stride}}});
  return {id, y.channels, y.height, y.width};
}

Feature NetworkBuilder::batch_norm(const std::string& layer, const Feature& x, float epsilon) {
  std::vector<ValueId> inputs{x.id};
  for (const char* part : {".weight", ".bias", ".running_mean", ".running_var"}) inputs.push_back(weight(layer + part, {x.channels}));
  Feature y = x;
  y.id = node("BatchNormalization", layer, std::move(inputs), {{"epsilon", epsilon}});
  return y;
}

Feature NetworkBuilder::activation(const std::string& op, const std::string& layer, const Feature& x,
                                   std::map<std::string, Attribute> attributes) {
  Feature y = x;
  y.id = node(op, layer, {x.id}, std::move(attributes));
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

Feature NetworkBuilder::multiply(const std::string& layer, const Feature& x, const Feature& factors) {
  Feature y = x;
  y.id = node("Mul", layer, {x.id, factors.id});
  return y;
}

Feature NetworkBuilder::concat(const std::string& layer, const std::vector<Feature>& parts) {
  Feature y = parts.front();
  y.channels = 0;
  std::vector<ValueId> inputs;
  for (const Feature& part : parts) {
    inputs.push_back(part.id);
    y.channels += part.channels;
  }
  y.id = node("Concat", layer, std::move(inputs), {{"axis", int64_t{1}}});
  return y;
}

Feature NetworkBuilder::pool(const std::string& op, const std::string& layer, const Feature& x, int64_t kernel, int64_t stride, int64_t pad,
                             std::map<std::string, Attribute> attributes) {
  const int64_t height = windows(layer, x.height, kernel, stride, 2 * pad), width = windows(layer, x.width, kernel, stride, 2 * pad);
  attributes.insert({{"kernel_shape", Ints{kernel, kernel}}, {"pads", Ints{pad, pad, pad, pad}}, {"strides", Ints{stride, stride}}});
  return {node(op, layer, {x.id}, std::move(attributes)), x.channels, height, width};
}

Feature NetworkBuilder::max_pool(const std::string& layer, const Feature& x, int64_t kernel, int64_t stride, int64_t pad) {
  return pool("MaxPool", layer, x, kernel, stride, pad, {});
}

Feature NetworkBuilder::average_pool(const std::string& layer, const Feature& x, int64_t kernel, int64_t stride, int64_t pad) {
  return pool("AveragePool", layer, x, kernel, stride, pad, {{"count_include_pad", int64_t{1}}});
}

Feature NetworkBuilder::global_average(const std::string& layer, const Feature& x) {
  return {node("GlobalAveragePool", layer, {x.id}), x.channels, 1, 1};
}

ValueId NetworkBuilder::flatten(const std::string& layer, const Feature& x) {
  return node("Flatten", layer, {x.id}, {{"axis", int64_t{1}}});
}

ValueId NetworkBuilder::linear(const std::string& layer, ValueId x, int64_t inputs, int64_t outputs, const std::string& output) {
  const ValueId factors = weight(layer + ".weight", {outputs, inputs});
  const ValueId bias = weight(layer + ".bias", {outputs});
  return node("Gemm", layer, {x, factors, bias}, {{"transB", int64_t{1}}}, output);
}

ValueId NetworkBuilder::dropout(const std::string& layer, ValueId x, double share) {
  return share > 0 ? node("Dropout", layer, {x, scalar("dropout.ratio", static_cast<float>(share))}) : x;
}

ValueId NetworkBuilder::classify(const std::string& layer, const Feature& x, int64_t classes, const std::string& output, double dropped) {
  const ValueId averages = flatten("flatten", global_average("avgpool", x));
  return linear(layer, dropout("dropout", averages, dropped), x.channels, classes, output);
}

ValueId NetworkBuilder::outer(const std::string& name, DataType type, Dims dims) {
  const ValueId id = value(name, type);
  graph_.values[id].dims = std::move(dims);
  return id;
}

void NetworkBuilder::declare(ValueId id, DataType type, Dims dims) {
  graph_.values[id].type = type;
  graph_.values[id].dims = std::move(dims);
}

void NetworkBuilder::infer() { infer_shapes(graph_); }

Graph NetworkBuilder::finish(std::vector<ValueId> outputs) {
  graph_.outputs = std::move(outputs);
  infer_shapes(graph_);
  return std::move(graph_);
}

}  // namespace deepgap
