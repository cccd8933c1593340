#include "backends/xla/hlo_writer.h"

#include "model/eval/element_types.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace deepgap {
namespace {

std::string_view element(DataType type) {
  constexpr std::string_view names[] = {"f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "i1"};
  return names[static_cast<size_t>(type)];
}

std::string type_text(DataType type, const Shape& shape) {
  std::string text = "tensor<";
  for (const int64_t size : shape) text += fmt::format("{}x", size);
  return fmt::format("{}{}>", text, element(type));
}
std::string type_text(const HloValue& value) { return type_text(value.type, value.shape); }

// The bytes as the text has them, which is exact for every number.
std::string hex(const Tensor& tensor) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string text = "\"0x";
  const size_t bytes = tensor.bytes();
  text.reserve(text.size() + 2 * bytes + 1);
  for (size_t i = 0; i < bytes; ++i) {
    const auto byte = static_cast<unsigned>(tensor.data.get()[i]);
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text + "\"";
}

// Without it, XLA compares constants as if they had no sign as it folds them.
std::string_view comparison_type(DataType type) {
  switch (type) {
    case DataType::f32:
    case DataType::f64:
    case DataType::f16:
    case DataType::bf16:
      return "FLOAT";
    case DataType::i8:
    case DataType::i16:
    case DataType::i32:
    case DataType::i64:
      return "SIGNED";
    default:
      return "UNSIGNED";
  }
}

Shape broadcast_shape(const Shape& a, const Shape& b) {
  Shape shape = a.size() >= b.size() ? a : b;
  const Shape& other = a.size() >= b.size() ? b : a;
  const size_t lead = shape.size() - other.size();
  for (size_t i = 0; i < other.size(); ++i)
    if (shape[lead + i] == 1) shape[lead + i] = other[i];
  return shape;
}

}  // namespace

std::string hlo_list(const std::vector<int64_t>& values) { return fmt::format("[{}]", fmt::join(values, ", ")); }
std::string hlo_array(const std::vector<int64_t>& values) {
  return values.empty() ? "array<i64>" : fmt::format("array<i64: {}>", fmt::join(values, ", "));
}
std::string hlo_pairs(const std::vector<int64_t>& firsts, const std::vector<int64_t>& seconds) {
  std::vector<std::string> pairs;
  for (size_t i = 0; i < firsts.size(); ++i) pairs.push_back(fmt::format("[{}, {}]", firsts[i], seconds[i]));
  return fmt::format("dense<[{}]> : tensor<{}x2xi64>", fmt::join(pairs, ", "), pairs.size());
}
std::string hlo_integer(int64_t value) { return fmt::format("{} : i64", value); }

HloValue HloWriter::argument(DataType type, const Shape& shape) {
  arguments_.push_back({fmt::format("%arg{}", arguments_.size()), type, shape});
  return arguments_.back();
}

HloValue HloWriter::constant(const Tensor& tensor) {
  if (tensor.type == DataType::boolean) {  // its bytes would be read as bits
    Tensor numbers{DataType::u8, tensor.shape, tensor.data};
    return compare("NE", constant(numbers), number(DataType::u8, 0));
  }
  const std::string contents = tensor.bytes() == 0 ? "" : hex(tensor);
  return operation("constant", {}, tensor.type, tensor.shape,
                   fmt::format("value = dense<{}> : {}", contents, type_text(tensor.type, tensor.shape)));
}

HloValue HloWriter::number(DataType type, double value, const Shape& shape) {
  Tensor tensor = make_tensor(type, {});
  with_type(type, [&]<typename T>(T) { writable<T>(tensor)[0] = deepgap::convert<T>(value); });
  const HloValue scalar = constant(tensor);
  return shape.empty() ? scalar : broadcast(scalar, shape, {});
}

HloValue HloWriter::operation(std::string_view name, const std::vector<HloValue>& operands, DataType type, const Shape& shape,
                              const std::string& attributes, const std::string& region) {
  HloValue result{next(), type, shape};
  std::vector<std::string> names, types;
  for (const HloValue& operand : operands) {
    names.push_back(operand.name);
    types.push_back(type_text(operand));
  }
  const std::string dialect = name.find('.') == std::string_view::npos ? "stablehlo." : "";
  body_ += fmt::format("    {} = \"{}{}\"({}){}{} : ({}) -> {}\n", result.name, dialect, name, fmt::join(names, ", "),
                       attributes.empty() ? "" : " <{" + attributes + "}>", region.empty() ? "" : " ({" + region + "})",
                       fmt::join(types, ", "), type_text(result));
  return result;
}

HloValue HloWriter::binary(std::string_view name, const HloValue& a, const HloValue& b) {
  const Shape shape = broadcast_shape(a.shape, b.shape);
  return operation(name, {broadcast(a, shape), broadcast(b, shape)}, a.type, shape);
}

HloValue HloWriter::compare(std::string_view direction, const HloValue& a, const HloValue& b) {
  const Shape shape = broadcast_shape(a.shape, b.shape);
  return operation("compare", {broadcast(a, shape), broadcast(b, shape)}, DataType::boolean, shape,
                   fmt::format("comparison_direction = #stablehlo<comparison_direction {}>, compare_type = #stablehlo<comparison_type {}>",
                               direction, comparison_type(a.type)));
}

HloValue HloWriter::select(const HloValue& condition, const HloValue& yes, const HloValue& no) {
  const Shape shape = broadcast_shape(condition.shape, broadcast_shape(yes.shape, no.shape));
  return operation("select", {broadcast(condition, shape), broadcast(yes, shape), broadcast(no, shape)}, yes.type, shape);
}

HloValue HloWriter::convert(const HloValue& x, DataType type) { return x.type == type ? x : operation("convert", {x}, type, x.shape); }

HloValue HloWriter::reshape(const HloValue& x, const Shape& shape) {
  return x.shape == shape ? x : operation("reshape", {x}, x.type, shape);
}

HloValue HloWriter::transpose(const HloValue& x, const std::vector<int64_t>& order) {
  if (std::is_sorted(order.begin(), order.end())) return x;
  Shape shape;
  for (const int64_t axis : order) shape.push_back(x.shape[static_cast<size_t>(axis)]);
  return operation("transpose", {x}, x.type, shape, "permutation = " + hlo_array(order));
}

HloValue HloWriter::broadcast(const HloValue& x, const Shape& shape) {
  std::vector<int64_t> dimensions(x.shape.size());
  std::iota(dimensions.begin(), dimensions.end(), static_cast<int64_t>(shape.size() - x.shape.size()));
  return broadcast(x, shape, dimensions);
}

HloValue HloWriter::broadcast(const HloValue& x, const Shape& shape, const std::vector<int64_t>& dimensions) {
  if (x.shape == shape) return x;
  return operation("broadcast_in_dim", {x}, x.type, shape, "broadcast_dimensions = " + hlo_array(dimensions));
}

HloValue HloWriter::concatenate(const std::vector<HloValue>& parts, int64_t axis) {
  if (parts.size() == 1) return parts.front();
  Shape shape = parts.front().shape;
  for (size_t i = 1; i < parts.size(); ++i) shape[static_cast<size_t>(axis)] += parts[i].shape[static_cast<size_t>(axis)];
  return operation("concatenate", parts, parts.front().type, shape, "dimension = " + hlo_integer(axis));
}

HloValue HloWriter::slice(const HloValue& x, const Shape& begins, const Shape& ends, const Shape& steps) {
  Shape shape;
  for (size_t i = 0; i < begins.size(); ++i) shape.push_back((ends[i] - begins[i] + steps[i] - 1) / steps[i]);
  if (shape == x.shape) return x;
  return operation(
      "slice", {x}, x.type, shape,
      fmt::format("start_indices = {}, limit_indices = {}, strides = {}", hlo_array(begins), hlo_array(ends), hlo_array(steps)));
}

HloValue HloWriter::reverse(const HloValue& x, const std::vector<int64_t>& axes) {
  return axes.empty() ? x : operation("reverse", {x}, x.type, x.shape, "dimensions = " + hlo_array(axes));
}

HloValue HloWriter::pad(const HloValue& x, const std::vector<int64_t>& begins, const std::vector<int64_t>& ends, double value) {
  Shape shape = x.shape;
  bool changes = false;  // elements that go on one side and come on the other leave the shape
  for (size_t i = 0; i < shape.size(); ++i) {
    shape[i] += begins[i] + ends[i];
    changes = changes || begins[i] != 0 || ends[i] != 0;
  }
  if (!changes) return x;
  return operation("pad", {x, number(x.type, value)}, x.type, shape,
                   fmt::format("edge_padding_low = {}, edge_padding_high = {}, interior_padding = {}", hlo_array(begins), hlo_array(ends),
                               hlo_array(std::vector<int64_t>(shape.size(), 0))));
}

HloValue HloWriter::gather(const HloValue& x, const HloValue& indices, int64_t axis) {
  const auto rank = static_cast<int64_t>(x.shape.size()), extra = static_cast<int64_t>(indices.shape.size());
  Shape shape, sizes = x.shape;
  std::vector<int64_t> offsets;
  sizes[static_cast<size_t>(axis)] = 1;
  for (int64_t i = 0; i < rank; ++i) {
    if (i == axis) {
      shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
    } else {
      offsets.push_back(static_cast<int64_t>(shape.size()));
      shape.push_back(x.shape[static_cast<size_t>(i)]);
    }
  }
  return operation(
      "gather", {x, indices}, x.type, shape,
      fmt::format("dimension_numbers = #stablehlo.gather<offset_dims = {}, collapsed_slice_dims = [{}], start_index_map = [{}], "
                  "index_vector_dim = {}>, slice_sizes = {}, indices_are_sorted = false",
                  hlo_list(offsets), axis, axis, extra, hlo_array(sizes)));
}

std::string HloWriter::region(std::string_view name, DataType type) {
  const std::string a = next(), b = next(), result = next(), scalar = type_text(type, {});
  return fmt::format(
      "\n    ^bb0({}: {}, {}: {}):\n      {} = \"stablehlo.{}\"({}, {}) : ({}, {}) -> {}\n      \"stablehlo.return\"({}) : ({}) -> ()\n   "
      " ",
      a, scalar, b, scalar, result, name, a, b, scalar, scalar, scalar, result, scalar);
}

HloValue HloWriter::reduce(std::string_view name, const HloValue& x, double first, const std::vector<int64_t>& axes, bool keep) {
  Shape reduced, kept = x.shape;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) == axes.end()) {
      reduced.push_back(x.shape[i]);
    } else {
      kept[i] = 1;
    }
  }
  std::vector<int64_t> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  const HloValue result =
      operation("reduce", {x, number(x.type, first)}, x.type, reduced, "dimensions = " + hlo_array(sorted), region(name, x.type));
  return keep ? reshape(result, kept) : result;
}

