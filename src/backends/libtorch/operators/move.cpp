// Shapes, joins and moves of elements, and changes of type.
#include "backends/libtorch/step_integers.h"
#include "backends/libtorch/torch_operator.h"
#include "backends/libtorch/torch_types.h"
#include "model/padding.h"
#include "model/slicing.h"
#include "model/translated_nodes.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/pad.h>
#include <ATen/ops/pixel_shuffle.h>
#include <ATen/ops/slice.h>
#include <ATen/ops/split_with_sizes.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace deepgap {
namespace {

// The shape was inferred, whatever the operator reads it from.
TorchStep reshape_as_inferred(const TorchCall& call) {
  const Shape shape = call.output_shape();
  return one_output([shape](const TorchFrame& frame) { return frame.in(0).reshape(shape); });
}

TorchStep reshape(const TorchCall& call) {
  if (call.has_output_shape()) return reshape_as_inferred(call);
  const StepIntegers wanted(call, 1);
  const bool copies = call.int_of("allowzero", 0) == 0;  // a size of the input where the shape has 0
  return one_output([=](const TorchFrame& frame) {
    std::vector<int64_t> shape = wanted.of(frame);
    for (size_t i = 0; i < shape.size(); ++i)
      if (copies && shape[i] == 0) shape[i] = frame.in(0).size(static_cast<int64_t>(i));
    return frame.in(0).reshape(shape);
  });
}

TorchStep flatten(const TorchCall& call) {
  if (call.has_output_shape()) return reshape_as_inferred(call);
  const auto rank = static_cast<int64_t>(call.rank(0));
  const int64_t given = call.int_of("axis", 1), axis = given == rank ? rank : call.axis(given, call.rank(0));
  return one_output([axis](const TorchFrame& frame) {
    const auto sizes = frame.in(0).sizes();
    const auto first = sizes.slice(0, static_cast<size_t>(axis)), last = sizes.slice(static_cast<size_t>(axis));
    return frame.in(0).reshape({element_count(Shape(first.begin(), first.end())), element_count(Shape(last.begin(), last.end()))});
  });
}

// Ascending, counted from 0.
std::vector<int64_t> moved_axes(const TorchCall& call, size_t rank) {
  std::vector<int64_t> axes = call.ints_or_input("axes", 1, {});
  for (int64_t& axis : axes) axis = call.axis(axis, rank);
  std::sort(axes.begin(), axes.end());
  return axes;
}

TorchStep squeeze(const TorchCall& call) {
  const std::vector<int64_t> axes = call.has_output_shape() ? std::vector<int64_t>() : moved_axes(call, call.rank(0));
  if (axes.empty()) return reshape_as_inferred(call);
  return one_output([axes](const TorchFrame& frame) {
    at::Tensor y = frame.in(0);
    for (size_t i = axes.size(); i-- > 0;) y = y.squeeze(axes[i]);
    return y;
  });
}

TorchStep unsqueeze(const TorchCall& call) {
  if (call.has_output_shape()) return reshape_as_inferred(call);
  const std::vector<int64_t> axes = moved_axes(call, call.output_rank());
  return one_output([axes](const TorchFrame& frame) {
    at::Tensor y = frame.in(0);
    for (const int64_t axis : axes) y = y.unsqueeze(axis);
    return y;
  });
}

TorchStep identity(const TorchCall& call) {
  call.expect_outputs(1);
  return one_output([](const TorchFrame& frame) { return frame.in(0); });
}

// Random numbers are the device's default generator's, which training seeds.
TorchStep drop_some(const TorchCall& call) {
  call.expect_outputs(1);
  const double ratio = call.has(1) ? call.number(1) : call.float_of("ratio", 0.5f);
  if (ratio == 0) return identity(call);
  return one_output([ratio](const TorchFrame& frame) { return at::dropout(frame.in(0), ratio, true); });
}

TorchStep dropout(const TorchCall& call) {
  if (call.target.trains) return drop_some(call);
  if (call.has(2) && (call.constant(2).data == nullptr || *call.constant(2).data != std::byte{0})) call.refuse("training mode");
  return identity(call);
}

// ONNX's shape may have a size of 1 where the input is larger.
TorchStep expand_while_running(const TorchCall& call) {
  const StepIntegers wanted(call, 1);
  return one_output([wanted](const TorchFrame& frame) {
    std::vector<int64_t> shape = wanted.of(frame);
    const auto sizes = frame.in(0).sizes();
    if (shape.size() < sizes.size()) shape.insert(shape.begin(), sizes.size() - shape.size(), 1);
    const size_t before = shape.size() - sizes.size();
    for (size_t i = 0; i < sizes.size(); ++i)
      if (shape[before + i] == 1) shape[before + i] = sizes[i];
    return frame.in(0).expand(shape);
  });
}

TorchStep expand(const TorchCall& call) {
  if (!call.has_output_shape()) return expand_while_running(call);
  const Shape shape = call.output_shape();
  return one_output([shape](const TorchFrame& frame) { return frame.in(0).expand(shape); });
}

TorchStep tile(const TorchCall& call) {
  const StepIntegers repeats(call, 1);
  return one_output([repeats](const TorchFrame& frame) { return frame.in(0).repeat(repeats.of(frame)); });
}

TorchStep transpose(const TorchCall& call) {
  std::vector<int64_t> reversed(call.rank(0));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const std::vector<int64_t> order = call.ints_of("perm", reversed);
  return one_output([order](const TorchFrame& frame) { return frame.in(0).permute(order); });
}

TorchStep concat(const TorchCall& call) {
  const int64_t axis = call.axis(call.int_of("axis", 0), call.output_rank());
  return one_output([axis](const TorchFrame& frame) {
    std::vector<at::Tensor> parts;
    for (size_t i = 0; i < frame.inputs(); ++i) parts.push_back(frame.in(i));
    const TorchNoAutocast plain;
    return at::cat(parts, axis);
  });
}

TorchStep split(const TorchCall& call) {
  const int64_t axis = call.axis(call.int_of("axis", 0), call.rank(0));
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < call.node.outputs.size(); ++i) sizes.push_back(call.output_size(i, axis));
  return [axis, sizes](TorchFrame& frame) {
    std::vector<at::Tensor> parts = at::split_with_sizes(frame.in(0), sizes, axis);
    for (size_t i = 0; i < parts.size(); ++i) frame.out(i) = std::move(parts[i]);
  };
}

