// Operators that bring elements to other places and compute nothing.
#include "base/text.h"
#include "engine/gpu/generated.h"
#include "engine/gpu/operators.h"
#include "engine/gpu/pointwise.h"
#include "model/graph_tools.h"
#include "model/padding.h"
#include "model/slicing.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap::gpu {
namespace {

// Returns how far along the innermost axis of the result its elements lie from their places along the operand's, if both are the same
// elements in the same order. The text of the place shows it: "c3" or "c3 + I(64)".
std::optional<int64_t> shift_of(const std::string& place, size_t axis) {
  const std::string name = fmt::format("c{}", axis), plus = name + " + I(";
  if (place == name) return 0;
  if (!place.starts_with(plus) || place.back() != ')') return std::nullopt;
  return parse_int(place.substr(plus.size(), place.size() - plus.size() - 1));
}

// Elements that a thread brings at once; 1 where neighbours in the result are not neighbours in the operand.
int64_t lanes_of(const Operand& out, const Operand& in, const std::vector<std::string>& places) {
  if (out.shape.empty() || in.shape.empty() || is_padded(out.shape, out.form) || out.form.element != in.form.element) return 1;
  const size_t to = innermost(out.shape, out.form), from = innermost(in.shape, in.form);
  const int64_t lanes = vector_bytes / static_cast<int64_t>(byte_size(out.form.element));
  const auto shift = shift_of(places[from], to);
  if (!shift || *shift % lanes != 0 || out.form.pitch % lanes != 0 || in.strides[from] != 1) return 1;
  for (size_t axis = 0; axis < in.shape.size(); ++axis)
    if (axis != from && in.shape[axis] > 1 && in.strides[axis] % lanes != 0) return 1;
  return lanes;
}

// Like element_kernel, with `lanes` elements a thread. The operand is the first; `before` finds what its places need.
Launch wide_move(const std::string& stem, const Operand& out, const std::vector<Operand>& in, const std::string& before,
                 const std::vector<std::string>& places, int64_t lanes) {
  const auto order = order_of(out.shape, out.form);
  const int64_t count = elements_of(out.shape, out.form) / lanes;
  const std::string entry = kernel_name(stem);
  std::string text =
      fmt::format("typedef long long I;\n{}extern \"C\" __global__ void __launch_bounds__(256) {}(", generated_prelude(), entry);
  for (size_t i = 0; i < in.size(); ++i) text += fmt::format("const {}* x{}, ", c_type(in[i].form.element), i);
  text += fmt::format("{}* out) {{\n  let_next_begin();\n  const I i = I(blockIdx.x) * 256 + threadIdx.x;\n  wait_for_previous();\n",
                      c_type(out.form.element));
  text += fmt::format("  if (i >= I({})) return;\n  unsigned rest = unsigned(i);\n", count);
  for (size_t k = order.size(); k-- > 0;) {
    const int64_t inner = k + 1 == order.size() ? lanes : 1, size = out.shape[order[k]] / inner;
    text += fmt::format("  const I c{0} = {1} * I({2}); rest /= {3}u;\n", order[k], k == 0 ? "rest" : fmt::format("rest % {}u", size),
                        inner, std::max<int64_t>(size, 1));
  }
  text += before;
  std::string offset = "0";
  for (size_t axis = 0; axis < in[0].shape.size(); ++axis)
    if (in[0].shape[axis] > 1) offset += fmt::format(" + ({}) * I({})", places[axis], in[0].strides[axis]);
  text += fmt::format("  *(uint4*)(out + i * {}) = *(const uint4*)(x0 + {});\n}}\n", lanes, offset);
  return launch_over(entry, std::move(text), count, in.size() + 1);
}

// out[c] = in[0] at `places` (texts over out's coordinates, by axis of the input), more inputs for what the texts read.
bool move(Lowering& lowering, const Operation& operation, ValueId id, const Form& form, std::vector<Operand> in, const std::string& before,
          const std::vector<std::string>& places) {
  const Operand out = lowering.write(id, form);
  const std::string body = fmt::format("{}  r = {};", before, element_at(in, 0, places));
  // The inputs of the places must be the same for all elements of a thread.
  const bool varies = !out.shape.empty() && before.find(fmt::format("c{}", innermost(out.shape, out.form))) != std::string::npos;
  const int64_t lanes = varies ? 1 : lanes_of(out, in[0], places);
  const bool wide = lanes > 1 && elements_of(out.shape, out.form) / lanes < (int64_t{1} << 31);
  Launch launch = wide ? wide_move(operation.main.op, out, in, before, places, lanes)
                       : element_kernel(operation.main.op, {out, in, kind_of(in[0].form.element), body});
  lowering.step(operation, std::move(launch), in, {out});
  return true;
}

Form follow(Lowering& lowering, const Operand& of, ValueId id) {
  const Shape& shape = lowering.shape(id);
  const Element element = of.form.element;
  return of.form.channels_last && shape.size() == of.shape.size() ? channels_last_form(element, shape) : plain_form(element, shape);
}

}  // namespace

