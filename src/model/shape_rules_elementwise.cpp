// Operators whose result has the shape of an input, or of their inputs broadcast.
#include "model/shape_rules.h"

#include <algorithm>
#include <cstdint>

namespace deepgap {

void same_as_input(ShapeContext& context) {
  context.set(0, context.type(0), context.dims(0));
  if (auto content = context.carried(0)) context.carry(0, std::move(*content));
}

namespace {

using Combine = std::optional<Dim> (*)(const Dim&, const Dim&);

std::optional<Dim> subtract(const Dim& a, const Dim& b) {
  if (b.size == INT64_MIN) return std::nullopt;
  return add(a, Dim{-b.size, b.symbol});
}
std::optional<Dim> divide_dims(const Dim& a, const Dim& b) {
  if (a == b && a.size != 0) return fixed_dim(1);
  if (!b.known() || b.size == 0) return std::nullopt;
  if (a.known() && !(a.size == INT64_MIN && b.size == -1)) return fixed_dim(a.size / b.size);
  return divide(a, b.size);
}
std::optional<Dim> equal(const Dim& a, const Dim& b) {
  if (a.known() != b.known()) return std::nullopt;
  if (!a.known() && a != b) return std::nullopt;
  return fixed_dim(a == b ? 1 : 0);
}

// Element by element over contents of one length, or of length 1; nothing where one element is not known.
std::optional<std::vector<Dim>> combine(const std::vector<Dim>& a, const std::vector<Dim>& b, Combine work) {
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) return std::nullopt;
  const size_t count = a.empty() || b.empty() ? 0 : std::max(a.size(), b.size());
  std::vector<Dim> result;
  for (size_t i = 0; i < count; ++i) {
    auto value = work(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
    if (!value) return std::nullopt;
    result.push_back(std::move(*value));
  }
  return result;
}

void carry_combined(ShapeContext& context, Combine work) {
  const auto a = context.carried(0), b = context.carried(1);
  if (!a || !b) return;
  if (auto result = combine(*a, *b, work)) context.carry(0, std::move(*result));
}

// For what changes the elements: contents do not pass.
void same_shape(ShapeContext& context) { context.set(0, context.type(0), context.dims(0)); }

void negate(ShapeContext& context) {
  same_shape(context);
  const auto content = context.carried(0);
  if (!content) return;
  if (auto negated = combine({fixed_dim(0)}, *content, subtract)) context.carry(0, std::move(*negated));
}

void arithmetic(ShapeContext& context) {
  if (context.type(0) != context.type(1)) context.fail("its two inputs differ in type");
  context.set(0, context.type(0), context.broadcast(context.dims(0), context.dims(1), 0));
}

template <Combine work>
void arithmetic_with_content(ShapeContext& context) {
  arithmetic(context);
  carry_combined(context, work);
}

void power(ShapeContext& context) { context.set(0, context.type(0), context.broadcast(context.dims(0), context.dims(1), 0)); }
void compare(ShapeContext& context) { context.set(0, DataType::boolean, context.broadcast(context.dims(0), context.dims(1), 0)); }
void compare_equal(ShapeContext& context) {
  compare(context);
  carry_combined(context, equal);
}

void variadic(ShapeContext& context) {
  std::optional<Dims> dims = context.dims(0);
  for (size_t i = 1; i < context.node.inputs.size(); ++i) {
    if (context.type(i) != context.type(0)) context.fail("its inputs differ in type");
    dims = context.broadcast(dims, context.dims(i), 0);
  }
  context.set(0, context.type(0), std::move(dims));
}

void where(ShapeContext& context) {
  if (context.type(1) != context.type(2)) context.fail("its two choices differ in type");
  const auto choices = context.broadcast(context.dims(1), context.dims(2), 0);
  context.set(0, context.type(1), context.broadcast(context.dims(0), choices, 0));
  const auto condition = context.known_integers(0);
  const auto yes = context.carried(1), no = context.carried(2);
  if (!condition || !yes || !no) return;
  const size_t count = std::max({condition->size(), yes->size(), no->size()});
  const auto fits = [&](size_t size) { return size == count || size == 1; };
  if (!fits(condition->size()) || !fits(yes->size()) || !fits(no->size())) return;
  std::vector<Dim> result;
  for (size_t i = 0; i < count; ++i) {
    const auto& from = (*condition)[condition->size() == 1 ? 0 : i] != 0 ? *yes : *no;
    result.push_back(from[from.size() == 1 ? 0 : i]);
  }
  context.carry(0, std::move(result));
}

void is_something(ShapeContext& context) { context.set(0, DataType::boolean, context.dims(0)); }

void dropout(ShapeContext& context) {
  same_as_input(context);
  context.set(1, context.graph.opset >= 10 ? DataType::boolean : context.type(0), context.dims(0));
}

void p_relu(ShapeContext& context) {
  const auto both = context.broadcast(context.dims(0), context.dims(1), 0);
  if (both && context.dims(0) && both->size() > context.dims(0)->size()) context.fail("the slope has a higher rank than the input");
  context.set(0, context.type(0), context.dims(0));
}

const bool registered = add_shape_rules({
    {"Abs", same_shape},
    {"Acos", same_shape},
    {"Acosh", same_shape},
    {"Asin", same_shape},
    {"Asinh", same_shape},
    {"Atan", same_shape},
    {"Atanh", same_shape},
    {"BitwiseNot", same_shape},
    {"Ceil", same_shape},
    {"Celu", same_shape},
    {"Clip", same_shape},
    {"Cos", same_shape},
    {"Cosh", same_shape},
    {"CumProd", same_shape},
    {"CumSum", same_shape},
    {"Elu", same_shape},
    {"Erf", same_shape},
    {"Exp", same_shape},
    {"Floor", same_shape},
    {"Gelu", same_shape},
    {"HardSigmoid", same_shape},
    {"HardSwish", same_shape},
    {"Hardmax", same_shape},
    {"Identity", same_as_input},
    {"OptionalGetElement", same_as_input},
    {"OptionalHasElement", [](ShapeContext& context) { context.set(0, DataType::boolean, Dims{}); }},
    {"LRN", same_shape},
    {"LeakyRelu", same_shape},
    {"Log", same_shape},
    {"LogSoftmax", same_shape},
    {"LpNormalization", same_shape},
    {"Mish", same_shape},
    {"Neg", negate},
    {"Not", same_shape},
    {"Reciprocal", same_shape},
    {"Relu", same_shape},
    {"Round", same_shape},
    {"ScatterElements", same_shape},
    {"ScatterND", same_shape},
    {"Selu", same_shape},
    {"Shrink", same_shape},
    {"Sigmoid", same_shape},
    {"Sign", same_shape},
    {"Sin", same_shape},
    {"Sinh", same_shape},
    {"Softmax", same_shape},
    {"Softplus", same_shape},
    {"Softsign", same_shape},
    {"Sqrt", same_shape},
    {"Tan", same_shape},
    {"Tanh", same_shape},
    {"ThresholdedRelu", same_shape},
    {"Trilu", same_shape},
    {"MeanVarianceNormalization", same_shape},
    {"Dropout", dropout},
    {"PRelu", p_relu},
    {"IsNaN", is_something},
    {"IsInf", is_something},
    {"Add", arithmetic_with_content<add>},
    {"Sub", arithmetic_with_content<subtract>},
    {"Mul", arithmetic_with_content<multiply>},
    {"Div", arithmetic_with_content<divide_dims>},
    {"Mod", arithmetic},
    {"Pow", power},
    {"BitShift", arithmetic},
    {"BitwiseAnd", arithmetic},
    {"BitwiseOr", arithmetic},
    {"BitwiseXor", arithmetic},
    {"And", compare},
    {"Or", compare},
    {"Xor", compare},
    {"Equal", compare_equal},
    {"Less", compare},
    {"Greater", compare},
    {"LessOrEqual", compare},
    {"GreaterOrEqual", compare},
    {"Sum", variadic},
    {"Max", variadic},
    {"Min", variadic},
    {"Mean", variadic},
    {"Where", where},
});

}  // namespace

}  // namespace deepgap