struct OneSlice {
  int64_t axis = 0;
  SliceRange range;
  at::Tensor positions;  // where it goes backwards, which ATen's slice cannot do
};

at::Tensor sliced(const at::Tensor& x, const OneSlice& slice) {
  if (slice.positions.defined()) return at::index_select(x, slice.axis, slice.positions);
  const auto& [begin, step, count] = slice.range;
  return at::slice(x, slice.axis, begin, begin + (count == 0 ? 0 : (count - 1) * step + 1), step);
}

at::Tensor positions_of(const SliceRange& range, const at::Device& device) {
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < range.count; ++i) positions.push_back(range.begin + i * range.step);
  return at::tensor(positions, at::kLong).to(device);
}

struct SliceEdges {
  StepIntegers starts, ends;
  std::vector<int64_t> axes, steps;
};

SliceEdges slice_edges(const TorchCall& call) {
  SliceEdges edges{step_integers(call, "starts", 1, {}), step_integers(call, "ends", 2, {}), {}, {}};
  const auto known = edges.starts.known();
  const size_t count = known ? known->size() : static_cast<size_t>(element_count(call.shape(1)));
  edges.axes.resize(count);
  std::iota(edges.axes.begin(), edges.axes.end(), 0);
  edges.axes = call.ints_or_input("axes", 3, edges.axes);
  edges.steps = call.ints_or_input("steps", 4, std::vector<int64_t>(count, 1));
  const auto ends = edges.ends.known();
  const size_t end_count = ends ? ends->size() : static_cast<size_t>(element_count(call.shape(2)));
  if (end_count != count || edges.axes.size() != count || edges.steps.size() != count)
    call.refuse("starts, ends, axes and steps are not equally many");
  for (int64_t& axis : edges.axes) axis = call.axis(axis, call.rank(0));
  if (std::find(edges.steps.begin(), edges.steps.end(), 0) != edges.steps.end()) call.refuse("a step of 0");
  return edges;
}

