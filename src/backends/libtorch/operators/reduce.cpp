// Reductions over axes, and sums that run along one.
#include "backends/libtorch/torch_operator.h"

#include <ATen/ops/abs.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/div.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/log.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/prod.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>

#include <algorithm>
#include <functional>

namespace deepgap {
namespace {

using Reduction = at::Tensor (*)(const at::Tensor&, at::IntArrayRef, bool);

template <Reduction function>
TorchStep reduce(const TorchCall& call) {
  const std::vector<int64_t> axes = reduced_axes(call, call.rank(0));
  const bool keep = call.int_of("keepdims", 1) != 0;
  // No axes would mean all of them to ATen. Each element is reduced alone.
  if (axes.empty()) return one_output([](const TorchFrame& frame) { return function(frame.in(0).unsqueeze(-1), -1, false); });
  return one_output([=](const TorchFrame& frame) { return function(frame.in(0), axes, keep); });
}

// ATen has no extreme value for an empty axis. It says so itself where only the run knows the sizes.
template <Reduction function>
TorchStep reduce_to_extreme(const TorchCall& call) {
  if (!call.has_shape(0)) return reduce<function>(call);
  const Shape shape = call.shape(0);
  for (const int64_t axis : reduced_axes(call, shape.size()))
    if (shape[static_cast<size_t>(axis)] == 0) call.refuse("its axis has no elements");
  return reduce<function>(call);
}

at::Tensor sum(const at::Tensor& x, at::IntArrayRef axes, bool keep) { return at::sum(x, axes, keep, x.scalar_type()); }
at::Tensor absolute_sum(const at::Tensor& x, at::IntArrayRef axes, bool keep) { return sum(at::abs(x), axes, keep); }
at::Tensor square_sum(const at::Tensor& x, at::IntArrayRef axes, bool keep) { return sum(at::mul(x, x), axes, keep); }
at::Tensor euclidean(const at::Tensor& x, at::IntArrayRef axes, bool keep) {
  return at::sqrt(square_sum(x, axes, keep)).to(x.scalar_type());
}
at::Tensor log_sum(const at::Tensor& x, at::IntArrayRef axes, bool keep) { return at::log(sum(x, axes, keep)).to(x.scalar_type()); }
at::Tensor log_sum_exp(const at::Tensor& x, at::IntArrayRef axes, bool keep) { return at::logsumexp(x, axes, keep).to(x.scalar_type()); }
at::Tensor maximum(const at::Tensor& x, at::IntArrayRef axes, bool keep) { return at::amax(x, axes, keep); }
at::Tensor minimum(const at::Tensor& x, at::IntArrayRef axes, bool keep) { return at::amin(x, axes, keep); }

// ATen has no mean of whole numbers.
at::Tensor mean(const at::Tensor& x, at::IntArrayRef axes, bool keep) {
  if (at::isFloatingType(x.scalar_type())) return at::mean(x, axes, keep);
  int64_t count = 1;
  for (const int64_t axis : axes) count *= x.size(axis);
  return at::div(at::sum(x, axes, keep), count, "trunc").to(x.scalar_type());
}

// ATen's takes one dimension at a time: the last ones go first, so that the others keep their numbers.
at::Tensor product(const at::Tensor& x, at::IntArrayRef axes, bool keep) {
  std::vector<int64_t> order(axes.begin(), axes.end());
  std::sort(order.begin(), order.end(), std::greater<>());
  at::Tensor y = x;
  for (const int64_t axis : order) y = at::prod(y, axis, keep, x.scalar_type());
  return y;
}

at::Tensor running_sum(const at::Tensor& x, int64_t axis, bool exclusive) {
  const at::Tensor sums = at::cumsum(x, axis, x.scalar_type());
  return exclusive ? at::sub(sums, x) : sums;
}

TorchStep cumulative_sum(const TorchCall& call) {
  const int64_t axis = call.axis(call.integers(1).at(0), call.rank(0));
  const bool exclusive = call.int_of("exclusive", 0) != 0, reverse = call.int_of("reverse", 0) != 0;
  if (!reverse) return one_output([=](const TorchFrame& frame) { return running_sum(frame.in(0), axis, exclusive); });
  return one_output([=](const TorchFrame& frame) { return at::flip(running_sum(at::flip(frame.in(0), axis), axis, exclusive), axis); });
}

const bool registered[] = {
    add_torch_operator("CumSum", cumulative_sum),
    add_torch_operator("ReduceL1", reduce<absolute_sum>),
    add_torch_operator("ReduceL2", reduce<euclidean>),
    add_torch_operator("ReduceLogSum", reduce<log_sum>),
    add_torch_operator("ReduceLogSumExp", reduce<log_sum_exp>),
    add_torch_operator("ReduceMax", reduce_to_extreme<maximum>),
    add_torch_operator("ReduceMean", reduce<mean>),
    add_torch_operator("ReduceMin", reduce_to_extreme<minimum>),
    add_torch_operator("ReduceProd", reduce<product>),
    add_torch_operator("ReduceSum", reduce<sum>),
    add_torch_operator("ReduceSumSquare", reduce<square_sum>),
};

}  // namespace
}  // namespace deepgap
