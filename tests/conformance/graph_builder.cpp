#include "graph_builder.h"

#include "model/eval/element_types.h"
#include "model/graph_tools.h"
#include "model/onnx_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace deepgap::conformance {

Tensor random_tensor(Random& random, Shape shape, float low, float high) {
  Tensor tensor = make_tensor(DataType::f32, std::move(shape));
  for (float& element : writable<float>(tensor)) element = random.value(low, high);
  return tensor;
}

Tensor random_tensor(Random& random, DataType type, Shape shape) {
  const bool is_unsigned = type == DataType::u8 || type == DataType::u16 || type == DataType::u32 || type == DataType::u64;
  Tensor whole = make_tensor(DataType::i64, std::move(shape));
  switch (type) {
    case DataType::f32:
    case DataType::f64:
    case DataType::f16:
    case DataType::bf16:
      return converted(random_tensor(random, whole.shape), type);
    case DataType::boolean:
      for (int64_t& element : writable<int64_t>(whole)) element = random.between(0, 1);
      return converted(whole, type);
    default:
      for (int64_t& element : writable<int64_t>(whole)) element = is_unsigned ? random.between(0, 9) : random.between(-5, 5);
      return converted(whole, type);
  }
}

Tensor number_tensor(DataType type, double value) {
  Tensor number = make_tensor(DataType::f64, {});
  writable<double>(number)[0] = value;
  return converted(number, type);
}

Tensor int_tensor(const std::vector<int64_t>& values) {
  Tensor tensor = make_tensor(DataType::i64, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), writable<int64_t>(tensor).begin());
  return tensor;
}

ValueId GraphBuilder::value(const std::string& name, DataType type, std::optional<Dims> dims) {
  graph_.values.push_back({name, type, std::move(dims)});
  return static_cast<ValueId>(graph_.values.size() - 1);
}

ValueId GraphBuilder::input(const Shape& sample, DataType type) {
  Dims dims{{1, batch_symbol}};
  for (const int64_t size : sample) dims.push_back({size, ""});
  const ValueId id = value(fmt::format("in{}", graph_.inputs.size()), type, dims);
  graph_.inputs.push_back(id);
  return id;
}

ValueId GraphBuilder::stepped_input(const Shape& sample, DataType type) {
  if (type != DataType::f32 && type != DataType::f64 && type != DataType::f16) return input(sample, type);
  const ValueId whole = node("Cast", {input(sample, DataType::i32)}, {{"to", onnx_type_of(type)}});
  return node("Mul", {whole, number(type, 0.25)});
}

ValueId GraphBuilder::constant(Tensor tensor) {
  Dims dims;
  for (const int64_t size : tensor.shape) dims.push_back({size, ""});
  const ValueId id = value(fmt::format("c{}", graph_.constants.size()), tensor.type, dims);
  graph_.constants.emplace(id, std::move(tensor));
  return id;
}

ValueId GraphBuilder::node(const std::string& op, std::vector<ValueId> inputs, Attributes attributes) {
  return nodes(op, std::move(inputs), 1, std::move(attributes)).front();
}

std::vector<ValueId> GraphBuilder::nodes(const std::string& op, std::vector<ValueId> inputs, size_t outputs, Attributes attributes) {
  const size_t index = graph_.nodes.size();
  std::vector<ValueId> made;
  for (size_t i = 0; i < outputs; ++i) {
    made.push_back(value(i == 0 ? fmt::format("v{}", index) : fmt::format("v{}.{}", index, i), DataType::f32, std::nullopt));
  }
  graph_.nodes.push_back({fmt::format("node{}_{}", index, op), op, "", std::move(inputs), made, std::move(attributes)});
  return made;
}

Graph GraphBuilder::finish(const std::vector<ValueId>& outputs) {
  graph_.name = "conformance";
  graph_.outputs = outputs;
  infer_shapes(graph_);
  validate(graph_);
  return std::exchange(graph_, {});
}

}  // namespace deepgap::conformance
