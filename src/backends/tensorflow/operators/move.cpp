// Shapes, joins and moves of elements, and changes of type.
#include "backends/tensorflow/tf_operator.h"
#include "model/padding.h"
#include "model/slicing.h"
#include "model/translated_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace deepgap {
namespace {

using Ints = std::vector<int64_t>;

// The shape was inferred, whatever the operator reads it from.
void reshape(const TfCall& call) { call.out(0, call.scope.reshape(call.in(0), call.output_shape())); }

void identity(const TfCall& call) {
  call.expect_outputs(1);
  const TfLayout layout = call.layout();
  call.out(0, call.in(0, layout), layout);
}

void dropout(const TfCall& call) {
  if (call.values.trains() && (!call.has(1) || call.number(1) != 0))
    call.refuse(
        "training with Dropout is not run, because TensorFlow draws other numbers than the reference; networks of the zoo train "
        "without it by :dropout=0");
  if (call.has(2) && (call.constant(2).data == nullptr || *call.constant(2).data != std::byte{0})) call.refuse("training mode");
  identity(call);
}

void expand(const TfCall& call) { call.out(0, call.scope.binary("BroadcastTo", call.in(0), call.scope.ints(call.output_shape()))); }

void tile(const TfCall& call) { call.out(0, call.scope.binary("Tile", call.in(0), call.scope.ints(call.integers(1)))); }

void transpose(const TfCall& call) {
  Ints reversed(call.shape(0).size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  call.out(0, call.scope.transpose(call.in(0), call.ints_of("perm", reversed)));
}

// Channels last where every part is.
TfLayout layout_of_all(const TfCall& call) {
  for (size_t i = 0; i < call.node.inputs.size(); ++i)
    if (call.layout(i).last) return call.layout(i);
  return {};
}

void concat(const TfCall& call) {
  const TfLayout layout = layout_of_all(call);
  const int64_t axis = call.axis(call.int_of("axis", 0), call.output_shape().size());
  std::vector<TfOutput> parts;
  for (size_t i = 0; i < call.node.inputs.size(); ++i) parts.push_back(call.in(i, layout));
  call.out(0, call.scope.concat(parts, layout.axis(axis)), layout);
}

void split(const TfCall& call) {
  TfScope& s = call.scope;
  const TfLayout layout = call.layout();
  const int64_t axis = call.axis(call.int_of("axis", 0), call.shape(0).size());
  Ints sizes;
  for (size_t i = 0; i < call.node.outputs.size(); ++i) sizes.push_back(call.output_shape(i)[static_cast<size_t>(axis)]);
  const TfOutput parts = s.make("SplitV")
                             .in(call.in(0, layout))
                             .in(s.ints(sizes))
                             .in(s.index(layout.axis(axis)))
                             .integer("num_split", static_cast<int64_t>(sizes.size()))
                             .out();
  for (size_t i = 0; i < sizes.size(); ++i) call.out(i, {parts.operation, static_cast<int>(i)}, layout);
}

void slice(const TfCall& call) {
  TfScope& s = call.scope;
  const Shape shape = call.shape(0);
  const TfLayout layout = call.layout();
  const Ints starts = call.ints_or_input("starts", 1, {}), ends = call.ints_or_input("ends", 2, {});
  Ints axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = call.ints_or_input("axes", 3, axes);
  const Ints steps = call.ints_or_input("steps", 4, Ints(starts.size(), 1));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    call.refuse("starts, ends, axes and steps are not equally many");
  Ints begin(shape.size(), 0), end = shape, step(shape.size(), 1);
  int64_t open_ends = 0;  // those that lie before the first element
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto axis = static_cast<size_t>(call.axis(axes[i], shape.size()));
    if (steps[i] == 0) call.refuse("a step of 0");
    const SliceRange range = slice_range(shape[axis], starts[i], ends[i], steps[i]);
    begin[axis] = range.begin;
    step[axis] = range.step;
    end[axis] = range.count == 0 ? range.begin : range.begin + (range.count - 1) * range.step + (range.step < 0 ? -1 : 1);
    if (end[axis] < 0) open_ends |= int64_t{1} << layout.axis(static_cast<int64_t>(axis));
  }
  call.out(0,
           s.make("StridedSlice")
               .in(call.in(0, layout))
               .in(s.ints(layout.each(begin)))
               .in(s.ints(layout.each(end)))
               .in(s.ints(layout.each(step)))
               .integer("end_mask", open_ends)
               .out(),
           layout);
}

// Negative pads cut off.
void pad_by_value(const TfCall& call, NodePads pads) {
  TfScope& s = call.scope;
  const TfLayout layout = call.layout();
  const double value = call.has(2) ? call.number(2) : call.float_of("value", 0);
  Shape from(pads.begins.size(), 0), sizes = call.shape(0);
  bool cuts = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    from[i] = std::max<int64_t>(0, -pads.begins[i]);
    const int64_t cut = from[i] + std::max<int64_t>(0, -pads.ends[i]);
    cuts = cuts || cut > 0;
    if (cut > sizes[i]) call.refuse("negative pads that cut off more than there is");
    sizes[i] -= cut;
    pads.begins[i] = std::max<int64_t>(0, pads.begins[i]);
    pads.ends[i] = std::max<int64_t>(0, pads.ends[i]);
  }
  TfOutput y = call.in(0, layout);
  if (cuts) y = s.slice(y, layout.each(from), layout.each(sizes));
  call.out(0, s.pad(y, layout.each(pads.begins), layout.each(pads.ends), value), layout);
}

