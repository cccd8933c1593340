// Numbers to integers and back, and products of integers, in floating point: quantized files run in FP32 here. Sums of products are
// computed in double precision, where they are exact.
#include "backends/tensorflow/tf_operator.h"
#include "model/packed_weights.h"
#include "model/translated_nodes.h"

#include <fmt/format.h>

#include <vector>

namespace deepgap {
namespace {

TfOutput clamped(TfScope& s, TfOutput x, const Levels& levels) {
  const TfType type = TfScope::type_of(x);
  return s.binary("Minimum", s.binary("Maximum", x, s.number(type, levels.lowest)), s.number(type, levels.highest));
}

void quantize(const TfCall& call) {
  TfScope& s = call.scope;
  if (call.node.attributes.contains("output_dtype")) call.refuse("output_dtype is not run");
  if (call.has(2) && call.is_constant(2) && packed_content(call.constant(2)) != nullptr)
    call.refuse("levels of fewer than 8 bits or of floats are not run");
  const DataType type = call.has(2) ? call.type(2) : DataType::u8;
  const Shape shape = shape_of_scales(call);
  TfOutput level = s.unary("Rint", s.binary("RealDiv", call.in(0), s.reshape(call.in(1), shape)));
  if (call.has(2)) level = s.binary("AddV2", level, s.reshape(s.cast(call.in(2), TfScope::type_of(level)), shape));
  call.out(0, s.cast(clamped(s, level, levels_of(call, type)), tf_type(type)));
}

void dequantize(const TfCall& call) {
  TfScope& s = call.scope;
  const Shape shape = shape_of_scales(call);
  const TfOutput scale = s.reshape(call.in(1), shape);
  TfOutput level = s.cast(call.in(0), TfType::i32);
  if (call.has(2)) level = s.binary("Sub", level, s.reshape(s.cast(call.in(2), TfType::i32), shape));
  call.out(0, s.binary("Mul", s.cast(level, TfScope::type_of(scale)), scale));
}

void dynamic_quantize(const TfCall& call) {
  TfScope& s = call.scope;
  const TfOutput x = call.in(0), zero = s.number(TfType::f32, 0);
  const TfOutput line = s.reshape(x, {element_count(call.shape(0))});
  const TfOutput low = s.binary("Minimum", s.reduce("Min", line, {0}, false), zero);
  const TfOutput high = s.binary("Maximum", s.reduce("Max", line, {0}, false), zero);
  const TfOutput range = s.binary("RealDiv", s.binary("Sub", high, low), s.number(TfType::f32, 255));
  const TfOutput scale = s.make("SelectV2").in(s.binary("Equal", range, zero)).in(s.number(TfType::f32, 1)).in(range).out();
  const TfOutput point = s.unary("Rint", clamped(s, s.binary("RealDiv", s.unary("Neg", low), scale), {0, 255}));
  const TfOutput level = s.binary("AddV2", s.unary("Rint", s.binary("RealDiv", x, scale)), point);
  call.out(0, s.cast(clamped(s, level, {0, 255}), TfType::u8));
  call.out(1, scale);
  call.out(2, s.cast(point, TfType::u8));
}

// One zero point, one for each row of A, one for each column of B.
void matmul_integer(const TfCall& call) {
  TfScope& s = call.scope;
  TfOutput a = s.cast(call.in(0), TfType::f64), b = s.cast(call.in(1), TfType::f64);
  if (call.has(2)) {
    const Shape shape = call.shape(2);
    TfOutput point = s.cast(call.in(2), TfType::f64);
    if (shape.size() == 1 && shape[0] != 1) point = s.reshape(point, {shape[0], 1});
    a = s.binary("Sub", a, point);
  }
  if (call.has(3)) b = s.binary("Sub", b, s.cast(call.in(3), TfType::f64));
  if (call.shape(0).size() < 2 || call.shape(1).size() < 2) call.refuse("vectors");
  const bool plain = call.shape(0).size() == 2 && call.shape(1).size() == 2;
  call.out(0, s.cast(s.binary(plain ? "MatMul" : "BatchMatMulV2", a, b), TfType::i32));
}

const bool registered[] = {
    add_tf_operator("DequantizeLinear", dequantize),
    add_tf_operator("DynamicQuantizeLinear", dynamic_quantize),
    add_tf_operator("MatMulInteger", matmul_integer),
    add_tf_operator("QuantizeLinear", quantize),
};

}  // namespace
}  // namespace deepgap