HloValue HloWriter::reduce_window(std::string_view name, const HloValue& x, double first, const Window& w) {
  Shape shape;
  for (size_t i = 0; i < x.shape.size(); ++i)
    shape.push_back((x.shape[i] + w.begins[i] + w.ends[i] - (w.size[i] - 1) * w.dilations[i] - 1) / w.strides[i] + 1);
  return operation("reduce_window", {x, number(x.type, first)}, x.type, shape,
                   fmt::format("window_dimensions = {}, window_strides = {}, base_dilations = {}, window_dilations = {}, padding = {}",
                               hlo_array(w.size), hlo_array(w.strides), hlo_array(std::vector<int64_t>(shape.size(), 1)),
                               hlo_array(w.dilations), hlo_pairs(w.begins, w.ends)),
                   region(name, x.type));
}

size_t HloWriter::line() const {
  constexpr size_t lines_before_body = 2;  // module, function
  return lines_before_body + 1 + static_cast<size_t>(std::count(body_.begin(), body_.end(), '\n'));
}

std::string HloWriter::program(const std::vector<HloValue>& outputs) const {
  std::vector<std::string> arguments, names, types;
  for (const HloValue& argument : arguments_) arguments.push_back(argument.name + ": " + type_text(argument));
  for (const HloValue& output : outputs) {
    names.push_back(output.name);
    types.push_back(type_text(output));
  }
  return fmt::format("module @deepgap {{\n  func.func public @main({}) -> ({}) {{\n{}    \"func.return\"({}) : ({}) -> ()\n  }}\n}}\n",
                     fmt::join(arguments, ", "), fmt::join(types, ", "), body_, fmt::join(names, ", "), fmt::join(types, ", "));
}

}  // namespace deepgap