bool lower_view(Lowering& lowering, const Operation& operation) {
  const ValueId from = operation.main.inputs[0], to = operation.output;
  const Operand made = lowering.native(from);
  if (const Part* part = lowering.part(from)) lowering.note_part(to, Part(*part));
  const Form dense = plain_form(made.form.element, lowering.shape(from));
  if (lowering.shape(from) == lowering.shape(to)) {
    lowering.alias(to, made, made.form);
    return true;
  }
  // Pixels under fewer axes, their channels still last.
  const Shape &before = lowering.shape(from), &after = lowering.shape(to);
  if (made.form.channels_last && after.size() >= 3 && before[0] == after[0] && before[1] == after[1]) {
    lowering.alias(to, made, made.form);
    return true;
  }
  const Operand plain = lowering.read(from, dense);
  lowering.alias(to, plain, plain_form(made.form.element, lowering.shape(to)));
  return true;
}

bool lower_transpose(Lowering& lowering, const Operation& operation) {
  const Operand in = lowering.native(operation.main.inputs[0]);
  const size_t rank = in.shape.size();
  std::vector<int64_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(rank - 1 - i);
  order = attribute_ints(operation.main, "perm", order);
  const Shape& shape = lowering.shape(operation.output);
  const Form dense = plain_form(in.form.element, shape);
  // The same bytes in another order of names, such as channels last to rows of channels.
  const auto strides = strides_of(shape, dense);
  bool lies = elements_of(in.shape, in.form) == element_count(shape);
  for (size_t i = 0; i < rank; ++i) lies = lies && (shape[i] == 1 || in.strides[static_cast<size_t>(order[i])] == strides[i]);
  if (lies) {
    lowering.alias(operation.output, in, dense);
    return true;
  }
  std::vector<std::string> places(rank);
  for (size_t i = 0; i < rank; ++i) places[static_cast<size_t>(order[i])] = fmt::format("c{}", i);
  return move(lowering, operation, operation.output, dense, {in}, "", places);
}

bool lower_split(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const Operand in = lowering.native(node.inputs[0]);
  const auto axis = lowering.reader(node).axis_of("axis", 0, in.shape.size());
  int64_t begin = 0;
  for (ValueId id : node.outputs) {
    if (id == no_value) return false;
    auto places = coordinates(in.shape.size());
    places[axis] = fmt::format("c{} + I({})", axis, begin);
    if (axis + 1 == in.shape.size()) lowering.note_part(id, {node.inputs[0], begin, lowering.shape(id)[axis]});
    begin += lowering.shape(id)[axis];
    move(lowering, operation, id, follow(lowering, in, id), {in}, "", places);
  }
  return true;
}

