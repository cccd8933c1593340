// Functions of each element, of one value or of several that are broadcast.
#include "backends/libtorch/torch_operator.h"

#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/ceil.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/div.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/floor.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/le.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/log.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/logical_xor.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/mish.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/round.h>
#include <ATen/ops/selu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sign.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/where.h>

#include <optional>

namespace deepgap {
namespace {

using Unary = at::Tensor (*)(const at::Tensor&);
using Binary = at::Tensor (*)(const at::Tensor&, const at::Tensor&);

template <Unary function>
TorchStep unary(const TorchCall&) {
  return one_output([](const TorchFrame& frame) { return function(frame.in(0)); });
}

template <Binary function>
TorchStep binary(const TorchCall&) {
  return one_output([](const TorchFrame& frame) { return function(frame.in(0), frame.in(1)); });
}

// Of any number of inputs.
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
at::Tensor power(const at::Tensor& a, const at::Tensor& b) { return at::pow(a, b.to(a.scalar_type())); }

// Of integers it rounds towards zero.
TorchStep divide(const TorchCall& call) {
  if (call.is_float(0)) return one_output([](const TorchFrame& frame) { return at::div(frame.in(0), frame.in(1)); });
  return one_output([](const TorchFrame& frame) { return at::div(frame.in(0), frame.in(1), "trunc"); });
}

// A bound that is an attribute, a constant or left out.
std::optional<at::Scalar> bound(const TorchCall& call, const char* attribute, size_t input) {
  std::optional<double> value;
  if (call.node.attributes.contains(attribute)) value = call.float_of(attribute, 0);
  if (call.has(input)) value = call.number(input);
  if (!value) return std::nullopt;
  return call.is_float(0) ? at::Scalar(*value) : at::Scalar(static_cast<int64_t>(*value));
}

TorchStep clip(const TorchCall& call) {
  const auto low = bound(call, "min", 1), high = bound(call, "max", 2);
  if (!low && !high) return one_output([](const TorchFrame& frame) { return frame.in(0); });
  return one_output([low, high](const TorchFrame& frame) { return at::clamp(frame.in(0), low, high); });
}

TorchStep hard_sigmoid(const TorchCall& call) {
  const double alpha = call.float_of("alpha", 0.2f), beta = call.float_of("beta", 0.5f);
  return one_output([alpha, beta](const TorchFrame& frame) { return at::clamp(at::add(at::mul(frame.in(0), alpha), beta), 0, 1); });
}

TorchStep leaky_relu(const TorchCall& call) {
  const double alpha = call.float_of("alpha", 0.01f);
  return one_output([alpha](const TorchFrame& frame) { return at::leaky_relu(frame.in(0), alpha); });
}

TorchStep elu(const TorchCall& call) {
  const double alpha = call.float_of("alpha", 1);
  return one_output([alpha](const TorchFrame& frame) { return at::elu(frame.in(0), alpha); });
}

TorchStep selu(const TorchCall& call) {
  const double alpha = call.float_of("alpha", 1.67326319217681884765625f), gamma = call.float_of("gamma", 1.05070102214813232421875f);
  return one_output([alpha, gamma](const TorchFrame& frame) { return at::elu(frame.in(0), alpha, gamma); });
}

TorchStep gelu(const TorchCall& call) {
  const std::string approximate = call.text_of("approximate", "none");
  return one_output([approximate](const TorchFrame& frame) { return at::gelu(frame.in(0), approximate); });
}

TorchStep softplus(const TorchCall&) {
  return one_output([](const TorchFrame& frame) { return at::softplus(frame.in(0)); });
}

TorchStep p_relu(const TorchCall&) {
  return one_output(
      [](const TorchFrame& frame) { return at::where(at::lt(frame.in(0), 0), at::mul(frame.in(0), frame.in(1)), frame.in(0)); });
}

TorchStep where(const TorchCall&) {
  return one_output([](const TorchFrame& frame) { return at::where(frame.in(0), frame.in(1), frame.in(2)); });
}

const bool registered[] = {
    add_torch_operator("Abs", unary<at::abs>),
    add_torch_operator("Add", binary<plus>),
    add_torch_operator("And", binary<at::logical_and>),
    add_torch_operator("Ceil", unary<at::ceil>),
    add_torch_operator("Clip", clip),
    add_torch_operator("Cos", unary<at::cos>),
    add_torch_operator("Div", divide),
    add_torch_operator("Elu", elu),
    add_torch_operator("Equal", binary<at::eq>),
    add_torch_operator("Erf", unary<at::erf>),
    add_torch_operator("Exp", unary<at::exp>),
    add_torch_operator("Floor", unary<at::floor>),
    add_torch_operator("Gelu", gelu),
    add_torch_operator("Greater", binary<at::gt>),
    add_torch_operator("GreaterOrEqual", binary<at::ge>),
    add_torch_operator("HardSigmoid", hard_sigmoid),
    add_torch_operator("HardSwish", unary<at::hardswish>),
    add_torch_operator("LeakyRelu", leaky_relu),
    add_torch_operator("Less", binary<at::lt>),
    add_torch_operator("LessOrEqual", binary<at::le>),
    add_torch_operator("Log", unary<at::log>),
    add_torch_operator("Max", variadic<at::maximum>),
    add_torch_operator("Min", variadic<at::minimum>),
    add_torch_operator("Mish", unary<at::mish>),
    add_torch_operator("Mul", binary<at::mul>),
    add_torch_operator("Neg", unary<at::neg>),
    add_torch_operator("Not", unary<at::logical_not>),
    add_torch_operator("Or", binary<at::logical_or>),
    add_torch_operator("PRelu", p_relu),
    add_torch_operator("Pow", binary<power>),
    add_torch_operator("Reciprocal", unary<at::reciprocal>),
    add_torch_operator("Relu", unary<at::relu>),
    add_torch_operator("Round", unary<at::round>),
    add_torch_operator("Selu", selu),
    add_torch_operator("Sigmoid", unary<at::sigmoid>),
    add_torch_operator("Sign", unary<at::sign>),
    add_torch_operator("Sin", unary<at::sin>),
    add_torch_operator("Softplus", softplus),
    add_torch_operator("Sqrt", unary<at::sqrt>),
    add_torch_operator("Sub", binary<minus>),
    add_torch_operator("Sum", variadic<plus>),
    add_torch_operator("Tanh", unary<at::tanh>),
    add_torch_operator("Where", where),
    add_torch_operator("Xor", binary<at::logical_xor>),
};

}  // namespace
}  // namespace deepgap
