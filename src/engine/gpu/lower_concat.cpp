// Concat: a thread brings 16 bytes where all operands lie so that it can, else one element.
#include "base/rounding.h"
#include "engine/gpu/generated.h"
#include "engine/gpu/operators.h"
#include "engine/gpu/pointwise.h"

#include <fmt/format.h>

namespace deepgap::gpu {
namespace {

// Operands side by side along `axis` of the result.
struct Joined {
  Operand out;
  std::vector<Operand> in;
  size_t axis = 0;
};

// Returns whether each vector of the result is one of one operand; what is behind an operand's last element may be its padding.
bool by_vectors(const Joined& joined) {
  const Operand& out = joined.out;
  if (out.shape.empty()) return false;
  const int64_t lanes = vector_bytes / static_cast<int64_t>(byte_size(out.form.element));
  const size_t inner = innermost(out.shape, out.form);
  if (round_up(out.shape[inner], lanes) != out.form.pitch || elements_of(out.shape, out.form) / lanes >= (int64_t{1} << 31)) return false;
  int64_t begin = 0;
  for (const Operand& in : joined.in) {
    const bool alike = in.form.element == out.form.element && innermost(in.shape, in.form) == inner;
    if (!alike || in.form.pitch % lanes != 0 || round_up(in.shape[inner], lanes) > in.form.pitch) return false;
    if (joined.axis == inner && begin % lanes != 0) return false;
    begin += in.shape[joined.axis];
  }
  return true;
}

Launch wide_concat(const Joined& joined) {
  const Operand& out = joined.out;
  const int64_t lanes = vector_bytes / static_cast<int64_t>(byte_size(out.form.element));
  const int64_t count = elements_of(out.shape, out.form) / lanes;
  const auto order = order_of(out.shape, out.form);
  const std::string entry = kernel_name("concat"), type = c_type(out.form.element);
  std::string text =
      fmt::format("typedef long long I;\n{}extern \"C\" __global__ void __launch_bounds__(256) {}(", generated_prelude(), entry);
  for (size_t i = 0; i < joined.in.size(); ++i) text += fmt::format("const {}* x{}, ", type, i);
  text += fmt::format(
      "{}* out) {{\n  let_next_begin();\n  const I i = I(blockIdx.x) * 256 + threadIdx.x;\n  wait_for_previous();\n  if (i >= I({})) "
      "return;\n  unsigned rest = unsigned(i);\n",
      type, count);
  for (size_t k = order.size(); k-- > 0;) {
    const bool inner = k + 1 == order.size();
    const int64_t size = inner ? out.form.pitch / lanes : out.shape[order[k]];
    text += fmt::format("  const I c{0} = {1} * I({2}); rest /= {3}u; (void)c{0};\n", order[k],
                        k == 0 ? "rest" : fmt::format("rest % {}u", size), inner ? lanes : 1, size);
  }
  int64_t begin = 0;
  for (size_t n = 0; n < joined.in.size(); ++n) {
    const Operand& in = joined.in[n];
    std::string offset = "0";
    for (size_t axis = 0; axis < in.shape.size(); ++axis)
      offset += fmt::format(" + (c{}{}) * I({})", axis, axis == joined.axis ? fmt::format(" - I({})", begin) : "", in.strides[axis]);
    begin += in.shape[joined.axis];
    const std::string condition = n + 1 == joined.in.size() ? "" : fmt::format("if (c{} < I({})) ", joined.axis, begin);
    text += fmt::format("  {}{}*(uint4*)(out + i * {}) = *(const uint4*)(x{} + {});\n", n == 0 ? "" : "else ", condition, lanes, n, offset);
  }
  return launch_over(entry, text + "}\n", count, joined.in.size() + 1);
}

Launch plain_concat(const Joined& joined) {
  std::string body;
  int64_t begin = 0;
  const Kind kind = kind_of(joined.out.form.element);
  for (size_t i = 0; i < joined.in.size(); ++i) {
    auto places = coordinates(joined.out.shape.size());
    places[joined.axis] = fmt::format("c{} - I({})", joined.axis, begin);
    begin += joined.in[i].shape[joined.axis];
    const std::string value = convert_text(kind_of(joined.in[i].form.element), kind, element_at(joined.in, i, places));
    const std::string condition = i + 1 == joined.in.size() ? "" : fmt::format("if (c{} < I({})) ", joined.axis, begin);
    body += fmt::format("{}  {}r = {};\n", i == 0 ? "" : "  else", condition, value);
  }
  return element_kernel("Concat", {joined.out, joined.in, kind, body});
}

}  // namespace

bool lower_concat(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const Shape& shape = lowering.shape(operation.output);
  Joined joined;
  joined.axis = lowering.reader(node).axis_of("axis", 1, shape.size());
  for (ValueId id : node.inputs)
    if (lowering.shape(id)[joined.axis] != 0) joined.in.push_back(lowering.native(id));
  if (joined.in.empty()) return false;
  const Form form = pointwise_form(lowering, joined.in, shape, lowering.stored(operation.output));
  joined.out = lowering.write(operation.output, joined.in[0].form.channels_last ? channels_last_form(form.element, shape) : form);
  const bool wide = element_count(shape) > 0 && by_vectors(joined);
  lowering.step(operation, wide ? wide_concat(joined) : plain_concat(joined), joined.in, {joined.out});
  return true;
}

}  // namespace deepgap::gpu
