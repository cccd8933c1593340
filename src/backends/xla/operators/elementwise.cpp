// Arithmetic of each element, of one value or of several that are broadcast, and activations.
#include "backends/xla/xla_operator.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace deepgap {
namespace {

// The name of an operation, as an argument of templates.
template <size_t Size>
struct HloName {
  char text[Size]{};
  constexpr HloName(const char (&given)[Size]) { std::copy_n(given, Size, text); }  // NOLINT(google-explicit-constructor)
};
template <HloName name>
void unary(const XlaCall& call) {
  call.out(0, call.hlo.unary(name.text, call.in(0)));
}
template <HloName name>
void binary(const XlaCall& call) {
  HloValue y = call.in(0);
  for (size_t i = 1; i < call.node.inputs.size(); ++i) y = call.hlo.binary(name.text, y, call.in(i));
  call.out(0, y);
}
template <HloName direction>
void comparison(const XlaCall& call) {
  call.out(0, call.hlo.compare(direction.text, call.in(0), call.in(1)));
}

using Function = HloValue (*)(HloWriter& h, const HloValue& x);
template <Function function>
void of(const XlaCall& call) {
  call.out(0, function(call.hlo, call.in(0)));
}

HloValue between(HloWriter& h, const HloValue& x, double low, double high) {
  return h.binary("minimum", h.binary("maximum", x, low), high);
}
HloValue relu(HloWriter& h, const HloValue& x) { return h.binary("maximum", x, 0); }
HloValue reciprocal(HloWriter& h, const HloValue& x) { return h.binary("divide", h.number(x.type, 1), x); }
HloValue erf(HloWriter& h, const HloValue& x) { return h.operation("chlo.erf", {x}, x.type, x.shape); }
HloValue is_nan(HloWriter& h, const HloValue& x) { return h.compare("NE", x, x); }
HloValue hard_swish(HloWriter& h, const HloValue& x) {
  return h.binary("multiply", x, h.binary("multiply", between(h, h.binary("add", x, 3), 0, 6), 1.0 / 6));
}
// log(1 + exp(x)), without overflow.
HloValue softplus(HloWriter& h, const HloValue& x) {
  const HloValue tail = h.unary("log_plus_one", h.unary("exponential", h.unary("negate", h.unary("abs", x))));
  return h.binary("add", relu(h, x), tail);
}
HloValue softsign(HloWriter& h, const HloValue& x) { return h.binary("divide", x, h.binary("add", h.unary("abs", x), 1)); }
HloValue mish(HloWriter& h, const HloValue& x) { return h.binary("multiply", x, h.unary("tanh", softplus(h, x))); }

bool has_sign(const HloValue& x) { return x.type < DataType::u8; }
HloValue absolute(HloWriter& h, const HloValue& x) { return has_sign(x) ? h.unary("abs", x) : x; }
HloValue sign(HloWriter& h, const HloValue& x) { return has_sign(x) ? h.unary("sign", x) : h.binary("minimum", x, 1); }

// `below` of what lies below zero, x times `above` else.
HloValue by_sign(HloWriter& h, const HloValue& x, const HloValue& below, double above) {
  return h.select(h.compare("LT", x, h.number(x.type, 0)), below, above == 1 ? x : h.binary("multiply", x, above));
}
void exponential_unit(const XlaCall& call, double below, double divisor, double above) {
  HloWriter& h = call.hlo;
  const HloValue x = call.in(0);
  const HloValue negative = h.binary("minimum", x, 0);
  const HloValue curve = h.unary("exponential_minus_one", divisor == 1 ? negative : h.binary("multiply", negative, 1 / divisor));
  call.out(0, by_sign(h, x, h.binary("multiply", curve, below), above));
}
void elu(const XlaCall& call) { exponential_unit(call, call.float_of("alpha", 1), 1, 1); }
void celu(const XlaCall& call) {
  const double alpha = call.float_of("alpha", 1);
  exponential_unit(call, alpha, alpha, 1);
}
void selu(const XlaCall& call) {
  const double alpha = call.float_of("alpha", 1.67326319217681884765625f), gamma = call.float_of("gamma", 1.05070102214813232421875f);
  exponential_unit(call, alpha * gamma, 1, gamma);
}
void leaky_relu(const XlaCall& call) {
  const HloValue x = call.in(0);
  call.out(0, by_sign(call.hlo, x, call.hlo.binary("multiply", x, call.float_of("alpha", 0.01f)), 1));
}
void prelu(const XlaCall& call) {
  const HloValue x = call.in(0);
  call.out(0, by_sign(call.hlo, x, call.hlo.binary("multiply", x, call.in(1)), 1));
}
void thresholded_relu(const XlaCall& call) {
  HloWriter& h = call.hlo;
  const HloValue x = call.in(0), zero = h.number(x.type, 0);
  call.out(0, h.select(h.compare("GT", x, h.number(x.type, call.float_of("alpha", 1))), x, zero));
}
void hard_sigmoid(const XlaCall& call) {
  HloWriter& h = call.hlo;
  const HloValue line = h.binary("add", h.binary("multiply", call.in(0), call.float_of("alpha", 0.2f)), call.float_of("beta", 0.5f));
  call.out(0, between(h, line, 0, 1));
}
void gelu(const XlaCall& call) {
  HloWriter& h = call.hlo;
  const HloValue x = call.in(0), half = h.binary("multiply", x, 0.5);
  HloValue curve;
  if (call.text_of("approximate", "none") == "tanh") {
    const HloValue cube = h.binary("multiply", h.binary("multiply", x, x), x);
    const HloValue inner = h.binary("add", x, h.binary("multiply", cube, 0.044715));
    curve = h.unary("tanh", h.binary("multiply", inner, std::numbers::sqrt2 * std::numbers::inv_sqrtpi));
  } else {
    curve = erf(h, h.binary("multiply", x, 1 / std::numbers::sqrt2));
  }
  call.out(0, h.binary("multiply", half, h.binary("add", curve, 1)));
}

// The exponent may be of another type; the result has the base's.
void power(const XlaCall& call) {
  HloWriter& h = call.hlo;
  const HloValue x = call.in(0), exponent = call.in(1);
  const DataType common = is_floating(exponent.type) && !is_floating(x.type) ? exponent.type : x.type;
  call.out(0, h.convert(h.binary("power", h.convert(x, common), h.convert(exponent, common)), x.type));
}

void mean(const XlaCall& call) {
  HloValue y = call.in(0);
  for (size_t i = 1; i < call.node.inputs.size(); ++i) y = call.hlo.binary("add", y, call.in(i));
  call.out(0, call.hlo.binary("divide", y, static_cast<double>(call.node.inputs.size())));
}

void clip(const XlaCall& call) {
  HloWriter& h = call.hlo;
  HloValue y = call.in(0);
  const auto bound = [&](const char* attribute, size_t input, const char* keep) {
    if (call.node.attributes.contains(attribute)) y = h.binary(keep, y, call.float_of(attribute, 0));
    if (call.has(input)) y = h.binary(keep, y, h.reshape(call.in(input), {}));
  };
  bound("min", 1, "maximum");
  bound("max", 2, "minimum");
  call.out(0, y);
}

void where(const XlaCall& call) { call.out(0, call.hlo.select(call.in(0), call.in(1), call.in(2))); }

// C's fmod has the sign of the dividend, Python's of the divisor.
void modulo(const XlaCall& call) {
  HloWriter& h = call.hlo;
  const HloValue a = call.in(0), b = call.in(1), rest = h.binary("remainder", a, b);
  if (call.int_of("fmod", 0) != 0) return call.out(0, rest);
  const HloValue zero = h.number(a.type, 0);
  const HloValue other_sign = h.compare("NE", h.compare("LT", rest, zero), h.compare("LT", b, zero));
  const HloValue wrong = h.binary("and", other_sign, h.compare("NE", rest, zero));
  call.out(0, h.select(wrong, h.binary("add", rest, b), rest));
}

void cast(const XlaCall& call) {
  HloWriter& h = call.hlo;
  const HloValue x = call.in(0);
  const DataType type = call.computed_output();
  // A conversion would only see the last bit of a whole number.
  call.out(0, type == DataType::boolean ? h.compare("NE", x, h.number(x.type, 0)) : h.convert(x, type));
}

const bool registered[] = {
    add_xla_operator("Abs", of<absolute>),
    add_xla_operator("Add", binary<"add">),
    add_xla_operator("And", binary<"and">),
    add_xla_operator("Cast", cast),
    add_xla_operator("CastLike", cast),
    add_xla_operator("Ceil", unary<"ceil">),
    add_xla_operator("Celu", celu),
    add_xla_operator("Clip", clip),
    add_xla_operator("Cos", unary<"cosine">),
    add_xla_operator("Div", binary<"divide">),
    add_xla_operator("Elu", elu),
    add_xla_operator("Equal", comparison<"EQ">),
    add_xla_operator("Erf", of<erf>),
    add_xla_operator("Exp", unary<"exponential">),
    add_xla_operator("Floor", unary<"floor">),
    add_xla_operator("Gelu", gelu),
    add_xla_operator("Greater", comparison<"GT">),
    add_xla_operator("GreaterOrEqual", comparison<"GE">),
    add_xla_operator("HardSigmoid", hard_sigmoid),
    add_xla_operator("HardSwish", of<hard_swish>),
    add_xla_operator("IsNaN", of<is_nan>),
    add_xla_operator("LeakyRelu", leaky_relu),
    add_xla_operator("Less", comparison<"LT">),
    add_xla_operator("LessOrEqual", comparison<"LE">),
    add_xla_operator("Log", unary<"log">),
    add_xla_operator("Max", binary<"maximum">),
    add_xla_operator("Mean", mean),
    add_xla_operator("Min", binary<"minimum">),
    add_xla_operator("Mish", of<mish>),
    add_xla_operator("Mod", modulo),
    add_xla_operator("Mul", binary<"multiply">),
    add_xla_operator("Neg", unary<"negate">),
    add_xla_operator("Not", unary<"not">),
    add_xla_operator("Or", binary<"or">),
    add_xla_operator("PRelu", prelu),
    add_xla_operator("Pow", power),
    add_xla_operator("Reciprocal", of<reciprocal>),
    add_xla_operator("Relu", of<relu>),
    add_xla_operator("Round", unary<"round_nearest_even">),
    add_xla_operator("Selu", selu),
    add_xla_operator("Sigmoid", unary<"logistic">),
    add_xla_operator("Sign", of<sign>),
    add_xla_operator("Sin", unary<"sine">),
    add_xla_operator("Softplus", of<softplus>),
    add_xla_operator("Softsign", of<softsign>),
    add_xla_operator("Sqrt", unary<"sqrt">),
    add_xla_operator("Sub", binary<"subtract">),
    add_xla_operator("Sum", binary<"add">),
    add_xla_operator("Tanh", unary<"tanh">),
    add_xla_operator("ThresholdedRelu", thresholded_relu),
    add_xla_operator("Where", where),
    add_xla_operator("Xor", binary<"xor">),
};

}  // namespace
}  // namespace deepgap
