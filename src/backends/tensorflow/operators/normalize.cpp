// Normalisations and softmax.
#include "backends/tensorflow/tf_operator.h"

#include <limits>
#include <numeric>
#include <vector>

namespace deepgap {
namespace {

using Ints = std::vector<int64_t>;

TfOutput plus(TfScope& s, TfOutput x, double summand) { return s.binary("AddV2", x, s.number(TfScope::type_of(x), summand)); }

// (x - mean) / sqrt(variance + epsilon) over these axes.
TfOutput standardized(TfScope& s, TfOutput x, const Ints& axes, double epsilon) {
  const TfOutput mean = s.reduce("Mean", x, axes, true);
  const TfOutput variance = s.reduce("Mean", s.binary("SquaredDifference", x, mean), axes, true);
  return s.binary("Mul", s.binary("Sub", x, mean), s.unary("Rsqrt", plus(s, variance, epsilon)));
}

// A number for each channel, beside a value with its channels first or last.
TfOutput beside(TfScope& s, TfOutput numbers, int64_t channels, const TfLayout& layout, size_t rank) {
  if (layout.last) return numbers;
  Shape shape(rank, 1);
  shape[1] = channels;
  return s.reshape(numbers, shape);
}

// Normalizes by the batch's own statistics, towards which the running ones move; the running variance is that of a sample.
void batch_norm_of_batch(const TfCall& call) {
  if (call.shape(0).size() != 4 || call.type(0) != DataType::f32) call.refuse("training normalises batches of float32 images alone");
  TfScope& s = call.scope;
  const double moves = 1 - call.float_of("momentum", 0.9f);
  // With a factor of 1 nothing is read of the running statistics, and the library wants none.
  const auto statistic = [&](size_t input) { return moves == 1 ? s.constant(make_tensor(DataType::f32, {0})) : call.in(input); };
  const TfOutput y = s.make("FusedBatchNormV3")
                         .in(call.in_last(0))
                         .in(call.in(1))
                         .in(call.in(2))
                         .in(statistic(3))
                         .in(statistic(4))
                         .number("epsilon", call.float_of("epsilon", 1e-5f))
                         .number("exponential_avg_factor", moves)
                         .flag("is_training", true)
                         .out();
  for (const int input : {3, 4}) call.values.replace(call.node.inputs[static_cast<size_t>(input)], {y.operation, input - 2});
  call.out_last(0, y);
}

void batch_norm(const TfCall& call) {
  call.expect_outputs(1);
  if (call.int_of("training_mode", 0) != 0) call.refuse("training_mode is not run");
  if (call.values.trains()) return batch_norm_of_batch(call);
  TfScope& s = call.scope;
  const double epsilon = call.float_of("epsilon", 1e-5f);
  const Shape shape = call.shape(0);
  if (shape.size() == 4 && call.type(0) == DataType::f32) {
    const TfOutput y = s.make("FusedBatchNormV3")
                           .in(call.in_last(0))
                           .in(call.in(1))
                           .in(call.in(2))
                           .in(call.in(3))
                           .in(call.in(4))
                           .number("epsilon", epsilon)
                           .flag("is_training", false)
                           .out();
    return call.out_last(0, y);
  }
  if (shape.size() < 2) call.refuse("an input without channels");
  const TfLayout layout = call.layout();
  const auto channel = [&](size_t input) { return beside(s, call.in(input), shape[1], layout, shape.size()); };
  const TfOutput factor = s.binary("Mul", s.unary("Rsqrt", plus(s, channel(4), epsilon)), channel(1));
  const TfOutput centered = s.binary("Sub", call.in(0, layout), channel(3));
  call.out(0, s.binary("AddV2", s.binary("Mul", centered, factor), channel(2)), layout);
}

void instance_norm(const TfCall& call) {
  TfScope& s = call.scope;
  const Shape shape = call.shape(0);
  if (shape.size() < 3) call.refuse("an input of fewer than three dimensions");
  const TfLayout layout = call.layout();
  Ints axes(shape.size() - 2);
  std::iota(axes.begin(), axes.end(), 2);
  const TfOutput y = standardized(s, call.in(0, layout), layout.axes(axes), call.float_of("epsilon", 1e-5f));
  const auto channel = [&](size_t input) { return beside(s, call.in(input), shape[1], layout, shape.size()); };
  call.out(0, s.binary("AddV2", s.binary("Mul", y, channel(1)), channel(2)), layout);
}

void layer_norm(const TfCall& call) {
  call.expect_outputs(1);
  TfScope& s = call.scope;
  const size_t rank = call.shape(0).size();
  const int64_t axis = call.axis(call.int_of("axis", -1), rank);
  Ints axes(rank - static_cast<size_t>(axis));
  std::iota(axes.begin(), axes.end(), axis);
  TfOutput y = standardized(s, call.in(0), axes, call.float_of("epsilon", 1e-5f));
  y = s.binary("Mul", y, call.in(1));
  call.out(0, call.has(2) ? s.binary("AddV2", y, call.in(2)) : y);
}

// Before opset 21 scale and bias are one for each group.
void group_norm(const TfCall& call) {
  TfScope& s = call.scope;
  const Shape shape = call.shape(0);
  const int64_t groups = call.int_of("num_groups", 0), channels = shape.at(1);
  if (groups < 1 || channels % groups != 0) call.refuse("num_groups is missing or does not divide the channels");
  Shape grouped{shape[0], groups, channels / groups};
  grouped.insert(grouped.end(), shape.begin() + 2, shape.end());
  Ints axes(grouped.size() - 2);
  std::iota(axes.begin(), axes.end(), 2);
  const TfOutput y = standardized(s, s.reshape(call.in(0), grouped), axes, call.float_of("epsilon", 1e-5f));
  Shape beside(grouped.size(), 1);
  beside[1] = groups;
  if (call.graph.opset >= 21) beside[2] = channels / groups;
  const TfOutput scaled = s.binary("Mul", y, s.reshape(call.in(1), beside));
  call.out(0, s.reshape(s.binary("AddV2", scaled, s.reshape(call.in(2), beside)), shape));
}

// Normalizes over each channel and its neighbours: sums of shifted squares, so that windows of even size run, too.
void lrn(const TfCall& call) {
  TfScope& s = call.scope;
  const Shape shape = call.shape(0);
  const int64_t size = call.int_of("size", 1);
  const double alpha = call.float_of("alpha", 1e-4f), beta = call.float_of("beta", 0.75f), bias = call.float_of("bias", 1);
  const TfOutput x = call.in(0);
  Ints begins(shape.size(), 0), ends(shape.size(), 0);
  begins[1] = (size - 1) / 2;
  ends[1] = size / 2;
  const TfOutput squares = s.pad(s.unary("Square", x), begins, ends, 0);
  TfOutput sum;
  for (int64_t i = 0; i < size; ++i) {
    Ints from(shape.size(), 0);
    from[1] = i;
    const TfOutput part = s.slice(squares, from, shape);
    sum = i == 0 ? part : s.binary("AddV2", sum, part);
  }
  const TfType type = TfScope::type_of(x);
  const TfOutput base = plus(s, s.binary("Mul", sum, s.number(type, alpha / static_cast<double>(size))), bias);
  call.out(0, s.binary("RealDiv", x, s.binary("Pow", base, s.number(type, beta))));
}

void lp_norm(const TfCall& call) {
  TfScope& s = call.scope;
  const int64_t p = call.int_of("p", 2), axis = call.axis(call.int_of("axis", -1), call.shape(0).size());
  if (p != 1 && p != 2) call.refuse("p is neither 1 nor 2");
  const TfOutput x = call.in(0);
  const TfOutput norm =
      p == 1 ? s.reduce("Sum", s.unary("Abs", x), {axis}, true) : s.unary("Sqrt", s.reduce("Sum", s.unary("Square", x), {axis}, true));
  const TfOutput least = s.number(TfScope::type_of(x), std::numeric_limits<float>::min());  // a line of zeros stays one
  call.out(0, s.binary("RealDiv", x, s.binary("Maximum", norm, least)));
}

void mean_variance_norm(const TfCall& call) {
  TfScope& s = call.scope;
  const Ints axes = call.ints_of("axes", {0, 2, 3});
  const TfOutput centered = s.binary("Sub", call.in(0), s.reduce("Mean", call.in(0), axes, true));
  const TfOutput deviation = s.unary("Sqrt", s.reduce("Mean", s.unary("Square", centered), axes, true));
  call.out(0, s.binary("RealDiv", centered, plus(s, deviation, 1e-9)));
}

// The axis that is normalised comes last; before opset 13 all dimensions from the axis on are one row.
template <typename Function>
void of_rows(const TfCall& call, Function function) {
  TfScope& s = call.scope;
  const bool old = call.graph.opset < 13;
  const Shape shape = call.shape(0);
  const int64_t axis = call.axis(call.int_of("axis", old ? 1 : -1), shape.size());
  if (old) {
    const int64_t columns = element_count(std::span(shape).subspan(static_cast<size_t>(axis)));
    const int64_t rows = element_count(std::span(shape).first(static_cast<size_t>(axis)));
    return call.out(0, s.reshape(function(s.reshape(call.in(0), {rows, columns}), columns), shape));
  }
  Ints order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<size_t>(axis)], order.back());
  call.out(0, s.transpose(function(s.transpose(call.in(0), order), shape[static_cast<size_t>(axis)]), order));
}

