// Operators whose output is made of sizes and positions, and those that write into a copy of their input.
#include "model/onnx_types.h"
#include "model/shape_rules.h"
#include "model/tensor_contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

constexpr int64_t most_elements = int64_t{1} << 46;

// A constant number of a floating-point type; nullopt where it is not one.
std::optional<double> number(ShapeContext& context, size_t i) {
  const Tensor* tensor = context.content(i);
  if (tensor == nullptr || element_count(tensor->shape) != 1) return std::nullopt;
  if (tensor->type == DataType::f64) return contents<double>(*tensor)[0];
  return tensor->type == DataType::f32 ? std::optional<double>(contents<float>(*tensor)[0]) : std::nullopt;
}

std::optional<int64_t> integer(ShapeContext& context, size_t i) {
  const auto values = context.known_integers(i);
  return values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
}

// In 128 bits: the difference of two 64-bit numbers may not fit into one.
std::optional<double> steps_of_integers(ShapeContext& context) {
  const auto start = integer(context, 0), limit = integer(context, 1), delta = integer(context, 2);
  if (!start || !limit || !delta) return std::nullopt;
  if (*delta == 0) context.fail("its step is 0");
  const __int128 difference = static_cast<__int128>(*limit) - *start, step = *delta;
  const __int128 steps = (difference + step - (step > 0 ? 1 : -1)) / step;
  return static_cast<double>(steps);
}

std::optional<double> steps_of_floats(ShapeContext& context) {
  const auto start = number(context, 0), limit = number(context, 1), delta = number(context, 2);
  if (!start || !limit || !delta) return std::nullopt;
  if (!(*delta != 0) || !std::isfinite(*delta) || !std::isfinite(*limit - *start))
    context.fail("its step is 0, or its ends are not numbers");
  return std::ceil((*limit - *start) / *delta);
}

void range(ShapeContext& context) {
  const bool floats = context.type(0) == DataType::f32 || context.type(0) == DataType::f64;
  const auto steps = floats ? steps_of_floats(context) : steps_of_integers(context);
  if (steps && *steps > static_cast<double>(most_elements)) context.fail("it has more than 2^46 elements");
  const Dim count = steps ? fixed_dim(static_cast<int64_t>(std::max(0.0, *steps))) : context.unknown(0, 0);
  context.set(0, context.type(0), Dims{count});
}

void eye_like(ShapeContext& context) {
  const int64_t asked = context.int_of("dtype", 0);
  const auto type = asked == 0 ? context.type(0) : data_type_of(asked);
  if (!type) context.fail(fmt::format("dtype {} is not supported", onnx_type_name(asked)));
  if (context.dims(0) && context.dims(0)->size() != 2) context.fail(fmt::format("its input has shape {}", to_string(*context.dims(0))));
  context.set(0, *type, context.dims(0));
}

void one_hot(ShapeContext& context) {
  std::optional<Dims> out = context.dims(0);
  if (out) {
    const size_t axis = context.axis_of("axis", -1, out->size() + 1);
    std::optional<int64_t> depth = integer(context, 1);
    if (const auto float_depth = number(context, 1); float_depth && std::abs(*float_depth) < 0x1p46)
      depth = static_cast<int64_t>(*float_depth);
    out->insert(out->begin() + static_cast<std::ptrdiff_t>(axis), depth ? fixed_dim(*depth) : context.unknown(0, axis));
  }
  context.set(0, context.type(2), std::move(out));
}

const bool registered = add_shape_rules(
    {{"EyeLike", eye_like}, {"OneHot", one_hot}, {"Range", range}, {"ReverseSequence", same_as_input}, {"Scatter", same_as_input}});

}  // namespace
}  // namespace deepgap
