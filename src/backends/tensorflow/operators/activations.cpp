// Activations.
#include "backends/tensorflow/tf_operator.h"

#include <numbers>

namespace deepgap {
namespace {

TfOutput scaled(TfScope& s, TfOutput x, double factor) { return s.binary("Mul", x, s.number(TfScope::type_of(x), factor)); }
TfOutput shifted(TfScope& s, TfOutput x, double summand) { return s.binary("AddV2", x, s.number(TfScope::type_of(x), summand)); }
TfOutput between(TfScope& s, TfOutput x, double low, double high) {
  const TfType type = TfScope::type_of(x);
  return s.binary("Minimum", s.binary("Maximum", x, s.number(type, low)), s.number(type, high));
}
TfOutput zero_like(TfScope& s, TfOutput x) { return s.unary("ZerosLike", x); }
TfOutput select(TfScope& s, TfOutput condition, TfOutput yes, TfOutput no) { return s.make("SelectV2").in(condition).in(yes).in(no).out(); }
TfOutput is_below(TfScope& s, TfOutput x, double value) { return s.binary("Less", x, s.number(TfScope::type_of(x), value)); }
TfOutput is_above(TfScope& s, TfOutput x, double value) { return s.binary("Greater", x, s.number(TfScope::type_of(x), value)); }

bool is_floating(TfOutput x) {
  const TfType type = TfScope::type_of(x);
  return type == TfType::f32 || type == TfType::f64 || type == TfType::f16 || type == TfType::bf16;
}

TfOutput mish(TfScope& s, TfOutput x) { return s.binary("Mul", x, s.unary("Tanh", s.unary("Softplus", x))); }
// Keras writes it so.
TfOutput hard_swish(TfScope& s, TfOutput x) { return s.binary("Mul", x, scaled(s, s.unary("Relu6", shifted(s, x, 3)), 1.0 / 6)); }

// exp(x) - 1 below zero, times `below`, with x divided by `divisor` there; x times `above` else.
TfOutput exponential_unit(TfScope& s, TfOutput x, double below, double divisor, double above) {
  const TfOutput negative = s.binary("Minimum", x, s.number(TfScope::type_of(x), 0));
  const TfOutput curve = scaled(s, s.unary("Expm1", divisor == 1 ? negative : scaled(s, negative, 1 / divisor)), below);
  return select(s, is_below(s, x, 0), curve, above == 1 ? x : scaled(s, x, above));
}

template <typename Function>
void apply(const TfCall& call, Function function) {
  const TfLayout layout = call.layout();
  call.out(0, function(call.scope, call.in(0, layout)), layout);
}

void elu(const TfCall& call) {
  const double alpha = call.float_of("alpha", 1);
  apply(call, [alpha](TfScope& s, TfOutput x) { return alpha == 1 ? s.unary("Elu", x) : exponential_unit(s, x, alpha, 1, 1); });
}

void celu(const TfCall& call) {
  const double alpha = call.float_of("alpha", 1);
  apply(call, [alpha](TfScope& s, TfOutput x) { return exponential_unit(s, x, alpha, alpha, 1); });
}

void selu(const TfCall& call) {
  const double alpha = call.float_of("alpha", 1.67326319217681884765625f), gamma = call.float_of("gamma", 1.05070102214813232421875f);
  apply(call, [=](TfScope& s, TfOutput x) { return exponential_unit(s, x, alpha * gamma, 1, gamma); });
}

void hard_sigmoid(const TfCall& call) {
  const double alpha = call.float_of("alpha", 0.2f), beta = call.float_of("beta", 0.5f);
  apply(call, [=](TfScope& s, TfOutput x) { return between(s, shifted(s, scaled(s, x, alpha), beta), 0, 1); });
}

void leaky_relu(const TfCall& call) {
  const double alpha = call.float_of("alpha", 0.01f);
  apply(call, [alpha](TfScope& s, TfOutput x) { return s.make("LeakyRelu").in(x).number("alpha", alpha).out(); });
}

void thresholded_relu(const TfCall& call) {
  const double alpha = call.float_of("alpha", 1);
  apply(call, [alpha](TfScope& s, TfOutput x) { return select(s, is_above(s, x, alpha), x, zero_like(s, x)); });
}

void shrink(const TfCall& call) {
  const double bias = call.float_of("bias", 0), lambda = call.float_of("lambd", 0.5f);
  // Whole numbers are computed in floating point, since bias and threshold may be fractions.
  apply(call, [=](TfScope& s, TfOutput given) {
    const TfOutput x = is_floating(given) ? given : s.cast(given, TfType::f64);
    const TfOutput above = select(s, is_above(s, x, lambda), shifted(s, x, -bias), zero_like(s, x));
    return s.cast(select(s, is_below(s, x, -lambda), shifted(s, x, bias), above), TfScope::type_of(given));
  });
}

TfOutput gelu_by_tanh(TfScope& s, TfOutput x) {
  const TfOutput cube = s.binary("Mul", s.binary("Mul", x, x), x);
  const TfOutput inner = scaled(s, s.binary("AddV2", x, scaled(s, cube, 0.044715)), std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
  return s.binary("Mul", scaled(s, x, 0.5), shifted(s, s.unary("Tanh", inner), 1));
}
TfOutput gelu_by_erf(TfScope& s, TfOutput x) {
  return s.binary("Mul", scaled(s, x, 0.5), shifted(s, s.unary("Erf", scaled(s, x, 1 / std::numbers::sqrt2)), 1));
}
void gelu(const TfCall& call) { call.text_of("approximate", "none") == "tanh" ? apply(call, gelu_by_tanh) : apply(call, gelu_by_erf); }

TfOutput slope_below(TfScope& s, TfOutput x, TfOutput slope) { return select(s, is_below(s, x, 0), s.binary("Mul", x, slope), x); }

const bool registered[] = {
    add_tf_operator("Celu", celu),
    add_tf_operator("Elu", elu),
    add_tf_operator("Gelu", gelu),
    add_tf_operator("HardSigmoid", hard_sigmoid),
    add_tf_operator("HardSwish", tf_unary<hard_swish>),
    add_tf_operator("LeakyRelu", leaky_relu),
    add_tf_operator("Mish", tf_unary<mish>),
    add_tf_operator("PRelu", tf_binary<slope_below>),
    add_tf_operator("Relu", tf_unary_as<"Relu">),
    add_tf_operator("Selu", selu),
    add_tf_operator("Shrink", shrink),
    add_tf_operator("Sigmoid", tf_unary_as<"Sigmoid">),
    add_tf_operator("Softplus", tf_unary_as<"Softplus">),
    add_tf_operator("Softsign", tf_unary_as<"Softsign">),
    add_tf_operator("Tanh", tf_unary_as<"Tanh">),
    add_tf_operator("ThresholdedRelu", thresholded_relu),
};

}  // namespace
}  // namespace deepgap
