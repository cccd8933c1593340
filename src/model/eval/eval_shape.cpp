// Operators that give shapes, constants and new views of the same values.
#include "model/eval/element_types.h"
#include "model/eval/operator.h"
#include "model/eval/strided.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace deepgap {

namespace {

Tensor integers_tensor(const std::vector<int64_t>& values, Shape shape) {
  Tensor tensor = make_tensor(DataType::i64, std::move(shape));
  std::copy(values.begin(), values.end(), writable<int64_t>(tensor).begin());
  return tensor;
}

Tensor floats_tensor(const std::vector<float>& values, Shape shape) {
  Tensor tensor = make_tensor(DataType::f32, std::move(shape));
  std::copy(values.begin(), values.end(), writable<float>(tensor).begin());
  return tensor;
}

std::vector<Tensor> identity(const Call& call) { return {call.input(0)}; }

bool is_flag(const Call& call, size_t input) {
  return call.has(input) && call.input(input).type == DataType::boolean && call.input(input).bytes() == 1;
}

// In training mode what is left out is drawn, but for a ratio of 0.
std::vector<Tensor> dropout(const Call& call) {
  if (call.has(2) && !is_flag(call, 2)) call.fail("training_mode is not one flag");
  if (call.has(2) && call.input(2).as<uint8_t>()[0] != 0) {
    const Tensor ratio = call.has(1) ? converted(call.input(1), DataType::f64) : Tensor{};
    if (ratio.data == nullptr || product_of(ratio.shape) != 1 || ratio.as<double>()[0] != 0)
      call.refuse("training mode is not handled here");
  }
  Tensor mask = make_tensor(DataType::boolean, call.input(0).shape);
  std::memset(writable<std::byte>(mask).data(), 1, mask.bytes());
  // Before opset 10 the mask was of the input's type.
  return {call.input(0), call.graph.opset < 10 ? converted(mask, call.input(0).type) : mask};
}

// Answers for tensors only: sequences and optionals are not read.
std::vector<Tensor> optional_has_element(const Call& call) {
  Tensor there = make_tensor(DataType::boolean, {});
  writable<uint8_t>(there)[0] = call.has(0);
  return {there};
}

std::vector<Tensor> flatten(const Call& call) {
  const Tensor& x = call.input(0);
  const auto rank = static_cast<int64_t>(x.shape.size());
  int64_t axis = call.int_of("axis", 1);
  if (axis < -rank || axis > rank) call.fail(fmt::format("axis {} does not fit rank {}", axis, rank));
  if (axis < 0) axis += rank;
  const std::span<const int64_t> sizes(x.shape);
  return {copy_with_shape(x, {product_of(sizes.first(axis)), product_of(sizes.subspan(axis))})};
}

std::vector<Tensor> reshape(const Call& call) {
  const Tensor& x = call.input(0);
  Shape shape = call.integers(1);
  const bool zero_is_zero = call.int_of("allowzero", 0) != 0;
  int64_t open = -1;
  Shape fixed;  // all sizes but the one that is open
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !zero_is_zero) {
      if (i >= x.shape.size()) call.fail("a 0 in the shape has no size to copy");
      shape[i] = x.shape[i];
    }
    if (shape[i] == -1 && open < 0) {
      open = static_cast<int64_t>(i);
    } else if (shape[i] < 0) {
      call.fail("the shape has a negative size");
    } else {
      fixed.push_back(shape[i]);
    }
  }
  call.expect_possible(fixed);
  const int64_t count = product_of(x.shape), known = product_of(fixed);
  if (open >= 0) {
    if (known == 0 || count % known != 0) call.fail(fmt::format("{} values cannot be given the asked shape", count));
    shape[open] = count / known;
  } else if (known != count) {
    call.fail(fmt::format("{} values cannot be given a shape of {}", count, known));
  }
  return {copy_with_shape(x, shape)};
}

std::vector<Tensor> squeeze(const Call& call) {
  const Tensor& x = call.input(0);
  std::vector<int64_t> axes = call.ints_or_input("axes", 1, {});
  for (int64_t& axis : axes) {
    axis = call.axis(axis, x.shape.size());
    if (x.shape[axis] != 1) call.fail(fmt::format("axis {} has size {}, not 1", axis, x.shape[axis]));
  }
  Shape shape;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    const bool named = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    if (axes.empty() ? x.shape[i] != 1 : !named) shape.push_back(x.shape[i]);
  }
  return {copy_with_shape(x, shape)};
}

std::vector<Tensor> unsqueeze(const Call& call) {
  const Tensor& x = call.input(0);
  std::vector<int64_t> axes = call.ints_or_input("axes", 1, {});
  const size_t rank = x.shape.size() + axes.size();
  for (int64_t& axis : axes) axis = call.axis(axis, rank);
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) call.fail("an axis is named twice");
  Shape shape = x.shape;
  for (int64_t axis : axes) shape.insert(shape.begin() + axis, 1);
  return {copy_with_shape(x, shape)};
}

std::vector<Tensor> shape_of(const Call& call) {
  const Shape& shape = call.input(0).shape;
  const auto rank = static_cast<int64_t>(shape.size());
  const auto clamp = [rank](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const int64_t begin = clamp(call.int_of("start", 0)), end = std::max(begin, clamp(call.int_of("end", rank)));
  return {integers_tensor({shape.begin() + begin, shape.begin() + end}, {end - begin})};
}

std::vector<Tensor> constant(const Call& call) {
  for (const auto& [name, value] : call.node.attributes) {
    if (name == "value" && std::holds_alternative<Tensor>(value)) return {std::get<Tensor>(value)};
    if (name == "value_int") return {integers_tensor({call.int_of(name, 0)}, {})};
    if (name == "value_float") return {floats_tensor({call.float_of(name, 0)}, {})};
    if (name == "value_ints") {
      const auto values = call.ints_of(name, {});
      return {integers_tensor(values, {static_cast<int64_t>(values.size())})};
    }
    if (name == "value_floats" && std::holds_alternative<std::vector<float>>(value)) {
      const auto& values = std::get<std::vector<float>>(value);
      return {floats_tensor(values, {static_cast<int64_t>(values.size())})};
    }
  }
  call.refuse("holds no tensor, number or list of numbers");
}

std::vector<Tensor> constant_of_shape(const Call& call) {
  const Shape shape = call.integers(0);
  if (std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; })) call.fail("the shape has a negative size");
  call.expect_possible(shape);
  Tensor value = floats_tensor({0.0f}, {1});
  if (const auto found = call.node.attributes.find("value"); found != call.node.attributes.end()) {
    const Tensor* given = std::get_if<Tensor>(&found->second);
    if (!given || product_of(given->shape) != 1) call.fail("'value' is not one number");
    value = *given;
  }
  Tensor result = make_tensor(value.type, shape);
  const std::vector<int64_t> repeat(shape.size(), 0);
  copy_strided(shape, byte_size(value.type), {value.data.get(), repeat}, {writable<std::byte>(result).data(), row_major_strides(shape)});
  return {result};
}

const bool registered[] = {
    add_operator("Constant", constant),
    add_operator("ConstantOfShape", constant_of_shape),
    add_operator("Dropout", dropout),
    add_operator("Flatten", flatten),
    add_operator("Identity", identity),
    add_operator("OptionalGetElement", identity),
    add_operator("OptionalHasElement", optional_has_element),
    add_operator("Reshape", reshape),
    add_operator("Shape", shape_of),
    add_operator("Squeeze", squeeze),
    add_operator("Unsqueeze", unsqueeze),
};

}  // namespace

}  // namespace deepgap
