// The largest or smallest values of an axis: ArgMax, ArgMin and TopK. NaN counts as larger than any number, as in NumPy and PyTorch; of
// equal values the one that comes first is chosen first.
#include "model/eval/element_types.h"
#include "model/eval/lines.h"
#include "model/eval/parallel.h"
#include "model/eval/widened.h"

#include <algorithm>
#include <numeric>

namespace deepgap {

namespace {

template <typename T>
bool is_below(T a, T b) {
  return a < b || (not_a_number(b) && !not_a_number(a));
}

// Decides whether a stands before b, from the largest on or from the smallest.
template <typename T>
bool stands_before(T a, T b, bool from_largest) {
  return from_largest ? is_below(b, a) : is_below(a, b);
}

template <bool largest>
std::vector<Tensor> arg_extreme(const Call& call) {
  const Tensor& x = call.input(0);
  const int64_t axis = call.axis(call.int_of("axis", 0), x.shape.size());
  const Lines lines = lines_along(x.shape, axis);
  const bool last = call.int_of("select_last_index", 0) != 0;
  if (lines.count == 0) call.fail("there is nothing to choose from along its axis");
  Shape shape = x.shape;
  shape[axis] = 1;
  if (call.int_of("keepdims", 1) == 0) shape.erase(shape.begin() + axis);
  Tensor y = make_tensor(DataType::i64, shape);
  const auto to = writable<int64_t>(y);
  with_number(call, x.type, [&]<typename T>(T) {
    parallel_for(lines.lines(), static_cast<double>(lines.count), [&](int64_t line) {
      const T* from = x.as<T>().data() + lines.begin(line);
      int64_t best = 0;
      for (int64_t i = 1; i < lines.count; ++i) {
        const T value = from[i * lines.stride], so_far = from[best * lines.stride];
        if (stands_before(value, so_far, largest) || (last && !stands_before(so_far, value, largest))) best = i;
      }
      to[line] = best;
    });
  });
  return {y};
}

// The number is an attribute until opset 9.
int64_t chosen_number(const Call& call, int64_t available) {
  const std::vector<int64_t> k = call.has(1) ? call.integers(1) : std::vector<int64_t>{call.int_of("k", -1)};
  if (k.size() != 1 || k[0] < 0 || k[0] > available)
    call.fail(fmt::format("k should be one number from 0 to {}, the size of the axis", available));
  return k[0];
}

std::vector<Tensor> top_k(const Call& call) {
  const Tensor& x = call.input(0);
  const int64_t axis = call.axis(call.int_of("axis", -1), x.shape.size());
  const bool largest = call.int_of("largest", 1) != 0;  // sorted=0 leaves the order open, so it is sorted all the same
  const Lines lines = lines_along(x.shape, axis);
  const int64_t count = chosen_number(call, lines.count);
  Shape shape = x.shape;
  shape[axis] = count;
  const Lines chosen = lines_along(shape, axis);
  Tensor values = make_tensor(x.type, shape), indices = make_tensor(DataType::i64, shape);
  with_number(call, x.type, [&]<typename T>(T) {
    parallel_for(lines.lines(), static_cast<double>(lines.count) * 10, [&](int64_t line) {
      const T* from = x.as<T>().data() + lines.begin(line);
      const auto value = [&](int64_t i) { return from[i * lines.stride]; };
      std::vector<int64_t> order(static_cast<size_t>(lines.count));
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](int64_t a, int64_t b) {
        if (stands_before(value(a), value(b), largest)) return true;
        return !stands_before(value(b), value(a), largest) && a < b;
      });
      for (int64_t i = 0; i < count; ++i) {
        const int64_t at = chosen.begin(line) + i * chosen.stride;
        writable<T>(values)[at] = value(order[i]);
        writable<int64_t>(indices)[at] = order[i];
      }
    });
  });
  return {values, indices};
}

const bool registered[] = {
    add_operator("ArgMax", widened<arg_extreme<true>>),
    add_operator("ArgMin", widened<arg_extreme<false>>),
    add_operator("TopK", widened<top_k>),
};

}  // namespace

}  // namespace deepgap
