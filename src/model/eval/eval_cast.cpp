// Cast, CastLike, BitCast, QuantizeLinear and DequantizeLinear.
#include "model/eval/element_types.h"
#include "model/eval/widened.h"
#include "model/onnx_types.h"
#include "model/packed_weights.h"

#include <fmt/format.h>

#include <cmath>
#include <type_traits>

namespace deepgap {

namespace {

// Returns the type by ONNX's number for it.
DataType type_of_number(const Call& call, int64_t number) {
  const auto type = data_type_of(number);
  if (!type) call.refuse(fmt::format("element type {} is not handled here", onnx_type_name(number)));
  return *type;
}

std::vector<Tensor> cast(const Call& call) { return {converted(call.input(0), type_of_number(call, call.int_of("to", 0)))}; }
std::vector<Tensor> cast_like(const Call& call) { return {converted(call.input(0), call.input(1).type)}; }

// The same bits as a number of another type.
std::vector<Tensor> bit_cast(const Call& call) {
  const Tensor& x = call.input(0);
  const DataType type = type_of_number(call, call.int_of("to", 0));
  if (byte_size(type) != byte_size(x.type)) call.fail(fmt::format("{} and {} do not have as many bits", name_of(x.type), name_of(type)));
  if (type == DataType::boolean) return {converted(x, type)};  // 0 and 1 are all that it holds
  return {{type, x.shape, x.data}};
}

// The scale and zero point of each element: one for all, one per slice along the axis, or one per block of each line along it.
struct Scaling {
  std::span<const float> scale;
  std::vector<int64_t> zeros;  // empty: all 0
  DataType zero_type = DataType::u8;
  int64_t axis_size = 1, inner = 1, block = 0;

