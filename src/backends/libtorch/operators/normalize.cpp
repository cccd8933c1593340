// Normalisations beside those that ATen has under the same name.
#include "backends/libtorch/torch_operator.h"

#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/div.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>

#include <limits>
#include <vector>

namespace deepgap {
namespace {

// Before opset 21 scale and bias are one for each group, ATen's one for each channel.
TorchStep group_norm(const TorchCall& call) {
  const int64_t groups = call.int_of("num_groups", 0), channels = call.shape(0).at(1);
  if (groups < 1) call.refuse("num_groups is missing");
  const int64_t repeats = call.graph.opset >= 21 ? 1 : channels / groups;
  const double epsilon = call.float_of("epsilon", 1e-5f);
  return one_output([=](const TorchFrame& frame) {
    const at::Tensor scale = repeats == 1 ? frame.in(1) : at::repeat_interleave(frame.in(1), repeats);
    const at::Tensor bias = repeats == 1 ? frame.in(2) : at::repeat_interleave(frame.in(2), repeats);
    return at::group_norm(frame.in(0), groups, scale, bias, epsilon);
  });
}

// Normalizes over each channel and its neighbours.
TorchStep lrn(const TorchCall& call) {
  const int64_t size = call.int_of("size", 1), channels = call.shape(0).at(1);
  const double alpha = call.float_of("alpha", 1e-4f), beta = call.float_of("beta", 0.75f), bias = call.float_of("bias", 1);
  return one_output([=](const TorchFrame& frame) {
    const at::Tensor& x = frame.in(0);
    const at::Tensor squares = at::mul(x, x).reshape({x.size(0), channels, -1});
    const at::Tensor padded = at::constant_pad_nd(squares, {0, 0, (size - 1) / 2, size / 2}, 0);
    at::Tensor sum = padded.narrow(1, 0, channels);
    for (int64_t i = 1; i < size; ++i) sum = at::add(sum, padded.narrow(1, i, channels));
    const at::Tensor divisor = at::pow(at::add(at::mul(sum, alpha / static_cast<double>(size)), bias), beta);
    return at::div(x, divisor.reshape(x.sizes()));
  });
}

TorchStep lp_norm(const TorchCall& call) {
  const int64_t p = call.int_of("p", 2), axis = call.axis(call.int_of("axis", -1), call.shape(0).size());
  if (p != 1 && p != 2) call.refuse("p is neither 1 nor 2");
  constexpr double least = std::numeric_limits<float>::min();  // a line of zeros stays one
  return one_output([=](const TorchFrame& frame) {
    const at::Tensor& x = frame.in(0);
    const at::Tensor norm = p == 1 ? at::sum(at::abs(x), axis, true) : at::sqrt(at::sum(at::mul(x, x), axis, true));
    return at::div(x, at::clamp_min(norm, least));
  });
}

TorchStep mean_variance_norm(const TorchCall& call) {
  const std::vector<int64_t> axes = call.ints_of("axes", {0, 2, 3});
  return one_output([axes](const TorchFrame& frame) {
    const at::Tensor centered = at::sub(frame.in(0), at::mean(frame.in(0), axes, true));
    const at::Tensor deviation = at::sqrt(at::mean(at::mul(centered, centered), axes, true));
    return at::div(centered, at::add(deviation, 1e-9));
  });
}

const bool registered[] = {
    add_torch_operator("GroupNormalization", group_norm),
    add_torch_operator("LRN", lrn),
    add_torch_operator("LpNormalization", lp_norm),
    add_torch_operator("MeanVarianceNormalization", mean_variance_norm),
};

}  // namespace
}  // namespace deepgap
