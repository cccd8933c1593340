#include "dataset/tensors_dataset.h"

#include "base/text.h"
#include "model/eval/element_types.h"

#include <deepgap/batching.h>
#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace deepgap {

void TensorsDataset::load(std::span<const uint32_t> indices) {
  for (const uint32_t index : indices) {
    assert(index < size());
    if (loaded_.count(index) != 0) continue;
    std::vector<Tensor>& tensors = loaded_.emplace(index, make(index)).first->second;
    for (const auto& [input, tensor] : given_) tensors.at(input) = tensor;
  }
}

namespace {

// Floats hold any number, rounded.
bool holds(DataType type, double number) {
  if (type == DataType::boolean) return number == 0 || number == 1;
  const auto whole = [&](auto zero) -> int {
    using T = decltype(zero);
    const double past = std::ldexp(1.0, std::numeric_limits<T>::digits);  // exact, where the largest number is not
    return static_cast<int>(number == std::floor(number) && number >= static_cast<double>(std::numeric_limits<T>::lowest()) &&
                            number < past);
  };
  return of_integer(type, whole, [] { return 1; }) != 0;
}

Tensor filled(const TensorInfo& input, const Shape& shape, const std::vector<double>& numbers) {
  const auto count = static_cast<size_t>(element_count(shape));
  if (numbers.size() != 1 && numbers.size() != count)
    throw Error(ErrorKind::usage,
                fmt::format("--input: {} numbers, input '{}' of shape {} holds {}", numbers.size(), input.name, shape_text(shape), count));
  for (const double number : numbers)
    if (!holds(input.type, number))
      throw Error(ErrorKind::usage,
                  fmt::format("--input: {} is not a number that input '{}' of {} holds", number, input.name, name_of(input.type)));
  Tensor tensor = make_tensor(DataType::f64, shape);
  for (size_t i = 0; i < count; ++i) writable<double>(tensor)[i] = numbers[numbers.size() == 1 ? 0 : i];
  return converted(tensor, input.type);
}

}  // namespace

void TensorsDataset::give(const DatasetRequest& request) {
  if (request.numbers.empty()) return;
  const std::vector<Shape> shapes = sample_shapes(request.inputs);
  for (const auto& [name, numbers] : request.numbers) {
    std::vector<std::string> names;
    for (const TensorInfo& input : request.inputs) names.push_back(input.name);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) throw Error(ErrorKind::usage, "--input: " + unknown_name("input", name, names));
    const auto at = static_cast<size_t>(found - names.begin());
    given_[at] = filled(request.inputs[at], shapes[at], numbers);
  }
}

void TensorsDataset::unload(std::span<const uint32_t> indices) {
  for (const uint32_t index : indices) loaded_.erase(index);
}

std::vector<TensorView> TensorsDataset::sample(uint32_t index) const {
  std::vector<TensorView> views;
  for (const Tensor& tensor : loaded_.at(index)) views.push_back(tensor.view());
  return views;
}

std::optional<int64_t> TensorsDataset::label(uint32_t index) const {
  return index < labels_.classes.size() ? std::optional(labels_.classes[index]) : std::nullopt;
}

void TensorsDataset::set_labels(Labels labels) {
  assert(labels.classes.size() == size());
  labels_ = std::move(labels);
}

std::string TensorsDataset::label_note() const {
  return labels_.classes.empty() ? std::string() : fmt::format(", labels by {}", labels_.source);
}

namespace {

Shape shape_at_batch_1(const TensorInfo& input) {
  if (!input.dims) throw Error(ErrorKind::usage, fmt::format("input '{0}' has no shape; give it with --shape {0}:1x3x224x224", input.name));
  Shape shape;
  for (const Dim& dim : *input.dims) {
    if (!dim.known() && dim.symbol != batch_symbol) {
      throw Error(ErrorKind::usage,
                  fmt::format("input '{}' leaves dimension {} ('{}') open; give it with --shape", input.name, shape.size(), dim.symbol));
    }
    shape.push_back(dim.size);  // for the batch symbol: its multiple, at batch 1
  }
  return shape;
}

}  // namespace

std::vector<Shape> sample_shapes(const std::vector<TensorInfo>& inputs) {
  const Batching batching = batching_of(inputs);
  std::vector<Shape> shapes;
  for (const TensorInfo& input : inputs) {
    shapes.push_back(shape_at_batch_1(input));
    if (batching.kind == Batching::Kind::fixed) shapes.back().front() = 1;
  }
  return shapes;
}

std::string shape_text(std::span<const int64_t> shape) { return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ",")); }

}  // namespace deepgap