  size_t at(size_t element) const {
    const auto place = static_cast<int64_t>(element);
    if (block == 0) return static_cast<size_t>(place / inner % axis_size);
    const int64_t blocks = (axis_size + block - 1) / block;
    return static_cast<size_t>((place / inner / axis_size * blocks + place / inner % axis_size / block) * inner + place % inner);
  }
  int64_t zero(size_t which) const { return zeros.empty() ? 0 : zeros[which]; }
};

void set_axis(const Call& call, Scaling& scaling) {
  const Shape &x = call.input(0).shape, &scale = call.input(1).shape;
  scaling.block = call.int_of("block_size", 0);
  if (scaling.block < 0) call.fail(fmt::format("block_size is {}", scaling.block));
  if (scaling.block == 0 && product_of(scale) == 1) return;
  const auto axis = static_cast<size_t>(call.axis(call.int_of("axis", 1), x.size()));
  scaling.axis_size = x[axis];
  scaling.inner = product_of(std::span(x).subspan(axis + 1));
  Shape expected{scaling.axis_size};
  if (scaling.block > 0) {
    expected = x;
    expected[axis] = (x[axis] + scaling.block - 1) / scaling.block;
  }
  if (scale != expected)
    call.fail(scaling.block > 0 ? "the scale does not have one value per block"
                                : "the scale does not have one value per slice of the axis");
}

// Floats are those of 8 bits and fewer, widened.
template <typename F>
void with_level(const Call& call, DataType type, F f) {
  type == DataType::f32 ? f(float{}) : with_integer(call, type, f);
}

Scaling scaling_of(const Call& call) {
  const Tensor& scale = call.input(1);
  call.expect(scale, DataType::f32);
  Scaling scaling{.scale = scale.as<float>()};
  set_axis(call, scaling);
  if (!call.has(2)) return scaling;
  const Tensor& zeros = call.input(2);
  if (product_of(zeros.shape) != product_of(scale.shape)) call.fail("scale and zero point differ in size");
  scaling.zero_type = zeros.type;
  with_level(call, zeros.type, [&]<typename T>(T) {
    for (const T zero : zeros.as<T>()) scaling.zeros.push_back(static_cast<int64_t>(zero));
  });
  return scaling;
}

template <typename T>
Tensor quantize_as(const Tensor& x, const Scaling& scaling, DataType type) {
  Tensor y = make_tensor(type, x.shape);
  const auto from = x.as<float>();
  const auto to = writable<T>(y);
  for (size_t i = 0; i < from.size(); ++i) {
    const size_t which = scaling.at(i);
    const double level = static_cast<double>(std::nearbyint(from[i] / scaling.scale[which])) + static_cast<double>(scaling.zero(which));
    to[i] = convert<T>(level);
  }
  return y;
}

// The ONNX type that a node quantizes to, where it is one of few bits (packed_weights.h); 0: another.
int64_t packed_target(const Call& call) {
  const PackedContent* zero = call.has(2) ? packed_content(call.input(2)) : nullptr;
  if (zero != nullptr) return zero->onnx_type;
  const int64_t asked = call.int_of("output_dtype", 0);
  return widened_type_of(asked) ? asked : 0;
}

// Quantizes to a type of few bits, whose values stand in a wider one.
Tensor quantize_packed(const Call& call, const Tensor& x, const Scaling& scaling, int64_t target) {
  if (call.int_of("saturate", 1) == 0) call.refuse("saturate=0 is not handled here");
  Tensor y = make_tensor(DataType::f32, x.shape);
  const bool whole = widened_type_of(target) != DataType::f32;
  for (size_t i = 0; i < x.as<float>().size(); ++i) {
    const size_t which = scaling.at(i);
    const float level = x.as<float>()[i] / scaling.scale[which];
    writable<float>(y)[i] = nearest_value(target, (whole ? std::nearbyint(level) : level) + static_cast<float>(scaling.zero(which)));
  }
  return converted(y, *widened_type_of(target));
}

// Numbers and scales of 16 bits come as float32 (widened.h), whole ones are made so.
std::vector<Tensor> quantize_linear(const Call& call) {
  const Tensor x = call.input(0).type == DataType::i32 ? converted(call.input(0), DataType::f32) : call.input(0);
  call.expect(x, DataType::f32);
  const Scaling scaling = scaling_of(call);
  if (const int64_t target = packed_target(call); target != 0) return {quantize_packed(call, x, scaling, target)};
  const int64_t asked = call.int_of("output_dtype", 0);
  const DataType type = call.has(2) ? scaling.zero_type : asked != 0 ? type_of_number(call, asked) : DataType::u8;
  switch (type) {
    case DataType::u8:
      return {quantize_as<uint8_t>(x, scaling, type)};
    case DataType::i8:
      return {quantize_as<int8_t>(x, scaling, type)};
    case DataType::u16:
      return {quantize_as<uint16_t>(x, scaling, type)};
    case DataType::i16:
      return {quantize_as<int16_t>(x, scaling, type)};
    default:
      call.refuse(fmt::format("quantizing to {} is not handled here", name_of(type)));
  }
}

// The result has the scale's type, or since opset 23 the one asked for.
std::vector<Tensor> dequantize_linear(const Call& call) {
  const Tensor& x = call.input(0);
  const Tensor wide_scale = converted(call.input(1), DataType::f32);
  std::vector<Tensor> inputs(call.inputs.begin(), call.inputs.end());
  inputs[1] = wide_scale;
  const Scaling scaling = scaling_of(Call(call.graph, call.node, inputs));
  if (call.has(2) && scaling.zero_type != x.type) call.fail("input and zero point are of different types");
  Tensor y = make_tensor(DataType::f32, x.shape);
  const auto to = writable<float>(y);
  with_level(call, x.type, [&]<typename T>(T) {
    if constexpr (sizeof(T) == 8) call.refuse(fmt::format("{} is not handled here", name_of(x.type)));
    const auto from = x.as<T>();
    for (size_t i = 0; i < from.size(); ++i) {
      const size_t which = scaling.at(i);
      if constexpr (std::is_floating_point_v<T>)
        to[i] = (from[i] - static_cast<float>(scaling.zero(which))) * scaling.scale[which];
      else
        to[i] = static_cast<float>(static_cast<int64_t>(from[i]) - scaling.zero(which)) * scaling.scale[which];
    }
  });
  const int64_t asked = call.int_of("output_dtype", 0);
  return {converted(y, asked != 0 ? type_of_number(call, asked) : call.input(1).type)};
}

const bool registered[] = {
    add_operator("BitCast", bit_cast),
    add_operator("Cast", cast),
    add_operator("CastLike", cast_like),
    add_operator("DequantizeLinear", dequantize_linear),
    add_operator("QuantizeLinear", widened<quantize_linear>),
};

}  // namespace

}  // namespace deepgap
