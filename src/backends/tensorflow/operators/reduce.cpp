// Reductions over axes, sums that run along one, and the largest or smallest values of one.
#include "backends/tensorflow/tf_operator.h"

#include <numeric>
#include <utility>

namespace deepgap {
namespace {

using Ints = std::vector<int64_t>;
using Reduction = TfOutput (*)(TfScope& s, TfOutput x, const Ints& axes, bool keep);

TfOutput sum(TfScope& s, TfOutput x, const Ints& axes, bool keep) { return s.reduce("Sum", x, axes, keep); }
TfOutput absolute_sum(TfScope& s, TfOutput x, const Ints& axes, bool keep) { return sum(s, s.unary("Abs", x), axes, keep); }
TfOutput square_sum(TfScope& s, TfOutput x, const Ints& axes, bool keep) { return sum(s, s.unary("Square", x), axes, keep); }
TfOutput maximum(TfScope& s, TfOutput x, const Ints& axes, bool keep) { return s.reduce("Max", x, axes, keep); }
TfOutput minimum(TfScope& s, TfOutput x, const Ints& axes, bool keep) { return s.reduce("Min", x, axes, keep); }
TfOutput product(TfScope& s, TfOutput x, const Ints& axes, bool keep) { return s.reduce("Prod", x, axes, keep); }

bool is_whole(TfOutput x) {
  const TfType type = TfScope::type_of(x);
  return type != TfType::f32 && type != TfType::f64 && type != TfType::f16 && type != TfType::bf16;
}
// Functions of numbers, also of whole ones, whose results are cut.
TfOutput of_numbers(TfScope& s, const char* function, TfOutput x) {
  return is_whole(x) ? s.cast(s.unary(function, s.cast(x, TfType::f64)), TfScope::type_of(x)) : s.unary(function, x);
}
TfOutput euclidean(TfScope& s, TfOutput x, const Ints& axes, bool keep) { return of_numbers(s, "Sqrt", square_sum(s, x, axes, keep)); }
TfOutput log_sum(TfScope& s, TfOutput x, const Ints& axes, bool keep) { return of_numbers(s, "Log", sum(s, x, axes, keep)); }

// The largest goes out before and comes back after, so that nothing overflows.
TfOutput log_sum_exp(TfScope& s, TfOutput given, const Ints& axes, bool keep) {
  const TfType type = TfScope::type_of(given);
  const TfOutput x = is_whole(given) ? s.cast(given, TfType::f64) : given;
  const TfOutput raw = maximum(s, x, axes, true);
  const TfOutput largest = s.make("SelectV2").in(s.unary("IsFinite", raw)).in(raw).in(s.unary("ZerosLike", raw)).out();
  const TfOutput logs = s.unary("Log", sum(s, s.unary("Exp", s.binary("Sub", x, largest)), axes, keep));
  const TfOutput back = keep ? largest : s.reduce("Max", largest, axes, false);
  return s.cast(s.binary("AddV2", logs, back), type);
}

template <Reduction function>
void reduce(const TfCall& call) {
  const TfLayout layout = call.int_of("keepdims", 1) != 0 ? call.layout() : TfLayout{};
  const Ints axes = layout.axes(reduced_axes(call, call.shape(0).size()));
  call.out(0, function(call.scope, call.in(0, layout), axes, call.int_of("keepdims", 1) != 0), layout);
}

// For an empty axis TensorFlow returns the limits of the number type, so it is refused.
template <Reduction function>
void reduce_to_extreme(const TfCall& call) {
  const Shape shape = call.shape(0);
  for (const int64_t axis : reduced_axes(call, shape.size()))
    if (shape[static_cast<size_t>(axis)] == 0) call.refuse("its axis has no elements");
  reduce<function>(call);
}

// The mean of whole numbers is truncated, as in the reference interpreter.
TfOutput mean(TfScope& s, TfOutput x, const Ints& axes, bool keep) { return s.reduce("Mean", x, axes, keep); }

void cumulative_sum(const TfCall& call) {
  const int64_t axis = call.axis(call.integers(1).at(0), call.shape(0).size());
  call.out(0, call.scope.make("Cumsum")
                  .in(call.in(0))
                  .in(call.scope.index(axis))
                  .flag("exclusive", call.int_of("exclusive", 0) != 0)
                  .flag("reverse", call.int_of("reverse", 0) != 0)
                  .out());
}

TfOutput reversed(TfScope& s, TfOutput x, int64_t axis) { return s.make("ReverseV2").in(x).in(s.ints({axis})).out(); }

void arg_extreme(const TfCall& call, const char* type) {
  TfScope& s = call.scope;
  const Shape shape = call.shape(0);
  const int64_t axis = call.axis(call.int_of("axis", 0), shape.size()), last_place = shape[static_cast<size_t>(axis)] - 1;
  if (last_place < 0) call.refuse("there is nothing to choose from along its axis");
  const bool last = call.int_of("select_last_index", 0) != 0;
  TfOutput y = s.binary(type, last ? reversed(s, call.in(0), axis) : call.in(0), s.index(axis));
  if (last) y = s.binary("Sub", s.number(TfType::i64, static_cast<double>(last_place)), y);
  call.out(0, call.int_of("keepdims", 1) != 0 ? s.make("ExpandDims").in(y).in(s.index(axis)).out() : y);
}
void arg_max(const TfCall& call) { arg_extreme(call, "ArgMax"); }
void arg_min(const TfCall& call) { arg_extreme(call, "ArgMin"); }

// The opposite order: of floats by their sign, of integers by their bits, since the least of them has no opposite.
TfOutput opposite(TfScope& s, TfOutput x) { return is_whole(x) ? s.unary("Invert", x) : s.unary("Neg", x); }

void top_k(const TfCall& call) {
  TfScope& s = call.scope;
  const size_t rank = call.shape(0).size();
  const int64_t axis = call.axis(call.int_of("axis", -1), rank);
  const int64_t count = call.output_shape(call.node.outputs[0] != no_value ? 0 : 1)[static_cast<size_t>(axis)];
  const bool largest = call.int_of("largest", 1) != 0;
  Ints order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<size_t>(axis)], order.back());
  TfOutput x = s.transpose(call.in(0), order);
  if (!largest) x = opposite(s, x);
  const TfOutput best = s.binary("TopKV2", x, s.index(count)), places{best.operation, 1};
  call.out(0, s.transpose(largest ? best : opposite(s, best), order));
  call.out(1, s.cast(s.transpose(places, order), TfType::i64));
}

const bool registered[] = {
    add_tf_operator("ArgMax", arg_max),
    add_tf_operator("ArgMin", arg_min),
    add_tf_operator("CumSum", cumulative_sum),
    add_tf_operator("ReduceL1", reduce<absolute_sum>),
    add_tf_operator("ReduceL2", reduce<euclidean>),
    add_tf_operator("ReduceLogSum", reduce<log_sum>),
    add_tf_operator("ReduceLogSumExp", reduce<log_sum_exp>),
    add_tf_operator("ReduceMax", reduce_to_extreme<maximum>),
    add_tf_operator("ReduceMean", reduce<mean>),
    add_tf_operator("ReduceMin", reduce_to_extreme<minimum>),
    add_tf_operator("ReduceProd", reduce<product>),
    add_tf_operator("ReduceSum", reduce<sum>),
    add_tf_operator("ReduceSumSquare", reduce<square_sum>),
    add_tf_operator("TopK", top_k),
};

}  // namespace
}  // namespace deepgap
