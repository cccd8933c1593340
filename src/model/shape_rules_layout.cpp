// Operators that move, join, part, repeat or resize.
#include "model/checked.h"
#include "model/resampling.h"
#include "model/shape_rules.h"
#include "model/tensor_contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace deepgap {
namespace {

void transpose(ShapeContext& context) {
  std::optional<Dims> out;
  if (const auto& x = context.dims(0)) {
    std::vector<int64_t> reversed(x->size());
    for (size_t i = 0; i < reversed.size(); ++i) reversed[i] = static_cast<int64_t>(reversed.size() - 1 - i);
    const auto order = context.ints_of("perm", reversed);
    auto sorted = order;
    std::sort(sorted.begin(), sorted.end());
    std::reverse(reversed.begin(), reversed.end());
    if (sorted != reversed) context.fail(fmt::format("perm [{}] is not an order of {}", fmt::join(order, ","), to_string(*x)));
    out.emplace();
    for (const int64_t axis : order) out->push_back((*x)[static_cast<size_t>(axis)]);
  }
  context.set(0, context.type(0), std::move(out));
}

void carry_concatenated(ShapeContext& context) {
  std::vector<Dim> all;
  for (size_t i = 0; i < context.node.inputs.size(); ++i) {
    const auto content = context.carried(i);
    if (!content) return;
    all.insert(all.end(), content->begin(), content->end());
  }
  context.carry(0, std::move(all));
}

void concat(ShapeContext& context) {
  std::optional<Dims> out = context.dims(0);
  for (size_t i = 1; i < context.node.inputs.size(); ++i) {
    if (context.type(i) != context.type(0)) context.fail("its inputs differ in type");
    if (!out || !context.dims(i)) {
      out.reset();
      break;
    }
    const Dims& next = *context.dims(i);
    if (next.size() != out->size()) context.fail(fmt::format("shapes {} and {} do not go together", to_string(*out), to_string(next)));
    const size_t axis = context.axis_of("axis", 1, out->size());
    for (size_t k = 0; k < out->size(); ++k) {
      Dim& at = (*out)[k];
      if (k == axis)
        at = add(at, next[k]).value_or(context.unknown(0, k));
      else if (at.known() && next[k].known() && at != next[k])
        context.fail(fmt::format("input {} has shape {}, those before make {}", i, to_string(next), to_string(*out)));
      else if (!at.known())
        at = next[k];  // both are the same size: the known one says it
    }
  }
  context.set(0, context.type(0), std::move(out));
  carry_concatenated(context);
}

// Returns how large each part is; nullopt: not known.
std::optional<std::vector<Dim>> split_sizes(ShapeContext& context, const Dim& whole) {
  const size_t parts = context.node.outputs.size();
  std::optional<std::vector<int64_t>> given;
  if (context.has(1)) {
    given = context.known_integers(1);
    if (!given) return std::nullopt;
  } else if (context.node.attributes.count("split") != 0) {
    given = context.ints_of("split", {});
  }
  std::vector<Dim> sizes;
  if (given) {
    int64_t sum = 0;
    for (const int64_t size : *given) {
      const auto next = size < 0 ? std::nullopt : checked_add(sum, size);
      if (!next) context.fail(fmt::format("it splits into [{}]", fmt::join(*given, ",")));
      sum = *next;
      sizes.push_back(fixed_dim(size));
    }
    if (given->size() < parts || (whole.known() && sum != whole.size))
      context.fail(fmt::format("[{}] does not split {} into {} outputs", fmt::join(*given, ","), to_string({whole}), parts));
    return sizes;
  }
  const auto count = static_cast<int64_t>(parts);
  if (whole.known()) {
    const int64_t each = (whole.size + count - 1) / count;
    for (int64_t i = 0; i < count; ++i) sizes.push_back(fixed_dim(std::clamp<int64_t>(whole.size - i * each, 0, each)));
    return sizes;
  }
  const auto each = divide(whole, count);
  if (!each) return std::nullopt;
  return std::vector<Dim>(parts, *each);
}

void split(ShapeContext& context) {
  const auto& x = context.dims(0);
  std::optional<std::vector<Dim>> sizes;
  size_t axis = 0;
  if (x) {
    axis = context.axis_of("axis", 0, x->size());
    sizes = split_sizes(context, (*x)[axis]);
  }
  for (size_t i = 0; i < context.node.outputs.size(); ++i) {
    std::optional<Dims> out = x;
    if (out) (*out)[axis] = sizes ? (*sizes)[i] : context.unknown(i, axis);
    context.set(i, context.type(0), std::move(out));
  }
}

void pad(ShapeContext& context) {
  const auto& x = context.dims(0);
  std::optional<std::vector<int64_t>> pads, axes;
  if (context.has(1))
    pads = context.known_integers(1);
  else
    pads = context.ints_of("pads", {});
  if (context.has(3))
    axes = context.known_integers(3);
  else
    axes = std::vector<int64_t>{};
  context.set(0, context.type(0), std::nullopt);
  if (!x || !axes) return;
  if (axes->empty()) {
    axes->resize(x->size());
    std::iota(axes->begin(), axes->end(), int64_t{0});
  }
  Dims out = *x;
  if (pads && pads->size() != 2 * axes->size()) context.fail(fmt::format("{} pads for {} axes", pads->size(), axes->size()));
  for (size_t i = 0; i < axes->size(); ++i) {
    const size_t axis = context.axis((*axes)[i], x->size());
    const auto both = pads ? checked_add((*pads)[i], (*pads)[i + axes->size()]) : std::nullopt;
    if (pads && !both) context.fail("its pads are beyond all reason");
    const auto size = both ? add((*x)[axis], fixed_dim(*both)) : std::nullopt;
    if (!size && (*x)[axis].known() && both) context.fail("its pads are beyond all reason");
    out[axis] = size.value_or(context.unknown(0, axis));
  }
  context.set(0, context.type(0), std::move(out));
}

// A constant float list such as the scales of Resize; nullopt where it is not one.
std::optional<std::vector<float>> floats(ShapeContext& context, size_t i) {
  const Tensor* tensor = context.content(i);
  if (tensor == nullptr || tensor->type != DataType::f32 || tensor->shape.size() != 1 || tensor->shape[0] > 64) return std::nullopt;
  return contents<float>(*tensor);
}

Dim scaled(ShapeContext& context, const Dim& in, float scale, size_t axis) {
  if (!(scale > 0) || !std::isfinite(scale)) context.fail(fmt::format("scale {} is not positive", scale));
  if (static_cast<double>(in.size) * static_cast<double>(scale) > 0x1p46) context.fail("the result has more than 2^46 elements");
  const int64_t size = scaled_size(in.size, scale);
  if (in.known()) return fixed_dim(size);
  // An open size keeps its symbol under a whole factor.
  if (scale == std::floor(scale)) return {size, in.symbol};
  return context.unknown(0, axis);
}

// The scales of Upsample and Resize: an input, or an attribute at opset 7.
std::optional<std::vector<float>> resize_scales(ShapeContext& context) {
  const auto attribute = context.node.attributes.find("scales");
  if (attribute != context.node.attributes.end()) {
    const auto* scales = std::get_if<std::vector<float>>(&attribute->second);
    if (scales == nullptr) context.fail("scales should be a list of floats");
    return *scales;
  }
  const size_t place = context.node.op == "Upsample" || context.graph.opset < 11 ? 1 : 2;
  if (!context.has(place)) return std::nullopt;
  return floats(context, place);
}

// The sizes asked for, by the policy; nullopt: not known.
std::optional<std::vector<Dim>> resize_sizes(ShapeContext& context, const std::vector<size_t>& axes) {
  auto asked = context.has(3) ? context.carried(3) : std::nullopt;
  const std::string policy = context.text_of("keep_aspect_ratio_policy", "stretch");
  if (!asked || asked->size() != axes.size() || policy == "stretch") return asked;
  if (policy != "not_larger" && policy != "not_smaller") context.fail(fmt::format("keep_aspect_ratio_policy '{}' does not exist", policy));
  std::vector<int64_t> in, sizes;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim& from = (*context.dims(0))[axes[i]];
    if (!from.known() || from.size < 1 || !(*asked)[i].known()) return std::vector<Dim>{};
    in.push_back(from.size);
    sizes.push_back((*asked)[i].size);
  }
  std::vector<Dim> kept;
  for (const int64_t size : keep_aspect(in, sizes, policy == "not_larger").sizes) kept.push_back(fixed_dim(size));
  return kept;
}

