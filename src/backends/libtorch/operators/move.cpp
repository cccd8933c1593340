// Shapes, joins and moves of elements, and changes of type.
#include "backends/libtorch/torch_operator.h"
#include "backends/libtorch/torch_types.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/pad.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/slice.h>
#include <ATen/ops/split_with_sizes.h>
#include <ATen/ops/tensor.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace deepgap {
namespace {

// The shape was inferred, whatever the operator reads it from.
TorchStep reshape(const TorchCall& call) {
  const Shape shape = call.output_shape();
  return one_output([shape](const TorchFrame& frame) { return frame.in(0).reshape(shape); });
}

TorchStep identity(const TorchCall& call) {
  call.expect_outputs(1);
  return one_output([](const TorchFrame& frame) { return frame.in(0); });
}

TorchStep expand(const TorchCall& call) {
  const Shape shape = call.output_shape();
  return one_output([shape](const TorchFrame& frame) { return frame.in(0).expand(shape); });
}

TorchStep tile(const TorchCall& call) {
  const std::vector<int64_t> repeats = call.integers(1);
  return one_output([repeats](const TorchFrame& frame) { return frame.in(0).repeat(repeats); });
}

TorchStep transpose(const TorchCall& call) {
  std::vector<int64_t> reversed(call.shape(0).size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const std::vector<int64_t> order = call.ints_of("perm", reversed);
  return one_output([order](const TorchFrame& frame) { return frame.in(0).permute(order); });
}

TorchStep concat(const TorchCall& call) {
  const int64_t axis = call.axis(call.int_of("axis", 0), call.output_shape().size());
  return one_output([axis](const TorchFrame& frame) {
    std::vector<at::Tensor> parts;
    for (size_t i = 0; i < frame.inputs(); ++i) parts.push_back(frame.in(i));
    return at::cat(parts, axis);
  });
}

TorchStep split(const TorchCall& call) {
  const int64_t axis = call.axis(call.int_of("axis", 0), call.shape(0).size());
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < call.node.outputs.size(); ++i) sizes.push_back(call.output_shape(i)[static_cast<size_t>(axis)]);
  return [axis, sizes](TorchFrame& frame) {
    std::vector<at::Tensor> parts = at::split_with_sizes(frame.in(0), sizes, axis);
    for (size_t i = 0; i < parts.size(); ++i) frame.out(i) = std::move(parts[i]);
  };
}

struct OneSlice {
  int64_t axis = 0, start = 0, end = 0, step = 1;
  at::Tensor positions;  // where it goes backwards, which cannot be told to ATen
};

at::Tensor sliced(const at::Tensor& x, const OneSlice& slice) {
  if (slice.positions.defined()) return at::index_select(x, slice.axis, slice.positions);
  return at::slice(x, slice.axis, slice.start, slice.end, slice.step);
}

at::Tensor positions_of(const OneSlice& slice, const at::Device& device) {
  std::vector<int64_t> positions;
  for (int64_t at = slice.start; at > slice.end; at += slice.step) positions.push_back(at);
  return at::tensor(positions, at::kLong).to(device);
}

// Where a slice begins and ends, with ONNX's clamping.
OneSlice clamped(int64_t axis, int64_t start, int64_t end, int64_t step, int64_t size) {
  if (start < 0) start += size;
  if (end < 0 && end > INT64_MIN / 2) end += size;
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, size);
    return {axis, start, std::max(start, std::clamp<int64_t>(end, 0, size)), step, {}};
  }
  return {axis, std::clamp<int64_t>(start, 0, size - 1), std::clamp<int64_t>(end, -1, size - 1), step, {}};
}

