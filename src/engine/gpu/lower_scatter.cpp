// Elements of a copy replaced at places that indices name. Those that may meet are brought by one thread, in the order of the indices, so
// the result is the same each time.
#include "engine/gpu/generated.h"
#include "engine/gpu/operators.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

namespace deepgap::gpu {
namespace {

struct Scatter {
  std::string unravel, open, place, close;  // text from thread i to the loop over what it brings, where to, and the loop's end
  int64_t threads = 1;
};

// to = to op v.
std::string combined(const std::string& reduction, Element element) {
  const Kind kind = kind_of(element);
  const std::string old = load_text(element, "out[to]");
  std::string value = "v";
  if (reduction == "add") value = fmt::format("{} + v", old);
  if (reduction == "mul") value = fmt::format("{} * v", old);
  if (reduction == "max") value = fmt::format("({0} > v ? {0} : v)", old);
  if (reduction == "min") value = fmt::format("({0} < v ? {0} : v)", old);
  return fmt::format("out[to] = {};", store_text(element, kind, value));
}

bool scatter(Lowering& lowering, const Operation& operation, const std::vector<Operand>& in, const Scatter& text,
             const std::string& update) {
  const Node& node = operation.main;
  const Element element = in[0].form.element;
  const Operand out = lowering.write(operation.output, plain_form(element, in[0].shape));
  lowering.step(operation,
                element_kernel("copy", {out, {in[0]}, kind_of(element), fmt::format("  r = {};", element_here({in[0]}, 0, out.shape))}),
                {in[0]}, {out});
  if (text.threads == 0 || element_count(in[0].shape) == 0) return true;
  const std::string entry = kernel_name(node.op);
  std::string source = fmt::format(
      "typedef long long I;\n{}extern \"C\" __global__ void __launch_bounds__(256) {}(const {}* x1, const {}* x2, {}* out) {{\n",
      generated_prelude(), entry, c_type(in[1].form.element), c_type(in[2].form.element), c_type(element));
  source += fmt::format(
      "  let_next_begin();\n  const I i = I(blockIdx.x) * 256 + threadIdx.x;\n  wait_for_previous();\n  if (i >= I({})) return;\n",
      text.threads);
  source += text.unravel + text.open + text.place +
            fmt::format("  const {} v = {};\n  {}\n", c_type(kind_of(element)),
                        convert_text(kind_of(in[2].form.element), kind_of(element), update),
                        combined(attribute_string(node, "reduction", "none"), element));
  source += text.close + "}\n";
  lowering.step(operation, launch_over(entry, std::move(source), text.threads, 3), {in[1], in[2]}, {out});
  return true;
}

std::string unravel(const Shape& shape, size_t left_out, int64_t& threads) {
  std::string text = "  I rest = i;\n";
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (axis == left_out) continue;
    text += fmt::format("  const I c{0} = rest % I({1}); rest /= I({1});\n", axis, shape[axis] == 0 ? 1 : shape[axis]);
    threads *= shape[axis];
  }
  return text;
}

std::string offset_of(const Operand& operand, const std::vector<std::string>& places) {
  std::string text = "0";
  for (size_t axis = 0; axis < operand.shape.size(); ++axis)
    text += fmt::format(" + ({}) * I({})", places[axis], strides_of(operand.shape, plain_form(operand.form.element, operand.shape))[axis]);
  return text;
}

}  // namespace

bool lower_scatter_elements(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const std::vector<Operand> in{lowering.native(node.inputs[0]), lowering.native(node.inputs[1]), lowering.native(node.inputs[2])};
  const size_t rank = in[0].shape.size();
  const auto axis = lowering.reader(node).axis_of("axis", 0, rank);
  const Shape& indices = in[1].shape;
  Scatter text;
  text.unravel = unravel(indices, axis, text.threads);
  text.open = fmt::format("  for (I c{0} = 0; c{0} < I({1}); ++c{0}) {{\n", axis, indices[axis]);
  auto places = coordinates(rank);
  places[axis] = "p";
  const int64_t size = in[0].shape[axis];
  text.place = fmt::format("  I p = {};\n  if (p < 0) p += {};\n  if (p < 0 || p >= {}) continue;\n  const I to = {};\n",
                           element_at(in, 1, coordinates(rank)), size, size, offset_of(in[0], places));
  text.close = "  }\n";
  return scatter(lowering, operation, in, text, element_at(in, 2, coordinates(rank)));
}

bool lower_scatter_nd(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const std::vector<Operand> in{lowering.native(node.inputs[0]), lowering.native(node.inputs[1]), lowering.native(node.inputs[2])};
  const size_t rank = in[0].shape.size(), tuples = in[1].shape.size() - 1;
  const auto length = static_cast<size_t>(in[1].shape.back());
  Scatter text;
  const Shape slice(in[0].shape.begin() + static_cast<std::ptrdiff_t>(length), in[0].shape.end());
  text.unravel = unravel(slice, rank, text.threads);
  std::vector<std::string> where, places, update;
  for (size_t axis = 0; axis < tuples; ++axis) {
    text.open += fmt::format("  for (I d{0} = 0; d{0} < I({1}); ++d{0}) {{\n", axis, in[1].shape[axis]);
    text.close += "  }\n";
    where.push_back(fmt::format("d{}", axis));
  }
  update = where;
  where.emplace_back();
  for (size_t i = 0; i < length; ++i) {
    where.back() = std::to_string(i);
    text.place += fmt::format("  I p{0} = {1};\n  if (p{0} < 0) p{0} += {2};\n  if (p{0} < 0 || p{0} >= {2}) continue;\n", i,
                              element_at(in, 1, where), in[0].shape[i]);
    places.push_back(fmt::format("p{}", i));
  }
  for (size_t axis = 0; axis < slice.size(); ++axis) {
    places.push_back(fmt::format("c{}", axis));
    update.push_back(fmt::format("c{}", axis));
  }
  if (tuples == 0) {  // `continue` needs a loop
    text.open = "  for (int once = 0; once < 1; ++once) {\n";
    text.close = "  }\n";
  }
  text.place += fmt::format("  const I to = {};\n", offset_of(in[0], places));
  return scatter(lowering, operation, in, text, element_at(in, 2, update));
}

}  // namespace deepgap::gpu
