// Reductions over axes. Floats are summed in double precision, in the order of memory. Over no axes (noop_with_empty_axes) each element is
// reduced alone: what a sum of squares makes of it is its square.
#include "model/eval/element_types.h"
#include "model/eval/parallel.h"
#include "model/eval/strided.h"
#include "model/eval/widened.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace deepgap {

namespace {

// The input with the reduced axes last, as rows x count, and the shape of the result.
struct Reduced {
  Tensor values;
  int64_t rows, count;
  Shape shape;
};

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
  return with_number(call, x.type, [&]<typename T>(T) { return std::vector{reduce_as<T>(prepare(call, x), function)}; });
}

// Floats are summed in double precision, whole numbers wrap around.
template <typename T>
using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;

template <typename T, typename F>
Sum<T> sum_of(std::span<const T> values, F term) {
  Sum<T> sum = 0;
  for (const T value : values) sum += term(static_cast<Sum<T>>(value));
  return sum;
}
constexpr auto itself = [](auto value) { return value; };
constexpr auto square = [](auto value) { return value * value; };
constexpr auto magnitude = [](auto value) {
  if constexpr (std::is_floating_point_v<decltype(value)>) return std::fabs(value);
  return static_cast<int64_t>(value) < 0 ? 0 - value : value;
};

std::vector<Tensor> reduce_sum(const Call& call) {
  return reduce(call, []<typename T>(std::span<const T> values) { return static_cast<T>(sum_of(values, itself)); });
}
std::vector<Tensor> reduce_l1(const Call& call) {
  return reduce(call, []<typename T>(std::span<const T> values) { return static_cast<T>(sum_of(values, magnitude)); });
}
std::vector<Tensor> reduce_sum_square(const Call& call) {
  return reduce(call, []<typename T>(std::span<const T> values) { return static_cast<T>(sum_of(values, square)); });
}
std::vector<Tensor> reduce_l2(const Call& call) {
  return reduce(call,
                []<typename T>(std::span<const T> values) { return convert<T>(std::sqrt(static_cast<double>(sum_of(values, square)))); });
}
std::vector<Tensor> reduce_log_sum(const Call& call) {
  return reduce(call, []<typename T>(std::span<const T> values) {
    return convert<T>(std::log(static_cast<double>(static_cast<T>(sum_of(values, itself)))));
  });
}

std::vector<Tensor> reduce_mean(const Call& call) {
  return reduce(call, [&call]<typename T>(std::span<const T> values) {
    if constexpr (std::is_integral_v<T>) {
      if (values.empty()) call.fail("the mean of nothing");
      using Whole = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
      return static_cast<T>(static_cast<Whole>(sum_of(values, itself)) / static_cast<Whole>(values.size()));
    } else {
      return static_cast<T>(sum_of(values, itself) / static_cast<double>(values.size()));
    }
  });
}

template <typename T>
constexpr T beyond_all(int sign) {  // an end of the type's range
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) return sign * Limits::infinity();
  return sign > 0 ? Limits::max() : Limits::min();
}
// A NaN stays.
template <typename T>
T largest_of(std::span<const T> values) {
  T largest = beyond_all<T>(-1);
  for (const T value : values)
    if (value > largest || not_a_number(value)) largest = value;
  return largest;
}
template <typename T>
T smallest_of(std::span<const T> values) {
  T smallest = beyond_all<T>(1);
  for (const T value : values)
    if (value < smallest || not_a_number(value)) smallest = value;
  return smallest;
}

// Reduces bool, too, as 0 and 1.
template <typename F>
std::vector<Tensor> reduce_ordered(const Call& call, F function) {
  const Tensor& x = call.input(0);
  if (x.type != DataType::boolean) return reduce(call, function);
  // The least of nothing is true.
  return {
      reduce_as<uint8_t>(prepare(call, x), [&](std::span<const uint8_t> values) { return static_cast<uint8_t>(function(values) != 0); })};
}

std::vector<Tensor> reduce_max(const Call& call) {
  return reduce_ordered(call, []<typename T>(std::span<const T> values) { return largest_of(values); });
}
std::vector<Tensor> reduce_min(const Call& call) {
  return reduce_ordered(call, []<typename T>(std::span<const T> values) { return smallest_of(values); });
}

std::vector<Tensor> reduce_product(const Call& call) {
  return reduce(call, []<typename T>(std::span<const T> values) {
    Sum<T> product = 1;
    for (const T value : values) product *= static_cast<Sum<T>>(value);
    return static_cast<T>(product);
  });
}

// The largest is taken out, so that nothing overflows.
std::vector<Tensor> reduce_log_sum_exp(const Call& call) {
  return reduce(call, []<typename T>(std::span<const T> values) {
    const auto largest = static_cast<double>(largest_of(values));
    if (values.empty() || std::isinf(largest)) return convert<T>(values.empty() ? -std::numeric_limits<double>::infinity() : largest);
    double sum = 0;
    for (const T value : values) sum += std::exp(static_cast<double>(value) - largest);
    return convert<T>(largest + std::log(sum));
  });
}

const bool registered[] = {
    add_operator("ReduceL1", widened<reduce_l1>),          add_operator("ReduceL2", widened<reduce_l2>),
    add_operator("ReduceLogSum", widened<reduce_log_sum>), add_operator("ReduceLogSumExp", widened<reduce_log_sum_exp>),
    add_operator("ReduceMax", widened<reduce_max>),        add_operator("ReduceMean", widened<reduce_mean>),
    add_operator("ReduceMin", widened<reduce_min>),        add_operator("ReduceProd", widened<reduce_product>),
    add_operator("ReduceSum", widened<reduce_sum>),        add_operator("ReduceSumSquare", widened<reduce_sum_square>),
};

}  // namespace

}  // namespace deepgap
