// Arithmetic of each element, of one value or of several that are broadcast.
#include "backends/tensorflow/tf_operator.h"

#include <optional>

namespace deepgap {
namespace {

// Whole numbers are rounded towards zero.
TfOutput quotient(TfScope& s, TfOutput a, TfOutput b) {
  const DataType type = type_of_tf(TfScope::type_of(a));
  const bool is_float = type == DataType::f32 || type == DataType::f64 || type == DataType::f16 || type == DataType::bf16;
  return s.binary(is_float ? "RealDiv" : "TruncateDiv", a, b);
}

// The exponent may be of another type; the result has the base's.
TfOutput power(TfScope& s, TfOutput a, TfOutput b) {
  const TfType type = TfScope::type_of(a), other = TfScope::type_of(b);
  if (type == other) return s.binary("Pow", a, b);
  const bool whole = type == TfType::i32 || type == TfType::i64;
  const TfType common = whole && (other == TfType::f32 || other == TfType::f64) ? TfType::f64 : type;
  return s.cast(s.binary("Pow", s.cast(a, common), s.cast(b, common)), type);
}

// A bound that is an attribute, an input or left out.
std::optional<TfOutput> bound(const TfCall& call, const char* attribute, size_t input) {
  if (call.node.attributes.contains(attribute)) return call.scope.number(call.tf_type_of(0), call.float_of(attribute, 0));
  if (call.has(input)) return call.scope.reshape(call.in(input), {});
  return std::nullopt;
}

bool is_number(const TfCall& call, const char* attribute, size_t input, double value) {
  if (call.node.attributes.contains(attribute)) return call.float_of(attribute, 0) == value;
  return call.is_constant(input) && call.number(input) == value;
}

void clip(const TfCall& call) {
  const TfLayout layout = call.layout();
  TfOutput y = call.in(0, layout);
  // TensorFlow joins it with the convolution before.
  if (call.type(0) == DataType::f32 && is_number(call, "min", 1, 0) && is_number(call, "max", 2, 6))
    return call.out(0, call.scope.unary("Relu6", y), layout);
  if (const auto low = bound(call, "min", 1)) y = call.scope.binary("Maximum", y, *low);
  if (const auto high = bound(call, "max", 2)) y = call.scope.binary("Minimum", y, *high);
  call.out(0, y, layout);
}

void mean(const TfCall& call) {
  const TfLayout layout = call.aligned();
  TfOutput y = call.in_aligned(0, layout);
  for (size_t i = 1; i < call.node.inputs.size(); ++i) y = call.scope.binary("AddV2", y, call.in_aligned(i, layout));
  const TfOutput count = call.scope.number(TfScope::type_of(y), static_cast<double>(call.node.inputs.size()));
  call.out(0, call.scope.binary("RealDiv", y, count), layout);
}

void where(const TfCall& call) {
  const TfLayout layout = call.aligned();
  call.out(0,
           call.scope.make("SelectV2").in(call.in_aligned(0, layout)).in(call.in_aligned(1, layout)).in(call.in_aligned(2, layout)).out(),
           layout);
}

void is_infinite(const TfCall& call) {
  const bool positive = call.int_of("detect_positive", 1) != 0, negative = call.int_of("detect_negative", 1) != 0;
  const TfLayout layout = call.layout();
  const TfOutput x = call.in(0, layout), zero = call.scope.number(TfScope::type_of(x), 0);
  TfOutput y = call.scope.unary("IsInf", x);
  if (!positive) y = call.scope.binary("LogicalAnd", y, call.scope.binary("Less", x, zero));
  if (!negative) y = call.scope.binary("LogicalAnd", y, call.scope.binary("Greater", x, zero));
  call.out(0, y, layout);
}

void modulo(const TfCall& call) { call.int_of("fmod", 0) != 0 ? tf_binary_as<"TruncateMod">(call) : tf_binary_as<"FloorMod">(call); }

void bit_shift(const TfCall& call) {
  call.text_of("direction", "") == "LEFT" ? tf_binary_as<"LeftShift">(call) : tf_binary_as<"RightShift">(call);
}

const bool registered[] = {
    add_tf_operator("Abs", tf_unary_as<"Abs">),
    add_tf_operator("Acos", tf_unary_as<"Acos">),
    add_tf_operator("Acosh", tf_unary_as<"Acosh">),
    add_tf_operator("Add", tf_binary_as<"AddV2">),
    add_tf_operator("And", tf_binary_as<"LogicalAnd">),
    add_tf_operator("Asin", tf_unary_as<"Asin">),
    add_tf_operator("Asinh", tf_unary_as<"Asinh">),
    add_tf_operator("Atan", tf_unary_as<"Atan">),
    add_tf_operator("Atanh", tf_unary_as<"Atanh">),
    add_tf_operator("BitShift", bit_shift),
    add_tf_operator("BitwiseAnd", tf_binary_as<"BitwiseAnd">),
    add_tf_operator("BitwiseNot", tf_unary_as<"Invert">),
    add_tf_operator("BitwiseOr", tf_binary_as<"BitwiseOr">),
    add_tf_operator("BitwiseXor", tf_binary_as<"BitwiseXor">),
    add_tf_operator("Ceil", tf_unary_as<"Ceil">),
    add_tf_operator("Clip", clip),
    add_tf_operator("Cos", tf_unary_as<"Cos">),
    add_tf_operator("Cosh", tf_unary_as<"Cosh">),
    add_tf_operator("Div", tf_binary<quotient>),
    add_tf_operator("Equal", tf_binary_as<"Equal">),
    add_tf_operator("Erf", tf_unary_as<"Erf">),
    add_tf_operator("Exp", tf_unary_as<"Exp">),
    add_tf_operator("Floor", tf_unary_as<"Floor">),
    add_tf_operator("Greater", tf_binary_as<"Greater">),
    add_tf_operator("GreaterOrEqual", tf_binary_as<"GreaterEqual">),
    add_tf_operator("IsInf", is_infinite),
    add_tf_operator("IsNaN", tf_unary_as<"IsNan">),
    add_tf_operator("Less", tf_binary_as<"Less">),
    add_tf_operator("LessOrEqual", tf_binary_as<"LessEqual">),
    add_tf_operator("Log", tf_unary_as<"Log">),
    add_tf_operator("Max", tf_binary_as<"Maximum">),
    add_tf_operator("Mean", mean),
    add_tf_operator("Min", tf_binary_as<"Minimum">),
    add_tf_operator("Mod", modulo),
    add_tf_operator("Mul", tf_binary_as<"Mul">),
    add_tf_operator("Neg", tf_unary_as<"Neg">),
    add_tf_operator("Not", tf_unary_as<"LogicalNot">),
    add_tf_operator("Or", tf_binary_as<"LogicalOr">),
    add_tf_operator("Pow", tf_binary<power>),
    add_tf_operator("Reciprocal", tf_unary_as<"Reciprocal">),
    add_tf_operator("Round", tf_unary_as<"Rint">),
    add_tf_operator("Sign", tf_unary_as<"Sign">),
    add_tf_operator("Sin", tf_unary_as<"Sin">),
    add_tf_operator("Sinh", tf_unary_as<"Sinh">),
    add_tf_operator("Sqrt", tf_unary_as<"Sqrt">),
    add_tf_operator("Sub", tf_binary_as<"Sub">),
    add_tf_operator("Sum", tf_binary_as<"AddV2">),
    add_tf_operator("Tan", tf_unary_as<"Tan">),
    add_tf_operator("Where", where),
    add_tf_operator("Xor", tf_binary_as<"NotEqual">),
};

}  // namespace
}  // namespace deepgap
