// Shapes, joins and moves of elements.
#include "backends/xla/xla_operator.h"
#include "model/padding.h"
#include "model/resampling.h"
#include "model/slicing.h"
#include "model/translated_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace deepgap {
namespace {

using Ints = std::vector<int64_t>;

// The shape was inferred, whatever the operator reads it from.
void reshape(const XlaCall& call) { call.out(0, call.hlo.reshape(call.in(0), call.output_shape())); }

void identity(const XlaCall& call) {
  call.expect_outputs(1);
  call.out(0, call.in(0));
}

void dropout(const XlaCall& call) {
  if (call.has(2) && (call.constant(2).data == nullptr || *call.constant(2).data != std::byte{0})) call.refuse("training mode");
  identity(call);
}

void expand(const XlaCall& call) { call.out(0, call.hlo.broadcast(call.in(0), call.output_shape())); }

// [a, b] to [1, a, 1, b], broadcast to [repeats, a, repeats, b] and joined.
void tile(const XlaCall& call) {
  HloWriter& h = call.hlo;
  const HloValue x = call.in(0);
  const Ints repeats = call.integers(1);
  Shape apart;
  Ints places;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    places.push_back(static_cast<int64_t>(2 * i) + 1);
    apart.insert(apart.end(), {repeats.at(i), x.shape[i]});
  }
  call.out(0, h.reshape(h.broadcast(x, apart, places), call.output_shape()));
}

void transpose(const XlaCall& call) {
  Ints reversed(call.shape(0).size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  call.out(0, call.hlo.transpose(call.in(0), call.ints_of("perm", reversed)));
}

void concat(const XlaCall& call) {
  std::vector<HloValue> parts;
  for (size_t i = 0; i < call.node.inputs.size(); ++i) parts.push_back(call.in(i));
  call.out(0, call.hlo.concatenate(parts, call.axis(call.int_of("axis", 0), call.output_shape().size())));
}

void split(const XlaCall& call) {
  const HloValue x = call.in(0);
  const auto axis = static_cast<size_t>(call.axis(call.int_of("axis", 0), x.shape.size()));
  Shape begins(x.shape.size(), 0), ends = x.shape;
  for (size_t i = 0; i < call.node.outputs.size(); ++i) {
    ends[axis] = begins[axis] + call.output_shape(i)[axis];
    call.out(i, call.hlo.slice(x, begins, ends, Shape(x.shape.size(), 1)));
    begins[axis] = ends[axis];
  }
}

// A negative step walks over the reversed axis.
void slice(const XlaCall& call) {
  const Shape shape = call.shape(0);
  const Ints starts = call.ints_or_input("starts", 1, {}), ends = call.ints_or_input("ends", 2, {});
  Ints axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = call.ints_or_input("axes", 3, axes);
  const Ints steps = call.ints_or_input("steps", 4, Ints(starts.size(), 1));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    call.refuse("starts, ends, axes and steps are not equally many");
  Shape from(shape.size(), 0), to = shape, step(shape.size(), 1);
  Ints reversed;
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto axis = static_cast<size_t>(call.axis(axes[i], shape.size()));
    if (steps[i] == 0) call.refuse("a step of 0");
    const SliceRange range = slice_range(shape[axis], starts[i], ends[i], steps[i]);
    if (range.step < 0) reversed.push_back(static_cast<int64_t>(axis));
    from[axis] = range.count == 0 ? 0 : range.step < 0 ? shape[axis] - 1 - range.begin : range.begin;
    step[axis] = std::abs(range.step);
    to[axis] = range.count == 0 ? 0 : from[axis] + (range.count - 1) * step[axis] + 1;
  }
  call.out(0, call.hlo.slice(call.hlo.reverse(call.in(0), reversed), from, to, step));
}

HloValue along(HloWriter& h, const HloValue& x, const Ints& positions, size_t axis) {
  Tensor indices = make_tensor(DataType::i64, {static_cast<int64_t>(positions.size())});
  std::copy(positions.begin(), positions.end(), writable<int64_t>(indices).begin());
  return h.gather(x, h.constant(indices), static_cast<int64_t>(axis));
}

// Negative pads cut off, which PadOp of StableHLO does as well.
void pad(const XlaCall& call) {
  const Shape shape = call.shape(0);
  const auto [begins, ends] = node_pads(call);
  const std::string mode = call.text_of("mode", "constant");
  HloValue y = call.in(0);
  if (mode == "constant") return call.out(0, call.hlo.pad(y, begins, ends, call.has(2) ? call.number(2) : call.float_of("value", 0)));
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (begins[axis] == 0 && ends[axis] == 0) continue;
    const auto positions = padded_positions(mode, shape[axis], begins[axis], ends[axis]);
    if (!positions) call.refuse(fmt::format("mode '{}' around an axis of size {}", mode, shape[axis]));
    y = along(call.hlo, y, *positions, axis);
  }
  call.out(0, y);
}

