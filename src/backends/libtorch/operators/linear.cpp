// Products, normalisations and reductions.
#include "backends/libtorch/torch_operator.h"

#include <ATen/ops/add.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/argmin.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/instance_norm.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/prod.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/sum.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace deepgap {
namespace {

// What PyTorch's own exporter writes for a linear layer runs as one.
bool is_linear_layer(const TorchCall& call, double alpha, double beta) {
  if (alpha != 1 || call.int_of("transA", 0) != 0 || call.int_of("transB", 0) == 0) return false;
  return !call.has(2) || (beta == 1 && call.shape(2).size() == 1 && call.shape(2)[0] == call.shape(1)[0]);
}

TorchStep gemm(const TorchCall& call) {
  const double alpha = call.float_of("alpha", 1), beta = call.float_of("beta", 1);
  const bool biased = call.has(2);
  if (is_linear_layer(call, alpha, beta)) {
    return one_output([biased](const TorchFrame& frame) {
      return biased ? at::linear(frame.in(0), frame.in(1), frame.in(2)) : at::linear(frame.in(0), frame.in(1));
    });
  }
  const bool turn_a = call.int_of("transA", 0) != 0, turn_b = call.int_of("transB", 0) != 0;
  return one_output([=](const TorchFrame& frame) {
    at::Tensor y = at::matmul(turn_a ? frame.in(0).t() : frame.in(0), turn_b ? frame.in(1).t() : frame.in(1));
    if (alpha != 1) y = at::mul(y, alpha);
    return biased ? at::add(y, frame.in(2), beta) : y;
  });
}

TorchStep matmul(const TorchCall&) {
  return one_output([](const TorchFrame& frame) { return at::matmul(frame.in(0), frame.in(1)); });
}

TorchStep batch_norm(const TorchCall& call) {
  call.expect_outputs(1);
  if (call.int_of("training_mode", 0) != 0) call.refuse("training_mode is not run");
  const double epsilon = call.float_of("epsilon", 1e-5f);
  return one_output([epsilon](const TorchFrame& frame) {
    return at::batch_norm(frame.in(0), frame.in(1), frame.in(2), frame.in(3), frame.in(4), false, 0, epsilon, true);
  });
}

TorchStep instance_norm(const TorchCall& call) {
  const double epsilon = call.float_of("epsilon", 1e-5f);
  return one_output([epsilon](const TorchFrame& frame) {
    return at::instance_norm(frame.in(0), frame.in(1), frame.in(2), {}, {}, true, 0, epsilon, true);
  });
}

TorchStep layer_norm(const TorchCall& call) {
  call.expect_outputs(1);
  const Shape shape = call.shape(0);
  const int64_t axis = call.axis(call.int_of("axis", -1), shape.size());
  const std::vector<int64_t> normalized(shape.begin() + axis, shape.end());
  for (size_t i = 1; i < 3; ++i) {
    if (call.has(i) && call.shape(i) != normalized) call.refuse("scale or bias of another shape than what is normalised");
  }
  const double epsilon = call.float_of("epsilon", 1e-5f);
  const bool biased = call.has(2);
  return one_output([=](const TorchFrame& frame) {
    return at::layer_norm(frame.in(0), normalized, frame.in(1), biased ? frame.in(2) : at::Tensor(), epsilon);
  });
}

// Before opset 13 all dimensions from the axis on are one row.
template <bool logarithm>
TorchStep softmax(const TorchCall& call) {
  const bool old = call.graph.opset < 13;
  const Shape shape = call.shape(0);
  const int64_t axis = call.axis(call.int_of("axis", old ? 1 : -1), shape.size());
  const auto apply = [](const at::Tensor& x, int64_t dim) { return logarithm ? at::log_softmax(x, dim) : at::softmax(x, dim); };
  if (!old) return one_output([=](const TorchFrame& frame) { return apply(frame.in(0), axis); });
  const int64_t columns = element_count(std::span(shape).subspan(static_cast<size_t>(axis)));
  return one_output([=](const TorchFrame& frame) { return apply(frame.in(0).reshape({-1, columns}), 1).reshape(shape); });
}

std::vector<int64_t> reduced_axes(const TorchCall& call, size_t rank) {
  std::vector<int64_t> axes = call.ints_or_input("axes", 1, {});
  if (axes.empty() && call.int_of("noop_with_empty_axes", 0) == 0) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (int64_t& axis : axes) axis = call.axis(axis, rank);
  return axes;
}

using Reduction = at::Tensor (*)(const at::Tensor&, at::IntArrayRef, bool);

template <Reduction function>
TorchStep reduce(const TorchCall& call) {
  const std::vector<int64_t> axes = reduced_axes(call, call.shape(0).size());
  const bool keep = call.int_of("keepdims", 1) != 0;
  if (axes.empty()) return one_output([](const TorchFrame& frame) { return frame.in(0); });
  return one_output([=](const TorchFrame& frame) { return function(frame.in(0), axes, keep); });
}

at::Tensor mean(const at::Tensor& x, at::IntArrayRef axes, bool keep) { return at::mean(x, axes, keep); }
at::Tensor sum(const at::Tensor& x, at::IntArrayRef axes, bool keep) { return at::sum(x, axes, keep, x.scalar_type()); }
at::Tensor maximum(const at::Tensor& x, at::IntArrayRef axes, bool keep) { return at::amax(x, axes, keep); }
at::Tensor minimum(const at::Tensor& x, at::IntArrayRef axes, bool keep) { return at::amin(x, axes, keep); }
at::Tensor euclidean(const at::Tensor& x, at::IntArrayRef axes, bool keep) { return at::sqrt(sum(at::mul(x, x), axes, keep)); }
at::Tensor square_sum(const at::Tensor& x, at::IntArrayRef axes, bool keep) { return sum(at::mul(x, x), axes, keep); }
// ATen's takes one dimension at a time: the last ones go first, so that the others keep their numbers.
at::Tensor product(const at::Tensor& x, at::IntArrayRef axes, bool keep) {
  std::vector<int64_t> order(axes.begin(), axes.end());
  std::sort(order.begin(), order.end(), std::greater<>());
  at::Tensor y = x;
  for (const int64_t axis : order) y = at::prod(y, axis, keep, x.scalar_type());
  return y;
}

template <bool largest>
TorchStep arg_extreme(const TorchCall& call) {
  if (call.int_of("select_last_index", 0) != 0) call.refuse("select_last_index is not run");
  const int64_t axis = call.axis(call.int_of("axis", 0), call.shape(0).size());
  const bool keep = call.int_of("keepdims", 1) != 0;
  return one_output(
      [=](const TorchFrame& frame) { return largest ? at::argmax(frame.in(0), axis, keep) : at::argmin(frame.in(0), axis, keep); });
}

const bool registered[] = {
    add_torch_operator("ArgMax", arg_extreme<true>),
    add_torch_operator("ArgMin", arg_extreme<false>),
    add_torch_operator("BatchNormalization", batch_norm),
    add_torch_operator("Gemm", gemm),
    add_torch_operator("InstanceNormalization", instance_norm),
    add_torch_operator("LayerNormalization", layer_norm),
    add_torch_operator("LogSoftmax", softmax<true>),
    add_torch_operator("MatMul", matmul),
    add_torch_operator("ReduceL2", reduce<euclidean>),
    add_torch_operator("ReduceMax", reduce<maximum>),
    add_torch_operator("ReduceMean", reduce<mean>),
    add_torch_operator("ReduceMin", reduce<minimum>),
    add_torch_operator("ReduceProd", reduce<product>),
    add_torch_operator("ReduceSum", reduce<sum>),
    add_torch_operator("ReduceSumSquare", reduce<square_sum>),
    add_torch_operator("Softmax", softmax<false>),
};

}  // namespace
}  // namespace deepgap
