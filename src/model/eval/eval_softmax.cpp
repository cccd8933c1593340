// Softmax, LogSoftmax and Hardmax.
#include "model/eval/element_types.h"
#include "model/eval/lines.h"
#include "model/eval/parallel.h"
#include "model/eval/widened.h"

#include <cmath>

namespace deepgap {

namespace {

// Before opset 13 everything from the axis on is one line; since then only the axis is.
Lines normalised_lines(const Call& call, const Shape& shape) {
  const bool old = call.graph.opset < 13;
  const int64_t axis = call.axis(call.int_of("axis", old ? 1 : -1), shape.size());
  if (!old) return lines_along(shape, axis);
  const std::span<const int64_t> sizes(shape);
  return {product_of(sizes.first(static_cast<size_t>(axis))), product_of(sizes.subspan(static_cast<size_t>(axis))), 1};
}

template <typename T>
using LineFunction = void (*)(const T* x, T* y, int64_t count, int64_t stride);

template <typename T>
Tensor transform_lines(const Call& call, LineFunction<T> function) {
  const Tensor& x = call.input(0);
  const Lines lines = normalised_lines(call, x.shape);
  Tensor y = make_tensor(x.type, x.shape);
  const T* from = x.as<T>().data();
  T* to = writable<T>(y).data();
  if (lines.count == 0) return y;
  parallel_for(lines.lines(), static_cast<double>(lines.count) * 40, [&](int64_t line) {
    const int64_t at = lines.begin(line);
    function(from + at, to + at, lines.count, lines.stride);
  });
  return y;
}

template <typename T>
int64_t place_of_largest(const T* x, int64_t count, int64_t stride) {  // the first of equal ones
  int64_t place = 0;
  for (int64_t i = 1; i < count; ++i)
    if (x[i * stride] > x[place * stride]) place = i;
  return place;
}

template <typename T, bool logarithm>
void softmax_line(const T* x, T* y, int64_t count, int64_t stride) {
  const double largest = x[place_of_largest(x, count, stride) * stride];
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += std::exp(static_cast<double>(x[i * stride]) - largest);
  for (int64_t i = 0; i < count; ++i) {
    const double shifted = static_cast<double>(x[i * stride]) - largest;
    y[i * stride] = static_cast<T>(logarithm ? shifted - std::log(sum) : std::exp(shifted) / sum);
  }
}

template <typename T>
void hardmax_line(const T* x, T* y, int64_t count, int64_t stride) {
  const int64_t place = place_of_largest(x, count, stride);
  for (int64_t i = 0; i < count; ++i) y[i * stride] = i == place ? T{1} : T{0};
}

template <bool logarithm>
std::vector<Tensor> softmax(const Call& call) {
  return with_float(call, call.input(0).type,
                    [&]<typename T>(T) { return std::vector{transform_lines<T>(call, softmax_line<T, logarithm>)}; });
}

std::vector<Tensor> hardmax(const Call& call) {
  return with_float(call, call.input(0).type, [&]<typename T>(T) { return std::vector{transform_lines<T>(call, hardmax_line<T>)}; });
}

const bool registered[] = {
    add_operator("Hardmax", widened<hardmax>),
    add_operator("LogSoftmax", widened<softmax<true>>),
    add_operator("Softmax", widened<softmax<false>>),
};

}  // namespace

}  // namespace deepgap