// Where `axes` is given, the others stay.
void resize(ShapeContext& context) {
  const auto& x = context.dims(0);
  context.set(0, context.type(0), std::nullopt);
  if (!x) return;
  std::vector<size_t> axes(x->size());
  std::iota(axes.begin(), axes.end(), size_t{0});
  if (const auto given = context.ints_of("axes", {}); !given.empty()) {
    axes.clear();
    for (const int64_t axis : given) axes.push_back(context.axis(axis, x->size()));
  }
  const auto scales = resize_scales(context);
  const auto sizes = resize_sizes(context, axes);
  const bool is_scaled = scales ? !scales->empty() : context.has(context.node.op == "Upsample" || context.graph.opset < 11 ? 1 : 2);
  if (!is_scaled && !context.has(3)) context.fail("it has neither scales nor sizes");
  Dims out = *x;
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = axes[i];
    if (sizes && sizes->size() == axes.size())
      out[axis] = (*sizes)[i];
    else if (!sizes && scales && scales->size() == axes.size())
      out[axis] = scaled(context, (*x)[axis], (*scales)[i], axis);
    else
      out[axis] = context.unknown(0, axis);
  }
  context.set(0, context.type(0), std::move(out));
}

void tile(ShapeContext& context) {
  std::optional<Dims> out = context.dims(0);
  const auto repeats = context.carried(1);
  if (out && repeats && repeats->size() != out->size()) context.fail(fmt::format("{} repeats for {}", repeats->size(), to_string(*out)));
  for (size_t i = 0; out && i < out->size(); ++i) {
    if (repeats && (*repeats)[i].size < 0) context.fail("a repeat is negative");
    const auto size = repeats ? multiply((*out)[i], (*repeats)[i]) : std::nullopt;
    (*out)[i] = size.value_or(context.unknown(0, i));
  }
  context.set(0, context.type(0), std::move(out));
}

