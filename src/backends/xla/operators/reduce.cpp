// Reductions over axes, normalisations and softmax. Sums of 16-bit numbers are computed in float32.
#include "backends/xla/xla_operator.h"

#include <limits>
#include <numeric>
#include <span>

namespace deepgap {
namespace {

using Ints = std::vector<int64_t>;
constexpr double infinity = std::numeric_limits<double>::infinity();

double count_of(const HloValue& x, const Ints& axes) {
  double count = 1;
  for (const int64_t axis : axes) count *= static_cast<double>(x.shape[static_cast<size_t>(axis)]);
  return count;
}
HloValue square(HloWriter& h, const HloValue& x) { return h.binary("multiply", x, x); }
HloValue sum(HloWriter& h, const HloValue& x, const Ints& axes, bool keep) { return h.reduce("add", x, 0, axes, keep); }
HloValue mean(HloWriter& h, const HloValue& x, const Ints& axes, bool keep) {
  return h.binary("divide", sum(h, x, axes, keep), count_of(x, axes));
}
HloValue absolute_sum(HloWriter& h, const HloValue& x, const Ints& axes, bool keep) { return sum(h, h.unary("abs", x), axes, keep); }
HloValue square_sum(HloWriter& h, const HloValue& x, const Ints& axes, bool keep) { return sum(h, square(h, x), axes, keep); }
HloValue euclidean(HloWriter& h, const HloValue& x, const Ints& axes, bool keep) { return h.unary("sqrt", square_sum(h, x, axes, keep)); }
HloValue log_sum(HloWriter& h, const HloValue& x, const Ints& axes, bool keep) { return h.unary("log", sum(h, x, axes, keep)); }
HloValue product(HloWriter& h, const HloValue& x, const Ints& axes, bool keep) { return h.reduce("multiply", x, 1, axes, keep); }
HloValue maximum(HloWriter& h, const HloValue& x, const Ints& axes, bool keep) { return h.reduce("maximum", x, -infinity, axes, keep); }
HloValue minimum(HloWriter& h, const HloValue& x, const Ints& axes, bool keep) { return h.reduce("minimum", x, infinity, axes, keep); }
// The largest goes out before and comes back after, so that nothing overflows.
HloValue log_sum_exp(HloWriter& h, const HloValue& x, const Ints& axes, bool keep) {
  const HloValue raw = maximum(h, x, axes, true),
                 largest = h.select(h.operation("is_finite", {raw}, DataType::boolean, raw.shape), raw, h.number(x.type, 0));
  const HloValue logs = h.unary("log", sum(h, h.unary("exponential", h.binary("subtract", x, largest)), axes, keep));
  return h.binary("add", logs, h.reshape(largest, logs.shape));
}

using Reduction = HloValue (*)(HloWriter& h, const HloValue& x, const Ints& axes, bool keep);
template <Reduction function>
void reduce(const XlaCall& call) {
  if (!call.is_float(0)) call.refuse("a reduction of integers");
  const Ints axes = reduced_axes(call, call.shape(0).size());
  const bool keep = call.int_of("keepdims", 1) != 0;
  call.out_of_float32([&](const HloValue& x) { return function(call.hlo, x, axes, keep); });
}
template <Reduction function>
void reduce_to_extreme(const XlaCall& call) {
  const Shape shape = call.shape(0);
  for (const int64_t axis : reduced_axes(call, shape.size()))
    if (shape[static_cast<size_t>(axis)] == 0) call.refuse("its axis has no elements");
  reduce<function>(call);
}

// (x - mean) / sqrt(variance + epsilon) over these axes.
HloValue standardized(HloWriter& h, const HloValue& x, const Ints& axes, double epsilon) {
  const HloValue centered = h.binary("subtract", x, mean(h, x, axes, true));
  const HloValue variance = mean(h, square(h, centered), axes, true);
  return h.binary("multiply", centered, h.unary("rsqrt", h.binary("add", variance, epsilon)));
}

// A number for each channel beside x, which has float32 while it is normalised.
HloValue beside(const XlaCall& call, size_t input, const HloValue& x) {
  return call.hlo.broadcast(call.hlo.convert(call.in(input), x.type), x.shape, {1});
}

void batch_norm(const XlaCall& call) {
  call.expect_outputs(1);
  if (call.int_of("training_mode", 0) != 0) call.refuse("training_mode is not run");
  if (call.shape(0).size() < 2) call.refuse("an input without channels");
  HloWriter& h = call.hlo;
  const double epsilon = call.float_of("epsilon", 1e-5f);
  call.out_of_float32([&](const HloValue& x) {
    const auto numbers = [&](size_t input) { return h.convert(call.in(input), x.type); };
    const HloValue factor = h.binary("multiply", h.unary("rsqrt", h.binary("add", numbers(4), epsilon)), numbers(1));
    const HloValue summand = h.binary("subtract", numbers(2), h.binary("multiply", numbers(3), factor));
    return h.binary("add", h.binary("multiply", x, h.broadcast(factor, x.shape, {1})), h.broadcast(summand, x.shape, {1}));
  });
}

void instance_norm(const XlaCall& call) {
  HloWriter& h = call.hlo;
  if (call.shape(0).size() < 3) call.refuse("an input of fewer than three dimensions");
  Ints axes(call.shape(0).size() - 2);
  std::iota(axes.begin(), axes.end(), 2);
  call.out_of_float32([&](const HloValue& x) {
    const HloValue y = standardized(h, x, axes, call.float_of("epsilon", 1e-5f));
    return h.binary("add", h.binary("multiply", y, beside(call, 1, x)), beside(call, 2, x));
  });
}

void layer_norm(const XlaCall& call) {
  call.expect_outputs(1);
  HloWriter& h = call.hlo;
  const size_t rank = call.shape(0).size();
  const int64_t axis = call.axis(call.int_of("axis", -1), rank);
  Ints axes(rank - static_cast<size_t>(axis));
  std::iota(axes.begin(), axes.end(), axis);
  call.out_of_float32([&](const HloValue& x) {
    HloValue y = standardized(h, x, axes, call.float_of("epsilon", 1e-5f));
    y = h.binary("multiply", y, h.convert(call.in(1), x.type));
    return call.has(2) ? h.binary("add", y, h.convert(call.in(2), x.type)) : y;
  });
}

// Before opset 21 scale and bias are one for each group.
void group_norm(const XlaCall& call) {
  HloWriter& h = call.hlo;
  const Shape shape = call.shape(0);
  const int64_t groups = call.int_of("num_groups", 0), channels = shape.at(1);
  if (groups < 1 || channels % groups != 0) call.refuse("num_groups is missing or does not divide the channels");
  Shape grouped{shape[0], groups, channels / groups}, numbers(shape.size() + 1, 1);
  grouped.insert(grouped.end(), shape.begin() + 2, shape.end());
  numbers[1] = groups;
  if (call.graph.opset >= 21) numbers[2] = channels / groups;
  Ints axes(grouped.size() - 2);
  std::iota(axes.begin(), axes.end(), 2);
  call.out_of_float32([&](const HloValue& x) {
    const auto number = [&](size_t input) { return h.reshape(h.convert(call.in(input), x.type), numbers); };
    const HloValue y = standardized(h, h.reshape(x, grouped), axes, call.float_of("epsilon", 1e-5f));
    return h.reshape(h.binary("add", h.binary("multiply", y, number(1)), number(2)), shape);
  });
}

// Normalizes over each channel and its neighbours.
void lrn(const XlaCall& call) {
  HloWriter& h = call.hlo;
  const int64_t size = call.int_of("size", 1);
  const double alpha = call.float_of("alpha", 1e-4f), beta = call.float_of("beta", 0.75f), bias = call.float_of("bias", 1);
  call.out_of_float32([&](const HloValue& x) {
    HloWriter::Window window{Ints(x.shape.size(), 1), Ints(x.shape.size(), 1), Ints(x.shape.size(), 1), Ints(x.shape.size(), 0),
                             Ints(x.shape.size(), 0)};
    window.size[1] = size;
    window.begins[1] = (size - 1) / 2;
    window.ends[1] = size / 2;
    const HloValue sums = h.reduce_window("add", square(h, x), 0, window);
    const HloValue base = h.binary("add", h.binary("multiply", sums, alpha / static_cast<double>(size)), bias);
    return h.binary("divide", x, h.binary("power", base, beta));
  });
}

// Along one axis; before opset 13 all dimensions from the axis on are one row.
void of_rows(const XlaCall& call, HloValue (*function)(HloWriter& h, const HloValue& x, const Ints& axes)) {
  const bool old = call.graph.opset < 13;
  const size_t rank = call.shape(0).size();
  const int64_t axis = call.axis(call.int_of("axis", old ? 1 : -1), rank);
  Ints axes{axis};
  for (int64_t i = axis + 1; old && i < static_cast<int64_t>(rank); ++i) axes.push_back(i);
  call.out_of_float32([&](const HloValue& x) { return function(call.hlo, x, axes); });
}
HloValue without_largest(HloWriter& h, const HloValue& x, const Ints& axes) { return h.binary("subtract", x, maximum(h, x, axes, true)); }
void softmax(const XlaCall& call) {
  of_rows(call, [](HloWriter& h, const HloValue& x, const Ints& axes) {
    const HloValue powers = h.unary("exponential", without_largest(h, x, axes));
    return h.binary("divide", powers, sum(h, powers, axes, true));
  });
}
void log_softmax(const XlaCall& call) {
  of_rows(call, [](HloWriter& h, const HloValue& x, const Ints& axes) {
    const HloValue rest = without_largest(h, x, axes);
    return h.binary("subtract", rest, log_sum(h, h.unary("exponential", rest), axes, true));
  });
}

const bool registered[] = {
    add_xla_operator("BatchNormalization", batch_norm),
    add_xla_operator("GroupNormalization", group_norm),
    add_xla_operator("InstanceNormalization", instance_norm),
    add_xla_operator("LRN", lrn),
    add_xla_operator("LayerNormalization", layer_norm),
    add_xla_operator("LogSoftmax", log_softmax),
    add_xla_operator("ReduceL1", reduce<absolute_sum>),
    add_xla_operator("ReduceL2", reduce<euclidean>),
    add_xla_operator("ReduceLogSum", reduce<log_sum>),
    add_xla_operator("ReduceLogSumExp", reduce_to_extreme<log_sum_exp>),
    add_xla_operator("ReduceMax", reduce_to_extreme<maximum>),
    add_xla_operator("ReduceMean", reduce<mean>),
    add_xla_operator("ReduceMin", reduce_to_extreme<minimum>),
    add_xla_operator("ReduceProd", reduce<product>),
    add_xla_operator("ReduceSum", reduce<sum>),
    add_xla_operator("ReduceSumSquare", reduce<square_sum>),
    add_xla_operator("Softmax", softmax),
};

}  // namespace
}  // namespace deepgap
