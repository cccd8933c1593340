// Convolutions and pools. ATen pads both sides alike and rounds up by a rule of its own: where ONNX asks for something else, the
// input is padded first, so that the window walks over exactly the positions that the inferred output shape has.
#include "backends/libtorch/torch_operator.h"
#include "model/translated_nodes.h"

#include <ATen/ops/abs.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/avg_pool1d.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool3d.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv1d.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/conv3d.h>
#include <ATen/ops/conv_transpose1d.h>
#include <ATen/ops/conv_transpose2d.h>
#include <ATen/ops/conv_transpose3d.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/max_pool1d.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/max_pool3d.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/sum.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

namespace deepgap {
namespace {

using Ints = std::vector<int64_t>;

struct Window : NodeWindow {
  int64_t positions(size_t i) const { return (in[i] + begins[i] + ends[i] - extent(i)) / strides[i] + 1; }  // rounded down
  bool even() const { return begins == ends; }
};

Window window_of(const TorchCall& call, const Ints& kernel) { return {node_window(call, kernel)}; }

// ATen takes them from the last dimension, begin and end side by side.
Ints aten_pads(const Ints& begins, const Ints& ends) {
  Ints pads;
  for (size_t i = begins.size(); i-- > 0;) {
    pads.push_back(begins[i]);
    pads.push_back(ends[i]);
  }
  return pads;
}

at::Tensor convolve(const TorchFrame& frame, const at::Tensor& x, const Window& w, const Ints& pads, int64_t groups) {
  const std::optional<at::Tensor> bias = frame.inputs() > 2 ? std::optional(frame.in(2)) : std::nullopt;
  if (w.rank() == 1) return at::conv1d(x, frame.in(1), bias, w.strides, pads, w.dilations, groups);
  if (w.rank() == 2) return at::conv2d(x, frame.in(1), bias, w.strides, pads, w.dilations, groups);
  return at::conv3d(x, frame.in(1), bias, w.strides, pads, w.dilations, groups);
}

TorchStep conv(const TorchCall& call) {
  const Shape weights = call.shape(1);
  const Window w = window_of(call, Ints(weights.begin() + 2, weights.end()));
  const int64_t groups = call.int_of("group", 1);
  if (w.even()) return one_output([=](const TorchFrame& frame) { return convolve(frame, frame.in(0), w, w.begins, groups); });
  const Ints pads = aten_pads(w.begins, w.ends), none(w.rank(), 0);
  return one_output([=](const TorchFrame& frame) { return convolve(frame, at::constant_pad_nd(frame.in(0), pads, 0), w, none, groups); });
}

// The elements that a transposed convolution's output loses at its begins and ends, from its inferred shape.
struct Cut {
  Ints begins, more;  // `more`: positions beyond the last that the kernel reaches
  bool even = true;
};
Cut cut_of(const TorchCall& call, const Window& w, const Ints& output_padding) {
  const bool upper = call.text_of("auto_pad", "NOTSET") == "SAME_UPPER";
  const bool given = call.text_of("auto_pad", "NOTSET") == "NOTSET" && call.ints_of("output_shape", {}).empty();
  Cut cut;
  for (size_t i = 0; i < w.rank(); ++i) {
    const int64_t reached = (w.in[i] - 1) * w.strides[i] + w.extent(i);
    const int64_t total = reached + output_padding[i] - w.out[i];
    const int64_t begin = given ? w.begins[i] : upper ? total / 2 : total - total / 2;
    cut.begins.push_back(begin);
    cut.even = cut.even && total == 2 * begin;
    cut.more.push_back(std::max<int64_t>(0, begin + w.out[i] - reached));
  }
  return cut;
}

at::Tensor transposed(const TorchFrame& frame, const Window& w, const Ints& pads, const Ints& more, int64_t groups) {
  const std::optional<at::Tensor> bias = frame.inputs() > 2 ? std::optional(frame.in(2)) : std::nullopt;
  const at::Tensor& x = frame.in(0);
  if (w.rank() == 1) return at::conv_transpose1d(x, frame.in(1), bias, w.strides, pads, more, groups, w.dilations);
  if (w.rank() == 2) return at::conv_transpose2d(x, frame.in(1), bias, w.strides, pads, more, groups, w.dilations);
  return at::conv_transpose3d(x, frame.in(1), bias, w.strides, pads, more, groups, w.dilations);
}

TorchStep conv_transpose(const TorchCall& call) {
  const Shape weights = call.shape(1);
  const Window w = window_of(call, Ints(weights.begin() + 2, weights.end()));
  const int64_t groups = call.int_of("group", 1);
  const Ints output_padding = call.ints_of("output_padding", Ints(w.rank(), 0));
  const Cut cut = cut_of(call, w, output_padding);
  if (std::any_of(cut.begins.begin(), cut.begins.end(), [](int64_t begin) { return begin < 0; })) call.refuse("negative pads");
  if (cut.even) return one_output([=](const TorchFrame& frame) { return transposed(frame, w, cut.begins, output_padding, groups); });
  return one_output([=](const TorchFrame& frame) {
    at::Tensor y = transposed(frame, w, Ints(w.rank(), 0), cut.more, groups);
    for (size_t i = 0; i < w.rank(); ++i) y = y.narrow(static_cast<int64_t>(i) + 2, cut.begins[i], w.out[i]);
    return y;
  });
}

// ATen's pools take pads of up to half a window, equal on both sides, and no more positions than fit.
bool fits_aten(const Window& w) {
  for (size_t i = 0; i < w.rank(); ++i) {
    if (w.begins[i] > w.kernel[i] / 2 || w.positions(i) != w.out[i]) return false;
  }
  return w.even();
}

// Ends so that rounding down gives the inferred positions.
Ints reaching_ends(const Window& w) {
  Ints ends;
  for (size_t i = 0; i < w.rank(); ++i) {
    ends.push_back(std::max(w.ends[i], (w.out[i] - 1) * w.strides[i] + w.extent(i) - w.in[i] - w.begins[i]));
  }
  return ends;
}

at::Tensor max_pooled(const at::Tensor& x, const Window& w, const Ints& pads) {
  if (w.rank() == 1) return at::max_pool1d(x, w.kernel, w.strides, pads, w.dilations);
  if (w.rank() == 2) return at::max_pool2d(x, w.kernel, w.strides, pads, w.dilations);
  return at::max_pool3d(x, w.kernel, w.strides, pads, w.dilations);
}

TorchStep max_pool(const TorchCall& call) {
  call.expect_outputs(1);
  if (!call.is_float(0)) call.refuse(fmt::format("its input is {}", name_of(call.type(0))));
  const Window w = window_of(call, call.ints_of("kernel_shape", {}));
  if (fits_aten(w)) return one_output([=](const TorchFrame& frame) { return max_pooled(frame.in(0), w, w.begins); });
  const Ints pads = aten_pads(w.begins, reaching_ends(w)), none(w.rank(), 0);
  const double least = -std::numeric_limits<double>::infinity();
  return one_output([=](const TorchFrame& frame) { return max_pooled(at::constant_pad_nd(frame.in(0), pads, least), w, none); });
}

at::Tensor averaged(const at::Tensor& x, const Window& w, const Ints& pads, bool counts_padding) {
  if (w.rank() == 1) return at::avg_pool1d(x, w.kernel, w.strides, pads, false, counts_padding);
  if (w.rank() == 2) return at::avg_pool2d(x, w.kernel, w.strides, pads, false, counts_padding);
  const bool halves = x.scalar_type() == at::kHalf || x.scalar_type() == at::kBFloat16;  // CPUs have no kernel for them in three dimensions
  const at::Tensor y = at::avg_pool3d(halves ? x.to(at::kFloat) : x, w.kernel, w.strides, pads, false, counts_padding);
  return halves ? y.to(x.scalar_type()) : y;
}

// By what an average over the whole window must be multiplied to be one over the elements that count.
at::Tensor corrections(const Window& w, bool counts_padding, const at::TensorOptions& options) {
  Tensor counts = counted_taps(w, counts_padding);
  const auto taps = static_cast<float>(element_count(w.kernel));
  for (float& value : writable<float>(counts)) value = taps / value;
  return at::from_blob(writable<float>(counts).data(), w.out, at::kFloat).to(options, false, true);
}

TorchStep average_pool(const TorchCall& call) {
  const Window w = window_of(call, call.ints_of("kernel_shape", {}));
  if (std::any_of(w.dilations.begin(), w.dilations.end(), [](int64_t d) { return d != 1; })) call.refuse("dilations");
  const bool counts_padding = call.int_of("count_include_pad", 0) != 0;
  bool whole = fits_aten(w);
  for (size_t i = 0; i < w.rank(); ++i) whole = whole && w.in[i] >= w.kernel[i];  // in three dimensions ATen wants that, padded or not
  if (whole) return one_output([=](const TorchFrame& frame) { return averaged(frame.in(0), w, w.begins, counts_padding); });
  const Ints pads = aten_pads(w.begins, reaching_ends(w)), none(w.rank(), 0);
  const at::Tensor correction = corrections(w, counts_padding, call.target.options());
  return one_output([=](const TorchFrame& frame) {
    const at::Tensor y = averaged(at::constant_pad_nd(frame.in(0), pads, 0), w, none, true);
    return at::mul(y, correction.to(y.scalar_type()));
  });
}

TorchStep global_average_pool(const TorchCall& call) {
  const Ints axes = spatial_axes(call);
  if (axes.size() == 2) return one_output([](const TorchFrame& frame) { return at::adaptive_avg_pool2d(frame.in(0), {1, 1}); });
  return one_output([axes](const TorchFrame& frame) { return at::mean(frame.in(0), axes, true); });
}

TorchStep global_max_pool(const TorchCall& call) {
  const Ints axes = spatial_axes(call);
  return one_output([axes](const TorchFrame& frame) { return at::amax(frame.in(0), axes, true); });
}

// The p-norm of each window, from averages of powers.
TorchStep lp_pool(const TorchCall& call) {
  const Window w = window_of(call, call.ints_of("kernel_shape", {}));
  if (std::any_of(w.dilations.begin(), w.dilations.end(), [](int64_t d) { return d != 1; })) call.refuse("dilations");
  const double p = static_cast<double>(call.int_of("p", 2));
  const auto taps = static_cast<double>(std::accumulate(w.kernel.begin(), w.kernel.end(), int64_t{1}, std::multiplies<>()));
  const Ints pads = aten_pads(w.begins, reaching_ends(w)), none(w.rank(), 0);
  return one_output([=](const TorchFrame& frame) {
    const at::Tensor powers = at::constant_pad_nd(at::pow(at::abs(frame.in(0)), p), pads, 0);
    return at::pow(at::mul(averaged(powers, w, none, true), taps), 1 / p);
  });
}

TorchStep global_lp_pool(const TorchCall& call) {
  const Ints axes = spatial_axes(call);
  const double p = static_cast<double>(call.int_of("p", 2));
  return one_output([axes, p](const TorchFrame& frame) { return at::pow(at::sum(at::pow(at::abs(frame.in(0)), p), axes, true), 1 / p); });
}

const bool registered[] = {
    add_torch_operator("AveragePool", average_pool),
    add_torch_operator("Conv", conv),
    add_torch_operator("ConvTranspose", conv_transpose),
    add_torch_operator("GlobalAveragePool", global_average_pool),
    add_torch_operator("GlobalLpPool", global_lp_pool),
    add_torch_operator("GlobalMaxPool", global_max_pool),
    add_torch_operator("LpPool", lp_pool),
    add_torch_operator("MaxPool", max_pool),
};

}  // namespace
}  // namespace deepgap
