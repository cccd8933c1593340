// Operators that pick some elements.
#include "model/shape_rules.h"
#include "model/slicing.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace deepgap {
namespace {

// Attributes to opset 9, inputs 1 to 4 later; nullopt: not known.
struct SliceArguments {
  std::vector<int64_t> starts, ends, axes, steps;
};
std::optional<SliceArguments> slice_arguments(ShapeContext& context) {
  SliceArguments arguments;
  if (!context.has(1)) {
    arguments.starts = context.ints_of("starts", {});
    arguments.ends = context.ints_of("ends", {});
    arguments.axes = context.ints_of("axes", {});
  } else {
    const auto starts = context.known_integers(1), ends = context.known_integers(2);
    const auto axes = context.has(3) ? context.known_integers(3) : std::vector<int64_t>{};
    const auto steps = context.has(4) ? context.known_integers(4) : std::vector<int64_t>{};
    if (!starts || !ends || !axes || !steps) return std::nullopt;
    arguments = {*starts, *ends, *axes, *steps};
  }
  const size_t count = arguments.starts.size();
  if (arguments.axes.empty()) {
    arguments.axes.resize(count);
    std::iota(arguments.axes.begin(), arguments.axes.end(), int64_t{0});
  }
  if (arguments.steps.empty()) arguments.steps.assign(count, 1);
  if (arguments.ends.size() != count || arguments.axes.size() != count || arguments.steps.size() != count)
    context.fail("starts, ends, axes and steps differ in length");
  return arguments;
}

Dim sliced(ShapeContext& context, const Dim& in, const SliceArguments& arguments, size_t i, size_t axis) {
  const auto [start, end, step] = std::tuple(arguments.starts[i], arguments.ends[i], arguments.steps[i]);
  if (in.known()) return fixed_dim(slice_range(in.size, start, end, step).count);
  // All of an open size, or only its end cut off as far as is known to be there.
  if (step == 1 && start == 0 && end >= INT32_MAX) return in;
  return context.unknown(0, axis);
}

void carry_sliced(ShapeContext& context, const SliceArguments& arguments) {
  const auto content = context.carried(0);
  if (!content || context.dims(0)->size() != 1 || arguments.axes.size() != 1) return;
  const SliceRange range = slice_range(static_cast<int64_t>(content->size()), arguments.starts[0], arguments.ends[0], arguments.steps[0]);
  std::vector<Dim> picked;
  for (int64_t i = 0, at = range.begin; i < range.count; ++i, at += range.step) picked.push_back((*content)[static_cast<size_t>(at)]);
  context.carry(0, std::move(picked));
}

void slice(ShapeContext& context) {
  const auto& x = context.dims(0);
  const auto arguments = slice_arguments(context);
  context.set(0, context.type(0), std::nullopt);
  if (!x) return;
  Dims out = *x;
  if (!arguments) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = context.unknown(0, i);
    return context.set(0, context.type(0), std::move(out));
  }
  for (size_t i = 0; i < arguments->axes.size(); ++i) {
    if (arguments->steps[i] == 0) context.fail("a step is 0");
    const size_t axis = context.axis(arguments->axes[i], x->size());
    out[axis] = sliced(context, (*x)[axis], *arguments, i, axis);
  }
  context.set(0, context.type(0), std::move(out));
  carry_sliced(context, *arguments);
}

void gather(ShapeContext& context) {
  const auto& x = context.dims(0);
  const auto& indices = context.dims(1);
  std::optional<Dims> out;
  if (x && indices) {
    if (x->empty()) context.fail("there is nothing to pick from a scalar");
    const auto axis = static_cast<std::ptrdiff_t>(context.axis_of("axis", 0, x->size()));
    out = Dims(x->begin(), x->begin() + axis);
    out->insert(out->end(), indices->begin(), indices->end());
    out->insert(out->end(), x->begin() + axis + 1, x->end());
  }
  context.set(0, context.type(0), std::move(out));
  const auto content = context.carried(0);
  const auto picks = context.known_integers(1);
  if (!content || !picks) return;
  std::vector<Dim> picked;
  for (const int64_t pick : *picks) picked.push_back((*content)[context.axis(pick, content->size())]);
  context.carry(0, std::move(picked));
}

void gather_elements(ShapeContext& context) { context.set(0, context.type(0), context.dims(1)); }

void gather_nd(ShapeContext& context) {
  const auto& x = context.dims(0);
  const auto& indices = context.dims(1);
  const int64_t batch = context.int_of("batch_dims", 0);
  std::optional<Dims> out;
  if (x && indices && !indices->empty() && indices->back().known()) {
    const int64_t depth = indices->back().size;
    const auto rank = static_cast<int64_t>(x->size());
    if (batch < 0 || batch > rank || depth < 0 || depth > rank - batch) context.fail("its indices are deeper than its data");
    out = Dims(indices->begin(), indices->end() - 1);
    out->insert(out->end(), x->begin() + (batch + depth), x->end());
  }
  context.set(0, context.type(0), std::move(out));
}

void top_k(ShapeContext& context) {
  std::optional<Dims> out = context.dims(0);
  std::optional<std::vector<int64_t>> k;
  if (context.has(1))
    k = context.known_integers(1);
  else
    k = std::vector<int64_t>{context.int_of("k", -1)};
  if (out) {
    const size_t axis = context.axis_of("axis", -1, out->size());
    const Dim& available = (*out)[axis];
    if (k && k->size() == 1 && (k->front() < 0 || (available.known() && k->front() > available.size)))
      context.fail(fmt::format("k is {} of an axis of {}", k->front(), to_string({available})));
    (*out)[axis] = k && k->size() == 1 ? fixed_dim(k->front()) : context.unknown(0, axis);
  }
  context.set(0, context.type(0), out);
  context.set(1, DataType::i64, std::move(out));
}

void non_zero(ShapeContext& context) {
  const auto& x = context.dims(0);
  const Dim rank = x ? fixed_dim(std::max<int64_t>(1, static_cast<int64_t>(x->size()))) : context.unknown(0, 0);
  context.set(0, DataType::i64, Dims{rank, context.unknown(0, 1)});
}

const bool registered = add_shape_rules({{"Slice", slice},
                                         {"Gather", gather},
                                         {"GatherElements", gather_elements},
                                         {"GatherND", gather_nd},
                                         {"TopK", top_k},
                                         {"NonZero", non_zero}});

}  // namespace

}  // namespace deepgap