std::vector<OneSlice> slices_of(std::span<const int64_t> shape, const SliceEdges& edges, const std::vector<int64_t>& starts,
                                const std::vector<int64_t>& ends, const at::Device& device) {
  std::vector<OneSlice> slices;
  for (size_t i = 0; i < edges.axes.size(); ++i) {
    slices.push_back({edges.axes[i], slice_range(shape[static_cast<size_t>(edges.axes[i])], starts[i], ends[i], edges.steps[i]), {}});
    if (slices.back().range.step < 0) slices.back().positions = positions_of(slices.back().range, device);
  }
  return slices;
}

at::Tensor sliced(at::Tensor y, const std::vector<OneSlice>& slices) {
  for (const OneSlice& one : slices) y = sliced(y, one);
  return y;
}

TorchStep slice(const TorchCall& call) {
  const SliceEdges edges = slice_edges(call);
  if (call.has_shape(0) && edges.starts.known() && edges.ends.known()) {
    const auto slices = slices_of(call.shape(0), edges, *edges.starts.known(), *edges.ends.known(), call.target.device);
    return one_output([slices](const TorchFrame& frame) { return sliced(frame.in(0), slices); });
  }
  return one_output([edges, device = call.target.device](const TorchFrame& frame) {
    const at::Tensor& x = frame.in(0);
    return sliced(x, slices_of(x.sizes(), edges, edges.starts.of(frame), edges.ends.of(frame), device));
  });
}

// ATen counts from the last dimension, begin and end side by side.
std::vector<int64_t> reversed_pads(const TorchCall& call) {
  const NodePads given = node_pads(call);
  std::vector<int64_t> pads;
  for (size_t axis = given.begins.size(); axis-- > 0;) pads.insert(pads.end(), {given.begins[axis], given.ends[axis]});
  while (pads.size() >= 2 && pads.back() == 0 && pads[pads.size() - 2] == 0) pads.resize(pads.size() - 2);
  return pads;
}

// A border of the tensor's own elements along any axes: one axis after the other.
TorchStep pad_by_positions(const TorchCall& call, const std::vector<int64_t>& pads, const std::string& mode) {
  const Shape shape = call.shape(0);
  std::vector<std::pair<int64_t, at::Tensor>> steps;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const size_t from_last = shape.size() - 1 - axis;
    if (2 * from_last >= pads.size()) continue;
    const auto positions = padded_positions(mode, shape[axis], pads[2 * from_last], pads[2 * from_last + 1]);
    if (!positions) call.refuse(fmt::format("mode '{}' around an axis of size {}", mode, shape[axis]));
    steps.emplace_back(static_cast<int64_t>(axis), at::tensor(*positions, at::kLong).to(call.target.device));
  }
  return one_output([steps](const TorchFrame& frame) {
    at::Tensor y = frame.in(0);
    for (const auto& [axis, positions] : steps) y = at::index_select(y, axis, positions);
    return y;
  });
}

// Returns whether ATen's own kernels do it: for images, and for borders that reflecting once fills.
bool pads_like_aten(const TorchCall& call, const std::vector<int64_t>& pads, const std::string& mode) {
  const Shape shape = call.shape(0);
  const size_t rank = shape.size();
  if (rank < 3 || rank > 5 || pads.size() > 2 * (rank - 2) || !call.is_float(0) || element_count(shape) == 0) return false;
  for (size_t i = 0; i < pads.size(); ++i)
    if (pads[i] < 0 || (mode == "reflect" && pads[i] >= shape[rank - 1 - i / 2])) return false;
  return mode == "edge" || mode == "reflect";
}