namespace {

struct Slices {
  std::vector<int64_t> starts, ends, axes, steps;
};

std::optional<Slices> slices_of(const Lowering& lowering, const Node& node, size_t rank) {
  const NodeReader inputs = lowering.reader(node);
  for (size_t i = 1; i < 5; ++i)
    if (inputs.is_open(i)) return std::nullopt;
  Slices slices{inputs.ints_or_input("starts", 1, {}), inputs.ints_or_input("ends", 2, {}), inputs.ints_or_input("axes", 3, {}), {}};
  slices.steps = inputs.has(4) ? inputs.integers(4) : std::vector<int64_t>(slices.starts.size(), 1);
  if (slices.axes.empty())
    for (size_t i = 0; i < slices.starts.size(); ++i) slices.axes.push_back(static_cast<int64_t>(i));
  for (int64_t& axis : slices.axes) axis = inputs.axis(axis, rank);
  return slices;
}

}  // namespace

bool lower_slice(Lowering& lowering, const Operation& operation) {
  const Operand in = lowering.native(operation.main.inputs[0]);
  const auto slices = slices_of(lowering, operation.main, in.shape.size());
  if (!slices) return false;
  auto places = coordinates(in.shape.size());
  for (size_t i = 0; i < slices->axes.size(); ++i) {
    const auto axis = static_cast<size_t>(slices->axes[i]);
    const SliceRange range = slice_range(in.shape[axis], slices->starts[i], slices->ends[i], slices->steps[i]);
    places[axis] = fmt::format("c{} * I({}) + I({})", axis, range.step, range.begin);
  }
  return move(lowering, operation, operation.output, follow(lowering, in, operation.output), {in}, "", places);
}

bool lower_expand(Lowering& lowering, const Operation& operation) {
  const Operand in = lowering.native(operation.main.inputs[0]);
  const size_t rank = lowering.shape(operation.output).size(), lead = rank - in.shape.size();
  std::vector<std::string> places;
  for (size_t axis = 0; axis < in.shape.size(); ++axis) places.push_back(fmt::format("c{} % I({})", axis + lead, in.shape[axis]));
  return move(lowering, operation, operation.output, follow(lowering, in, operation.output), {in}, "", places);
}

namespace {

// The pads of all axes, those before and those after; nullopt where they are not constants.
std::optional<std::pair<std::vector<int64_t>, std::vector<int64_t>>> pads_of(const Lowering& lowering, const Node& node, size_t rank) {
  const NodeReader inputs = lowering.reader(node);
  if (inputs.is_open(1) || inputs.is_open(2) || inputs.is_open(3)) return std::nullopt;
  const auto pads = inputs.ints_or_input("pads", 1, attribute_ints(node, "paddings", {}));
  std::vector<int64_t> axes = inputs.has(3) ? inputs.integers(3) : std::vector<int64_t>();
  if (axes.empty())
    for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  if (pads.size() != 2 * axes.size()) return std::nullopt;
  std::pair result{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(inputs.axis(axes[i], rank));
    result.first[axis] = pads[i];
    result.second[axis] = pads[axes.size() + i];
  }
  return result;
}

// Returns what Pad writes where the input has nothing; it is an operand if the node has one.
std::string fill_text(Lowering& lowering, const Node& node, std::vector<Operand>& operands) {
  if (lowering.reader(node).has(2)) {
    operands.push_back(lowering.native(node.inputs[2]));
    return element_at(operands, operands.size() - 1, {"0"});
  }
  return node.attributes.contains("value") ? number_text(attribute_float(node, "value", 0)) : "0";
}

}  // namespace

