// CumSum and CumProd: floats are summed and multiplied in double precision and rounded one by one.
#include "model/eval/element_types.h"
#include "model/eval/lines.h"
#include "model/eval/parallel.h"
#include "model/eval/widened.h"

namespace deepgap {

namespace {

template <typename Combine>
std::vector<Tensor> cumulate(const Call& call, int first, Combine combine) {
  const Tensor& x = call.input(0);
  const auto axes = call.integers(1);
  if (axes.size() != 1) call.fail("the axis is not one number");
  const Lines lines = lines_along(x.shape, call.axis(axes[0], x.shape.size()));
  const bool exclusive = call.int_of("exclusive", 0) != 0, reverse = call.int_of("reverse", 0) != 0;
  Tensor y = make_tensor(x.type, x.shape);
  with_number(call, x.type, [&]<typename T>(T) {
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
    parallel_for(lines.lines(), static_cast<double>(lines.count), [&](int64_t line) {
      const T* from = x.as<T>().data() + lines.begin(line);
      T* to = writable<T>(y).data() + lines.begin(line);
      Sum all = static_cast<Sum>(first);
      for (int64_t i = 0; i < lines.count; ++i) {
        const int64_t at = (reverse ? lines.count - 1 - i : i) * lines.stride;
        const Sum before = all;
        all = combine(all, static_cast<Sum>(from[at]));
        to[at] = static_cast<T>(exclusive ? before : all);
      }
    });
  });
  return {y};
}

std::vector<Tensor> cumulative_sum(const Call& call) {
  return cumulate(call, 0, [](auto a, auto b) { return a + b; });
}
std::vector<Tensor> cumulative_product(const Call& call) {
  return cumulate(call, 1, [](auto a, auto b) { return a * b; });
}

const bool registered[] = {
    add_operator("CumProd", widened<cumulative_product>),
    add_operator("CumSum", widened<cumulative_sum>),
};

}  // namespace

}  // namespace deepgap
