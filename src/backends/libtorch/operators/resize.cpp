// Resize, Upsample and GridSample: ATen's own kernels where they mean the same, else element by element as model/resampling.h says.
#include "backends/libtorch/torch_operator.h"
#include "model/resampling.h"

#include <ATen/ops/add.h>
#include <ATen/ops/grid_sampler.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/upsample_bicubic2d.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <ATen/ops/where.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace deepgap {
namespace {

// The change of a picture's height and width, as ATen's kernels take it.
struct Picture {
  std::vector<int64_t> size;
  std::optional<double> height, width;  // factors
};

std::optional<Picture> picture_of(const TorchCall& call, const Resizing& resizing) {
  const Shape in = call.shape(0), out = call.output_shape();
  if (in.size() != 4 || in[0] != out[0] || in[1] != out[1] || !call.is_float(0)) return std::nullopt;
  Picture picture{{out[2], out[3]}, 1.0, 1.0};
  for (const ResizedAxis& axis : resizing.axes) {
    if (axis.axis < 2 || axis.in == axis.out) return std::nullopt;  // by a factor near 1: ATen would copy
    (axis.axis == 2 ? picture.height : picture.width) = axis.scale;
  }
  return picture;
}

// Returns whether every element is the one that ATen takes: the floor of its position, by a whole factor, so that nothing is rounded.
bool is_nearest_of_aten(const Resizing& resizing) {
  return std::all_of(resizing.axes.begin(), resizing.axes.end(), [&](const ResizedAxis& axis) {
    if (axis.in == 0 || axis.out == 0 || (axis.out % axis.in != 0 && axis.in % axis.out != 0)) return false;
    const std::vector<int64_t> positions = taps_of(resizing, axis).positions[0];
    for (int64_t i = 0; i < axis.out; ++i)
      if (positions[static_cast<size_t>(i)] != i * axis.in / axis.out) return false;
    return true;
  });
}

std::optional<TorchStep> step_of_aten(const Resizing& resizing, const Picture& to) {
  const std::string& where = resizing.coordinates;
  const bool half = where == "half_pixel" || (where == "pytorch_half_pixel" && to.size[0] > 1 && to.size[1] > 1);
  const bool corners = where == "align_corners";
  if (resizing.mode == "nearest" && where != "tf_crop_and_resize" && is_nearest_of_aten(resizing))
    return one_output([to](const TorchFrame& frame) { return at::upsample_nearest2d(frame.in(0), to.size); });
  if ((!half && !corners) || resizing.antialias) return std::nullopt;
  if (resizing.mode == "linear")
    return one_output(
        [to, corners](const TorchFrame& frame) { return at::upsample_bilinear2d(frame.in(0), to.size, corners, to.height, to.width); });
  if (resizing.mode == "cubic" && resizing.cubic_coefficient == -0.75f && !resizing.exclude_outside)
    return one_output(
        [to, corners](const TorchFrame& frame) { return at::upsample_bicubic2d(frame.in(0), to.size, corners, to.height, to.width); });
  return std::nullopt;
}

// One axis in general.
struct AxisStep {
  int64_t axis;
  std::vector<at::Tensor> positions, weights;
  at::Tensor outside;  // undefined: nowhere
};

AxisStep axis_step(const TorchCall& call, const Resizing& resizing, const ResizedAxis& axis) {
  const Taps taps = taps_of(resizing, axis);
  AxisStep step{static_cast<int64_t>(axis.axis), {}, {}, {}};
  Shape along(call.shape(0).size(), 1);  // broadcast over the other axes
  along[axis.axis] = axis.out;
  for (const auto& positions : taps.positions) step.positions.push_back(at::tensor(positions, at::kLong).to(call.target.device));
  for (const auto& weights : taps.weights) step.weights.push_back(at::tensor(weights).reshape(along).to(call.target.options()));
  if (std::find(taps.outside.begin(), taps.outside.end(), true) != taps.outside.end()) {
    const std::vector<int64_t> flags(taps.outside.begin(), taps.outside.end());
    step.outside = at::tensor(flags, at::kLong).to(at::kBool).reshape(along).to(call.target.device);
  }
  return step;
}

at::Tensor resized(const at::Tensor& x, const AxisStep& step) {
  if (step.weights.empty()) return at::index_select(x, step.axis, step.positions[0]);
  at::Tensor y;
  for (size_t t = 0; t < step.weights.size(); ++t) {
    const at::Tensor part = at::mul(at::index_select(x, step.axis, step.positions[t]), step.weights[t]);
    y = t == 0 ? part : at::add(y, part);
  }
  return y;
}

TorchStep resize(const TorchCall& call) {
  const auto input = [&](size_t i) -> const Tensor* { return call.has(i) ? &call.constant(i) : nullptr; };
  const Resizing resizing = resizing_of(call.node, call.graph.opset, call.shape(0), input);
  if (resizing.axes.empty()) return one_output([](const TorchFrame& frame) { return frame.in(0); });
  if (const auto picture = picture_of(call, resizing))
    if (auto step = step_of_aten(resizing, *picture)) return *step;
  if (resizing.mode != "nearest" && !call.is_float(0)) call.refuse("mode " + resizing.mode + " of integers");
  std::vector<AxisStep> steps;
  for (const ResizedAxis& axis : resizing.axes) steps.push_back(axis_step(call, resizing, axis));
  const double value = resizing.extrapolation_value;
  return one_output([steps, value](const TorchFrame& frame) {
    at::Tensor y = frame.in(0);
    for (const AxisStep& step : steps) y = resized(y, step);
    for (const AxisStep& step : steps)
      if (step.outside.defined()) y = at::where(step.outside, value, y);
    return y;
  });
}

TorchStep grid_sample(const TorchCall& call) {
  const std::string mode = call.text_of("mode", "linear"), border = call.text_of("padding_mode", "zeros");
  const int64_t kind = mode == "nearest" ? 1 : mode == "cubic" || mode == "bicubic" ? 2 : 0;
  const int64_t beyond = border == "border" ? 1 : border == "reflection" ? 2 : 0;
  const bool align_corners = call.int_of("align_corners", 0) != 0;
  if (kind == 2 && call.shape(0).size() != 4) call.refuse(fmt::format("mode {} of {} dimensions", mode, call.shape(0).size()));
  return one_output([=](const TorchFrame& frame) {
    return at::grid_sampler(frame.in(0), frame.in(1).to(frame.in(0).scalar_type()), kind, beyond, align_corners);
  });
}

const bool registered[] = {
    add_torch_operator("GridSample", grid_sample),
    add_torch_operator("Resize", resize),
    add_torch_operator("Upsample", resize),
};

}  // namespace
}  // namespace deepgap