TorchStep pad(const TorchCall& call) {
  const std::vector<int64_t> pads = reversed_pads(call);
  const std::string mode = call.text_of("mode", "constant");
  const double value = call.has(2) ? call.number(2) : call.float_of("value", 0);
  if (mode == "constant") return one_output([=](const TorchFrame& frame) { return at::constant_pad_nd(frame.in(0), pads, value); });
  if (!pads_like_aten(call, pads, mode)) return pad_by_positions(call, pads, mode);
  // All of the picture's dimensions must be given.
  std::vector<int64_t> whole = pads;
  whole.resize(2 * (call.shape(0).size() - 2), 0);
  const std::string named = mode == "edge" ? "replicate" : "reflect";
  return one_output([=](const TorchFrame& frame) { return at::pad(frame.in(0), whole, named); });
}

TorchStep move_blocks(const TorchCall& call, const BlockMoves& moves) {
  const Shape out = call.output_shape();
  return one_output([=](const TorchFrame& frame) { return frame.in(0).reshape(moves.parts).permute(moves.order).reshape(out); });
}

TorchStep depth_to_space(const TorchCall& call) {
  const BlockMoves moves = depth_to_space_moves(call);
  if (call.text_of("mode", "DCR") != "CRD") return move_blocks(call, moves);
  const int64_t block = moves.parts[2];
  return one_output([block](const TorchFrame& frame) { return at::pixel_shuffle(frame.in(0), block); });
}

TorchStep space_to_depth(const TorchCall& call) { return move_blocks(call, space_to_depth_moves(call)); }

// Makes those too large to be folded (model/eval/fold_constants.h), or of sizes that change; one element seen everywhere.
TorchStep constant_of_shape(const TorchCall& call) {
  const StepIntegers shape = call.has_output_shape() ? StepIntegers(call.output_shape()) : StepIntegers(call, 0);
  at::Tensor value = at::zeros({}, call.target.options());
  if (const auto found = call.node.attributes.find("value"); found != call.node.attributes.end()) {
    const Tensor& given = std::get<Tensor>(found->second);  // shape inference has looked
    value = torch_copy(given).reshape({}).to(call.target.device);
    if (given.type == DataType::f32) value = value.to(call.target.floats);
  }
  return one_output([value, shape](const TorchFrame& frame) { return value.expand(shape.of(frame)); });
}

TorchStep eye_like(const TorchCall& call) {
  const Shape shape = call.output_shape();
  const DataType type = call.graph.values[static_cast<size_t>(call.node.outputs.at(0))].type;
  at::Tensor eye = at::zeros(shape, at::TensorOptions(type == DataType::f32 ? call.target.floats : torch_type(type)));
  const int64_t k = call.int_of("k", 0);
  if (k > -shape[0] && k < shape[1]) eye.diagonal(k).fill_(1);
  eye = eye.to(call.target.device);
  return one_output([eye](const TorchFrame&) { return eye; });
}

// Float32 of the Graph is what the network computes in.
TorchStep cast(const TorchCall& call) {
  const DataType type = call.graph.values[static_cast<size_t>(call.node.outputs.at(0))].type;
  const at::ScalarType to = type == DataType::f32 ? call.target.floats : torch_type(type);
  return one_output([to](const TorchFrame& frame) { return frame.in(0).to(to); });
}

const bool registered[] = {
    add_torch_operator("Cast", cast),
    add_torch_operator("CastLike", cast),
    add_torch_operator("Concat", concat),
    add_torch_operator("ConstantOfShape", constant_of_shape),
    add_torch_operator("DepthToSpace", depth_to_space),
    add_torch_operator("Dropout", dropout),
    add_torch_operator("Expand", expand),
    add_torch_operator("EyeLike", eye_like),
    add_torch_operator("Flatten", flatten),
    add_torch_operator("Identity", identity),
    add_torch_operator("Pad", pad),
    add_torch_operator("Reshape", reshape),
    add_torch_operator("Slice", slice),
    add_torch_operator("SpaceToDepth", space_to_depth),
    add_torch_operator("Split", split),
    add_torch_operator("Squeeze", squeeze),
    add_torch_operator("Tile", tile),
    add_torch_operator("Transpose", transpose),
    add_torch_operator("Unsqueeze", unsqueeze),
};

}  // namespace
}  // namespace deepgap