bool lower_pad(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const Operand in = lowering.native(node.inputs[0]);
  const size_t rank = in.shape.size();
  const auto pads = pads_of(lowering, node, rank);
  if (!pads) return false;
  const std::string mode = attribute_string(node, "mode", "constant");
  auto places = coordinates(rank);
  std::vector<Operand> operands{in};
  std::string inside;
  for (size_t axis = 0; axis < rank; ++axis) {
    if (pads->first[axis] == 0 && pads->second[axis] == 0) continue;
    if (mode == "constant") {
      places[axis] = fmt::format("(c{} - I({}))", axis, pads->first[axis]);
      inside += fmt::format("{}{} >= 0 && {} < I({})", inside.empty() ? "" : " && ", places[axis], places[axis], in.shape[axis]);
      continue;
    }
    const auto positions = padded_positions(mode, in.shape[axis], pads->first[axis], pads->second[axis]);
    if (!positions) return false;
    operands.push_back(table(lowering, Element::i32, std::vector<int32_t>(positions->begin(), positions->end())));
    places[axis] = fmt::format("x{}[c{}]", operands.size() - 1, axis);
  }
  if (inside.empty()) return move(lowering, operation, operation.output, follow(lowering, in, operation.output), operands, "", places);
  const std::string fill = fill_text(lowering, node, operands);
  const Operand out = lowering.write(operation.output, follow(lowering, in, operation.output));
  const std::string body = fmt::format("  if ({}) r = {}; else r = {};", inside, element_at(operands, 0, places), fill);
  lowering.step(operation, element_kernel(node.op, {out, operands, kind_of(in.form.element), body}), operands, {out});
  return true;
}

// Indices count from the end where they are negative; one outside of the data, which ONNX calls an error, reads the nearest.
bool lower_gather(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const Element element = lowering.stored(operation.output);
  const Operand data = lowering.as_stored(node.inputs[0], element), indices = lowering.native(node.inputs[1]);
  const size_t rank = data.shape.size(), picked = indices.shape.size();
  const auto axis = lowering.reader(node).axis_of("axis", 0, rank);
  const std::vector<Operand> in{data, indices};
  std::vector<std::string> places(rank), where;
  const bool whole = node.op == "Gather";  // slices; else an index for each element
  const size_t out_rank = lowering.shape(operation.output).size();
  for (size_t i = 0; i < out_rank; ++i) {
    if (!whole) {
      where.push_back(fmt::format("c{}", i));
      places[i] = where.back();
    } else if (i >= axis && i < axis + picked) {
      where.push_back(fmt::format("c{}", i));
    } else {
      places[i < axis ? i : i + 1 - picked] = fmt::format("c{}", i);
    }
  }
  places[axis] = "g";
  const int64_t size = data.shape[axis];
  const std::string before = fmt::format("  long long p = {};\n  if (p < 0) p += {};\n  const I g = I(p < 0 ? 0 : p >= {} ? {} : p);\n",
                                         element_at(in, 1, where), size, size, size - 1);
  const Form form = plain_form(data.form.element == Element::f32 ? element : data.form.element, lowering.shape(operation.output));
  return move(lowering, operation, operation.output, form, in, before, places);
}

bool lower_depth(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const Operand in = lowering.native(node.inputs[0]);
  const int64_t block = attribute_int(node, "blocksize", 1);
  std::vector<std::string> places;
  if (node.op == "SpaceToDepth") {
    const int64_t channels = in.shape[1];
    places = {"c0", fmt::format("c1 % I({})", channels), fmt::format("c2 * I({}) + (c1 / I({})) / I({})", block, channels, block),
              fmt::format("c3 * I({}) + (c1 / I({})) % I({})", block, channels, block)};
  } else {
    const int64_t channels = in.shape[1] / (block * block);
    const bool dcr = attribute_string(node, "mode", "DCR") == "DCR";
    const std::string inner = fmt::format("((c2 % I({0})) * I({0}) + c3 % I({0}))", block);
    const std::string channel =
        dcr ? fmt::format("{} * I({}) + c1", inner, channels) : fmt::format("c1 * I({}) + {}", block * block, inner);
    places = {"c0", channel, fmt::format("c2 / I({})", block), fmt::format("c3 / I({})", block)};
  }
  return move(lowering, operation, operation.output, follow(lowering, in, operation.output), {in}, "", places);
}

}  // namespace deepgap::gpu
