// Cast, CastLike, QuantizeLinear and DequantizeLinear.
#include "model/eval/element_types.h"
#include "model/onnx_types.h"

#include <fmt/format.h>

#include <cmath>

namespace deepgap {

namespace {

// By ONNX's number for it.
DataType type_of_number(const Call& call, int64_t number) {
  const auto type = data_type_of(number);
  if (!type) call.refuse(fmt::format("element type {} is not handled here", onnx_type_name(number)));
  return *type;
}

std::vector<Tensor> cast(const Call& call) { return {converted(call.input(0), type_of_number(call, call.int_of("to", 0)))}; }
std::vector<Tensor> cast_like(const Call& call) { return {converted(call.input(0), call.input(1).type)}; }

// Scale and zero point of each element: one for all, or one per slice along the axis.
struct Scaling {
  std::span<const float> scale;
  const Tensor* zero_point;  // nullptr: 0
  int64_t slices, slice_elements;

  size_t slice(int64_t element) const { return static_cast<size_t>(element / slice_elements % slices); }
  int32_t zero(size_t slice) const {
    if (!zero_point) return 0;
    switch (zero_point->type) {
      case DataType::u8:
        return zero_point->as<uint8_t>()[slice];
      case DataType::i8:
        return zero_point->as<int8_t>()[slice];
      case DataType::u16:
        return zero_point->as<uint16_t>()[slice];
      case DataType::i16:
        return zero_point->as<int16_t>()[slice];
      default:
        return zero_point->as<int32_t>()[slice];
    }
  }
};

Scaling scaling_of(const Call& call) {
  const Tensor& x = call.input(0);
  const Tensor& scale = call.input(1);
  call.expect(scale, DataType::f32);
  if (call.int_of("block_size", 0) != 0) call.refuse("block_size is not handled here");
  Scaling scaling{scale.as<float>(), call.has(2) ? &call.input(2) : nullptr, 1, 1};
  if (product_of(scale.shape) != 1) {
    const auto axis = static_cast<size_t>(call.axis(call.int_of("axis", 1), x.shape.size()));
    scaling.slices = x.shape[axis];
    scaling.slice_elements = product_of(std::span<const int64_t>(x.shape).subspan(axis + 1));
    if (scale.shape != Shape{scaling.slices}) call.fail("the scale does not have one value per slice of the axis");
  }
  if (scaling.zero_point) {
    const DataType type = scaling.zero_point->type;
    if (type != DataType::u8 && type != DataType::i8 && type != DataType::u16 && type != DataType::i16 && type != DataType::i32)
      call.refuse(fmt::format("a zero point of {} is not handled here", name_of(type)));
    if (product_of(scaling.zero_point->shape) != product_of(scale.shape)) call.fail("scale and zero point differ in size");
  }
  return scaling;
}

template <typename T>
Tensor quantize_as(const Tensor& x, const Scaling& scaling, DataType type) {
  Tensor y = make_tensor(type, x.shape);
  const auto from = x.as<float>();
  const auto to = writable<T>(y);
  for (size_t i = 0; i < from.size(); ++i) {
    const size_t slice = scaling.slice(static_cast<int64_t>(i));
    const double level = static_cast<double>(std::nearbyint(from[i] / scaling.scale[slice])) + scaling.zero(slice);
    to[i] = convert<T>(level);
  }
  return y;
}

std::vector<Tensor> quantize_linear(const Call& call) {
  call.expect(call.input(0), DataType::f32);
  const Scaling scaling = scaling_of(call);
  const int64_t asked = call.int_of("output_dtype", 0);
  const DataType type = scaling.zero_point ? scaling.zero_point->type : asked != 0 ? type_of_number(call, asked) : DataType::u8;
  switch (type) {
    case DataType::u8:
      return {quantize_as<uint8_t>(call.input(0), scaling, type)};
    case DataType::i8:
      return {quantize_as<int8_t>(call.input(0), scaling, type)};
    case DataType::u16:
      return {quantize_as<uint16_t>(call.input(0), scaling, type)};
    case DataType::i16:
      return {quantize_as<int16_t>(call.input(0), scaling, type)};
    default:
      call.refuse(fmt::format("quantizing to {} is not handled here", name_of(type)));
  }
}

std::vector<Tensor> dequantize_linear(const Call& call) {
  const Tensor& x = call.input(0);
  const Scaling scaling = scaling_of(call);
  if (scaling.zero_point && scaling.zero_point->type != x.type) call.fail("input and zero point are of different types");
  Tensor y = make_tensor(DataType::f32, x.shape);
  const auto to = writable<float>(y);
  bool known = false;
  with_type(x.type, [&]<typename T>(T) {
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 4 && !std::is_same_v<T, bool> && !std::is_same_v<T, uint32_t>) {
      known = true;
      const auto from = x.as<T>();
      for (size_t i = 0; i < from.size(); ++i) {
        const size_t slice = scaling.slice(static_cast<int64_t>(i));
        to[i] = static_cast<float>(int64_t{from[i]} - scaling.zero(slice)) * scaling.scale[slice];
      }
    }
  });
  if (!known) call.refuse(fmt::format("{} is not handled here", name_of(x.type)));
  return {y};
}

const bool registered[] = {
    add_operator("Cast", cast),
    add_operator("CastLike", cast_like),
    add_operator("DequantizeLinear", dequantize_linear),
    add_operator("QuantizeLinear", quantize_linear),
};

}  // namespace

}  // namespace deepgap