// Negative indices count from the end.
void gather(const XlaCall& call) {
  HloWriter& h = call.hlo;
  const HloValue x = call.in(0), given = call.in(1);
  const int64_t axis = call.axis(call.int_of("axis", 0), x.shape.size());
  const auto size = static_cast<double>(x.shape[static_cast<size_t>(axis)]);
  const HloValue from_end = h.binary("add", given, size);
  call.out(0, h.gather(x, h.select(h.compare("LT", given, h.number(given.type, 0)), from_end, given), axis));
}

void move_blocks(const XlaCall& call, const BlockMoves& moves) {
  HloWriter& h = call.hlo;
  call.out(0, h.reshape(h.transpose(h.reshape(call.in(0), moves.parts), moves.order), call.output_shape()));
}
void depth_to_space(const XlaCall& call) { move_blocks(call, depth_to_space_moves(call)); }
void space_to_depth(const XlaCall& call) { move_blocks(call, space_to_depth_moves(call)); }

// Makes those too large to be folded (model/eval/fold_constants.h).
void constant_of_shape(const XlaCall& call) {
  const auto found = call.node.attributes.find("value");
  if (found == call.node.attributes.end()) return call.out(0, call.hlo.number(call.computed_output(), 0, call.output_shape()));
  const HloValue value = call.hlo.convert(call.hlo.reshape(call.hlo.constant(std::get<Tensor>(found->second)), {}), call.computed_output());
  call.out(0, call.hlo.broadcast(value, call.output_shape(), {}));
}

// One number for each place of the axis, broadcast over the others.
template <typename T>
HloValue numbers_along(HloWriter& h, const HloValue& x, const ResizedAxis& axis, DataType type, const std::vector<T>& numbers) {
  Shape shape(x.shape.size(), 1);
  shape[axis.axis] = axis.out;
  Tensor tensor = make_tensor(type, shape);
  std::copy(numbers.begin(), numbers.end(), writable<T>(tensor).begin());
  return h.constant(tensor);
}

HloValue resized(HloWriter& h, const HloValue& x, const ResizedAxis& axis, const Taps& taps) {
  if (taps.weights.empty()) return along(h, x, taps.positions[0], axis.axis);
  HloValue y;
  for (size_t t = 0; t < taps.weights.size(); ++t) {
    const HloValue weights = h.convert(numbers_along(h, x, axis, DataType::f32, taps.weights[t]), x.type);
    const HloValue part = h.binary("multiply", along(h, x, taps.positions[t], axis.axis), weights);
    y = t == 0 ? part : h.binary("add", y, part);
  }
  return y;
}

// Axis by axis, as model/resampling.h says.
void resize(const XlaCall& call) {
  HloWriter& h = call.hlo;
  const auto input = [&](size_t i) -> const Tensor* { return call.has(i) ? &call.constant(i) : nullptr; };
  const Resizing resizing = resizing_of(call.node, call.graph.opset, call.shape(0), input);
  if (resizing.mode != "nearest" && !call.is_float(0) && !resizing.axes.empty()) call.refuse("mode " + resizing.mode + " of integers");
  HloValue y = call.in(0);
  for (const ResizedAxis& axis : resizing.axes) y = resized(h, y, axis, taps_of(resizing, axis));
  for (const ResizedAxis& axis : resizing.axes) {
    const Taps taps = taps_of(resizing, axis);
    if (std::find(taps.outside.begin(), taps.outside.end(), true) == taps.outside.end()) continue;
    const std::vector<uint8_t> flags(taps.outside.begin(), taps.outside.end());
    y = h.select(numbers_along(h, y, axis, DataType::boolean, flags), h.number(y.type, resizing.extrapolation_value), y);
  }
  call.out(0, y);
}

const bool registered[] = {
    add_xla_operator("Concat", concat),
    add_xla_operator("ConstantOfShape", constant_of_shape),
    add_xla_operator("DepthToSpace", depth_to_space),
    add_xla_operator("Dropout", dropout),
    add_xla_operator("Expand", expand),
    add_xla_operator("Flatten", reshape),
    add_xla_operator("Gather", gather),
    add_xla_operator("Identity", identity),
    add_xla_operator("Pad", pad),
    add_xla_operator("Reshape", reshape),
    add_xla_operator("Resize", resize),
    add_xla_operator("Slice", slice),
    add_xla_operator("SpaceToDepth", space_to_depth),
    add_xla_operator("Split", split),
    add_xla_operator("Squeeze", reshape),
    add_xla_operator("Tile", tile),
    add_xla_operator("Transpose", transpose),
    add_xla_operator("Unsqueeze", reshape),
    add_xla_operator("Upsample", resize),
};

}  // namespace
}  // namespace deepgap