// A border of the tensor's own elements: one axis after the other.
void pad(const TfCall& call) {
  const std::string mode = call.text_of("mode", "constant");
  const NodePads pads = node_pads(call);
  if (mode == "constant") return pad_by_value(call, pads);
  const Shape shape = call.shape(0);
  const TfLayout layout = call.layout();
  TfOutput y = call.in(0, layout);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (pads.begins[axis] == 0 && pads.ends[axis] == 0) continue;
    const auto positions = padded_positions(mode, shape[axis], pads.begins[axis], pads.ends[axis]);
    if (!positions) call.refuse(fmt::format("mode '{}' around an axis of size {}", mode, shape[axis]));
    y = call.scope.gather(y, *positions, layout.axis(static_cast<int64_t>(axis)));
  }
  call.out(0, y, layout);
}

void move_blocks(const TfCall& call, const BlockMoves& moves) {
  TfScope& s = call.scope;
  call.out(0, s.reshape(s.transpose(s.reshape(call.in(0), moves.parts), moves.order), call.output_shape()));
}
void depth_to_space(const TfCall& call) { move_blocks(call, depth_to_space_moves(call)); }
void space_to_depth(const TfCall& call) { move_blocks(call, space_to_depth_moves(call)); }

// Makes those too large to be folded (model/eval/fold_constants.h); one element seen everywhere.
void constant_of_shape(const TfCall& call) {
  TfScope& s = call.scope;
  TfOutput value;
  if (const auto found = call.node.attributes.find("value"); found != call.node.attributes.end()) {
    value = s.reshape(s.constant(std::get<Tensor>(found->second)), {});  // shape inference has looked
  } else {
    value = s.number(TfType::f32, 0);
  }
  call.out(0, s.binary("Fill", s.ints(call.output_shape()), value));
}

// Ones, or truth, on and beside a diagonal.
void eye_like(const TfCall& call) {
  TfScope& s = call.scope;
  const Shape shape = call.output_shape();
  Tensor eye = make_tensor(DataType::f32, shape);
  const auto values = writable<float>(eye);
  std::fill(values.begin(), values.end(), 0.0F);
  const int64_t k = call.int_of("k", 0);
  for (int64_t row = 0; row < shape[0]; ++row)
    if (row + k >= 0 && row + k < shape[1]) values[static_cast<size_t>(row * shape[1] + row + k)] = 1;
  call.out(0, s.cast(s.constant(eye), tf_type(call.output_type())));
}

void cast(const TfCall& call) {
  const TfLayout layout = call.layout();
  call.out(0, call.scope.cast(call.in(0, layout), tf_type(call.output_type())), layout);
}

const bool registered[] = {
    add_tf_operator("Cast", cast),
    add_tf_operator("CastLike", cast),
    add_tf_operator("Concat", concat),
    add_tf_operator("ConstantOfShape", constant_of_shape),
    add_tf_operator("DepthToSpace", depth_to_space),
    add_tf_operator("Dropout", dropout),
    add_tf_operator("Expand", expand),
    add_tf_operator("EyeLike", eye_like),
    add_tf_operator("Flatten", reshape),
    add_tf_operator("Identity", identity),
    add_tf_operator("Pad", pad),
    add_tf_operator("Reshape", reshape),
    add_tf_operator("Slice", slice),
    add_tf_operator("SpaceToDepth", space_to_depth),
    add_tf_operator("Split", split),
    add_tf_operator("Squeeze", reshape),
    add_tf_operator("Tile", tile),
    add_tf_operator("Transpose", transpose),
    add_tf_operator("Unsqueeze", reshape),
};

}  // namespace
}  // namespace deepgap