int64_t block_size(ShapeContext& context) {
  const int64_t block = context.int_of("blocksize", 0);
  if (block < 1 || block > 65536) context.fail(fmt::format("blocksize is {}", block));
  return block;
}

void depth_to_space(ShapeContext& context) {
  std::optional<Dims> out = context.dims(0);
  const int64_t block = block_size(context);
  if (out) {
    if (out->size() != 4) context.fail(fmt::format("its input has shape {}", to_string(*out)));
    const auto channels = divide((*out)[1], block * block);
    if (!channels) context.fail(fmt::format("{} channels do not fill blocks of {}", to_string({(*out)[1]}), block * block));
    (*out)[1] = *channels;
    for (size_t i = 2; i < 4; ++i) (*out)[i] = multiply((*out)[i], fixed_dim(block)).value_or(context.unknown(0, i));
  }
  context.set(0, context.type(0), std::move(out));
}

void space_to_depth(ShapeContext& context) {
  std::optional<Dims> out = context.dims(0);
  const int64_t block = block_size(context);
  if (out) {
    if (out->size() != 4) context.fail(fmt::format("its input has shape {}", to_string(*out)));
    (*out)[1] = multiply((*out)[1], fixed_dim(block * block)).value_or(context.unknown(0, 1));
    for (size_t i = 2; i < 4; ++i) (*out)[i] = divide((*out)[i], block).value_or(context.unknown(0, i));
  }
  context.set(0, context.type(0), std::move(out));
}

const bool registered = add_shape_rules({{"Transpose", transpose},
                                         {"Concat", concat},
                                         {"Split", split},
                                         {"Pad", pad},
                                         {"Resize", resize},
                                         {"Upsample", resize},
                                         {"Tile", tile},
                                         {"DepthToSpace", depth_to_space},
                                         {"SpaceToDepth", space_to_depth}});

}  // namespace

}  // namespace deepgap
