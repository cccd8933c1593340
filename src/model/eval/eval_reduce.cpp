// Reductions over axes. Floats are summed in double precision, in the order of memory.
#include "model/eval/operator.h"
#include "model/eval/parallel.h"
#include "model/eval/strided.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace deepgap {

namespace {

// The input with the reduced axes last, as rows x count, and the shape of the result.
struct Reduced {
  Tensor values;
  int64_t rows, count;
  Shape shape;
};

std::vector<int64_t> reduced_axes(const Call& call, size_t rank) {
  std::vector<int64_t> axes = call.ints_or_input("axes", 1, {});
  if (axes.empty() && call.int_of("noop_with_empty_axes", 0) == 0) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (int64_t& axis : axes) axis = call.axis(axis, rank);
  return axes;
}

Reduced prepare(const Call& call, const Tensor& x) {
  const auto axes = reduced_axes(call, x.shape.size());
  const bool keep = call.int_of("keepdims", 1) != 0;
  const auto own = row_major_strides(x.shape);
  Shape outer, inner, shape;
  std::vector<int64_t> outer_strides, inner_strides;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    const bool reduce = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    (reduce ? inner : outer).push_back(x.shape[i]);
    (reduce ? inner_strides : outer_strides).push_back(own[i]);
    if (!reduce || keep) shape.push_back(reduce ? 1 : x.shape[i]);
  }
  Shape order = outer;
  order.insert(order.end(), inner.begin(), inner.end());
  outer_strides.insert(outer_strides.end(), inner_strides.begin(), inner_strides.end());
  Tensor values = make_tensor(x.type, order);
  copy_strided(order, byte_size(x.type), {x.data.get(), outer_strides}, {writable<std::byte>(values).data(), row_major_strides(order)});
  return {values, product_of(outer), product_of(inner), shape};
}

template <typename T, typename F>
Tensor reduce_as(const Reduced& reduced, F function) {
  Tensor y = make_tensor(reduced.values.type, reduced.shape);
  const auto from = reduced.values.as<T>();
  const auto to = writable<T>(y);
  parallel_for(reduced.rows, static_cast<double>(reduced.count),
               [&](int64_t row) { to[row] = function(from.subspan(row * reduced.count, reduced.count)); });
  return y;
}

template <typename F>
std::vector<Tensor> reduce(const Call& call, F function) {
  const Tensor& x = call.input(0);
  const Reduced reduced = prepare(call, x);
  if (x.type == DataType::i64) return {reduce_as<int64_t>(reduced, function)};
  if (x.type == DataType::i32) return {reduce_as<int32_t>(reduced, function)};
  call.expect(x, DataType::f32);
  return {reduce_as<float>(reduced, function)};
}

template <typename T>
auto sum_of(std::span<const T> values) {
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
  Sum sum = 0;
  for (T value : values) sum += value;
  return sum;
}

std::vector<Tensor> reduce_sum(const Call& call) {
  return reduce(call, []<typename T>(std::span<const T> values) { return static_cast<T>(sum_of(values)); });
}

std::vector<Tensor> reduce_mean(const Call& call) {
  return reduce(call, [&call]<typename T>(std::span<const T> values) {
    if (values.empty()) call.fail("the mean of nothing");
    return static_cast<T>(sum_of(values) / static_cast<decltype(sum_of(values))>(values.size()));
  });
}

std::vector<Tensor> reduce_max(const Call& call) {
  return reduce(call, [&call]<typename T>(std::span<const T> values) {
    if (values.empty()) call.fail("the largest of nothing");
    return *std::max_element(values.begin(), values.end());
  });
}

std::vector<Tensor> reduce_min(const Call& call) {
  return reduce(call, [&call]<typename T>(std::span<const T> values) {
    if (values.empty()) call.fail("the smallest of nothing");
    return *std::min_element(values.begin(), values.end());
  });
}

std::vector<Tensor> reduce_product(const Call& call) {
  return reduce(call, []<typename T>(std::span<const T> values) {
    using Product = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
    return static_cast<T>(std::accumulate(values.begin(), values.end(), Product{1}, std::multiplies<>()));
  });
}

const bool registered[] = {
    add_operator("ReduceMax", reduce_max),      add_operator("ReduceMean", reduce_mean), add_operator("ReduceMin", reduce_min),
    add_operator("ReduceProd", reduce_product), add_operator("ReduceSum", reduce_sum),
};

}  // namespace

}  // namespace deepgap
