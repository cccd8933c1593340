// Arithmetic of each element, of one value or of several that are broadcast.
#include "backends/libtorch/elementwise_steps.h"

#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/ceil.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/div.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/floor.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/le.h>
#include <ATen/ops/log.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/logical_xor.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/round.h>
#include <ATen/ops/sign.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/where.h>

#include <optional>

namespace deepgap {
namespace {

// Takes any number of inputs.
template <Binary function>
TorchStep variadic(const TorchCall&) {
  return one_output([](const TorchFrame& frame) {
    at::Tensor result = frame.in(0);
    for (size_t i = 1; i < frame.inputs(); ++i) result = function(result, frame.in(i));
    return result;
  });
}

at::Tensor plus(const at::Tensor& a, const at::Tensor& b) { return at::add(a, b); }
at::Tensor minus(const at::Tensor& a, const at::Tensor& b) { return at::sub(a, b); }
at::Tensor power(const at::Tensor& a, const at::Tensor& b) { return at::pow(a, b).to(a.scalar_type()); }

// Integers are rounded towards zero.
TorchStep divide(const TorchCall& call) {
  if (call.is_float(0)) return one_output([](const TorchFrame& frame) { return at::div(frame.in(0), frame.in(1)); });
  return one_output([](const TorchFrame& frame) { return at::div(frame.in(0), frame.in(1), "trunc"); });
}

// A bound that is an attribute, a constant or left out.
std::optional<at::Scalar> bound(const TorchCall& call, const char* attribute, size_t input) {
  std::optional<double> value;
  if (call.node.attributes.contains(attribute)) value = call.float_of(attribute, 0);
  if (call.has(input) && call.type(input) == DataType::i64) return at::Scalar(call.integers(input).at(0));  // a double would round it
  if (call.has(input)) value = call.number(input);
  if (!value) return std::nullopt;
  return call.is_float(0) ? at::Scalar(*value) : at::Scalar(static_cast<int64_t>(*value));
}

TorchStep clip(const TorchCall& call) {
  const auto low = bound(call, "min", 1), high = bound(call, "max", 2);
  if (!low && !high) return one_output([](const TorchFrame& frame) { return frame.in(0); });
  return one_output([low, high](const TorchFrame& frame) { return at::clamp(frame.in(0), low, high); });
}

at::Tensor mean_of(const TorchFrame& frame) {
  at::Tensor sum = frame.in(0);
  for (size_t i = 1; i < frame.inputs(); ++i) sum = at::add(sum, frame.in(i));
  return at::div(sum, static_cast<double>(frame.inputs()));
}
TorchStep mean(const TorchCall&) { return one_output(mean_of); }

TorchStep where(const TorchCall&) {
  return one_output([](const TorchFrame& frame) { return at::where(frame.in(0), frame.in(1), frame.in(2)); });
}

const bool registered[] = {
    add_torch_operator("Abs", unary<at::abs>),
    add_torch_operator("Add", binary<plus>),
    add_torch_operator("And", binary<at::logical_and>),
    add_torch_operator("Ceil", unary<at::ceil>),
    add_torch_operator("Clip", clip),
    add_torch_operator("Div", divide),
    add_torch_operator("Equal", binary<at::eq>),
    add_torch_operator("Erf", unary<at::erf>),
    add_torch_operator("Exp", unary<at::exp>),
    add_torch_operator("Floor", unary<at::floor>),
    add_torch_operator("Greater", binary<at::gt>),
    add_torch_operator("GreaterOrEqual", binary<at::ge>),
    add_torch_operator("Less", binary<at::lt>),
    add_torch_operator("LessOrEqual", binary<at::le>),
    add_torch_operator("Log", unary<at::log>),
    add_torch_operator("Max", variadic<at::maximum>),
    add_torch_operator("Mean", mean),
    add_torch_operator("Min", variadic<at::minimum>),
    add_torch_operator("Mul", binary<at::mul>),
    add_torch_operator("Neg", unary<at::neg>),
    add_torch_operator("Not", unary<at::logical_not>),
    add_torch_operator("Or", binary<at::logical_or>),
    add_torch_operator("Pow", binary<power>),
    add_torch_operator("Reciprocal", unary<at::reciprocal>),
    add_torch_operator("Round", unary<at::round>),
    add_torch_operator("Sign", unary<at::sign>),
    add_torch_operator("Sqrt", unary<at::sqrt>),
    add_torch_operator("Sub", binary<minus>),
    add_torch_operator("Sum", variadic<plus>),
    add_torch_operator("Where", where),
    add_torch_operator("Xor", binary<at::logical_xor>),
};

}  // namespace
}  // namespace deepgap