TorchStep slice(const TorchCall& call) {
  const Shape shape = call.shape(0);
  const std::vector<int64_t> starts = call.ints_or_input("starts", 1, {}), ends = call.ints_or_input("ends", 2, {});
  std::vector<int64_t> axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = call.ints_or_input("axes", 3, axes);
  const std::vector<int64_t> steps = call.ints_or_input("steps", 4, std::vector<int64_t>(starts.size(), 1));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    call.refuse("starts, ends, axes and steps are not equally many");
  std::vector<OneSlice> slices;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t axis = call.axis(axes[i], shape.size());
    if (steps[i] == 0) call.refuse("a step of 0");
    slices.push_back(clamped(axis, starts[i], ends[i], steps[i], shape[static_cast<size_t>(axis)]));
    if (steps[i] < 0) slices.back().positions = positions_of(slices.back(), call.target.device);
  }
  return one_output([slices](const TorchFrame& frame) {
    at::Tensor y = frame.in(0);
    for (const OneSlice& one : slices) y = sliced(y, one);
    return y;
  });
}

TorchStep gather(const TorchCall& call) {
  const Shape shape = call.shape(0), result = call.output_shape();
  const int64_t axis = call.axis(call.int_of("axis", 0), shape.size()), size = shape[static_cast<size_t>(axis)];
  return one_output([=](const TorchFrame& frame) {
    const at::Tensor places = at::remainder(frame.in(1).reshape({-1}), size);  // negative counts from the end
    return at::index_select(frame.in(0), axis, places).reshape(result);
  });
}

// ATen counts from the last dimension, begin and end side by side.
std::vector<int64_t> reversed_pads(const TorchCall& call) {
  const size_t rank = call.shape(0).size();
  const std::vector<int64_t> given = call.ints_or_input("pads", 1, {});
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (call.has(3)) axes = call.integers(3);
  if (given.size() != 2 * axes.size()) call.refuse("pads of the wrong number");
  std::vector<int64_t> pads(2 * rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t from_last = rank - 1 - static_cast<size_t>(call.axis(axes[i], rank));
    pads[2 * from_last] = given[i];
    pads[2 * from_last + 1] = given[i + axes.size()];
  }
  while (pads.size() >= 2 && pads.back() == 0 && pads[pads.size() - 2] == 0) pads.resize(pads.size() - 2);
  return pads;
}

TorchStep pad(const TorchCall& call) {
  const std::vector<int64_t> pads = reversed_pads(call);
  const std::string mode = call.text_of("mode", "constant");
  const double value = call.has(2) ? call.number(2) : call.float_of("value", 0);
  if (mode == "constant") return one_output([=](const TorchFrame& frame) { return at::constant_pad_nd(frame.in(0), pads, value); });
  const std::string named = mode == "edge" ? "replicate" : mode == "reflect" ? "reflect" : "";
  const size_t rank = call.shape(0).size();
  if (named.empty() || rank < 3 || pads.size() > 2 * (rank - 2))
    call.refuse(fmt::format("mode '{}' of these dimensions; constant is run, and edge and reflect of the picture's dimensions", mode));
  if (pads.empty()) return identity(call);
  // All of the picture's dimensions must be given.
  std::vector<int64_t> whole = pads;
  whole.resize(2 * (rank - 2), 0);
  return one_output([=](const TorchFrame& frame) { return at::pad(frame.in(0), whole, named); });
}

// Float32 of the Graph is what the network computes in.
TorchStep cast(const TorchCall& call) {
  const DataType type = call.graph.values[static_cast<size_t>(call.node.outputs.at(0))].type;
  const at::ScalarType to = type == DataType::f32 ? call.target.floats : torch_type(type);
  return one_output([to](const TorchFrame& frame) { return frame.in(0).to(to); });
}

const bool registered[] = {
    add_torch_operator("Cast", cast),         add_torch_operator("CastLike", cast),     add_torch_operator("Concat", concat),
    add_torch_operator("Dropout", identity),  add_torch_operator("Expand", expand),     add_torch_operator("Flatten", reshape),
    add_torch_operator("Gather", gather),     add_torch_operator("Identity", identity), add_torch_operator("Pad", pad),
    add_torch_operator("Reshape", reshape),   add_torch_operator("Slice", slice),       add_torch_operator("Split", split),
    add_torch_operator("Squeeze", reshape),   add_torch_operator("Tile", tile),         add_torch_operator("Transpose", transpose),
    add_torch_operator("Unsqueeze", reshape),
};

}  // namespace
}  // namespace deepgap