void softmax(const TfCall& call) {
  of_rows(call, [&](TfOutput x, int64_t) { return call.scope.unary("Softmax", x); });
}
void log_softmax(const TfCall& call) {
  of_rows(call, [&](TfOutput x, int64_t) { return call.scope.unary("LogSoftmax", x); });
}
void hardmax(const TfCall& call) {
  TfScope& s = call.scope;
  of_rows(call, [&](TfOutput x, int64_t columns) {
    const TfType type = TfScope::type_of(x);
    const TfOutput place = s.binary("ArgMax", x, s.index(-1));
    return s.make("OneHot").in(place).in(s.index(columns)).in(s.number(type, 1)).in(s.number(type, 0)).out();
  });
}

const bool registered[] = {
    add_tf_operator("BatchNormalization", batch_norm),
    add_tf_operator("GroupNormalization", group_norm),
    add_tf_operator("Hardmax", hardmax),
    add_tf_operator("InstanceNormalization", instance_norm),
    add_tf_operator("LRN", lrn),
    add_tf_operator("LayerNormalization", layer_norm),
    add_tf_operator("LogSoftmax", log_softmax),
    add_tf_operator("LpNormalization", lp_norm),
    add_tf_operator("MeanVarianceNormalization", mean_variance_norm),
    add_tf_operator("Softmax", softmax),
};

}  // namespace
}  // namespace deepgap
