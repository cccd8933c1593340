// Operators that pick elements by their places, by indices or by their order.
#include "engine/gpu/generated.h"
#include "engine/gpu/operators.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap::gpu {
namespace {

Operand plain_output(Lowering& lowering, ValueId id) { return lowering.write(id, plain_form(lowering.stored(id), lowering.shape(id))); }

bool emit(Lowering& lowering, const Operation& operation, const Operand& out, const std::vector<Operand>& in, Kind kind,
          const std::string& body) {
  lowering.step(operation, element_kernel(operation.main.op, {out, in, kind, body}), in, {out});
  return true;
}

size_t axis_of(const Lowering& lowering, const Node& node, const char* name, int64_t fallback, size_t rank) {
  return lowering.reader(node).axis_of(name, fallback, rank);
}

}  // namespace

bool lower_trilu(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const NodeReader inputs = lowering.reader(node);
  if (inputs.is_open(1)) return false;
  const auto shift = inputs.has(1) ? inputs.integers(1) : std::vector<int64_t>{0};
  const Operand in = lowering.native(node.inputs[0]);
  const size_t rank = in.shape.size();
  const bool upper = attribute_int(node, "upper", 1) != 0;
  const std::string body = fmt::format("  r = (long long)c{} - (long long)c{} {} {}LL ? {} : 0;", rank - 1, rank - 2,
                                       upper ? ">=" : "<=", shift.at(0), element_here({in}, 0, in.shape));
  return emit(lowering, operation, plain_output(lowering, operation.output), {in}, kind_of(in.form.element), body);
}

bool lower_eye_like(Lowering& lowering, const Operation& operation) {
  const std::string body = fmt::format("  r = (long long)c1 - (long long)c0 == {}LL;", attribute_int(operation.main, "k", 0));
  return emit(lowering, operation, plain_output(lowering, operation.output), {}, Kind::integer, body);
}

// Folded before, but for results so large that they stay nodes.
bool lower_constant_of_shape(Lowering& lowering, const Operation& operation) {
  const auto value = operation.main.attributes.find("value");
  const Tensor* given = value == operation.main.attributes.end() ? nullptr : std::get_if<Tensor>(&value->second);
  const std::vector<Operand> in{lowering.native(lowering.add_constant(given != nullptr ? *given : make_tensor(DataType::f32, {1})))};
  return emit(lowering, operation, plain_output(lowering, operation.output), in, kind_of(in[0].form.element),
              fmt::format("  r = {};", element_at(in, 0, {"0"})));
}

bool lower_range(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const std::vector<Operand> in{lowering.native(node.inputs[0]), lowering.native(node.inputs[2])};
  const Kind kind = kind_of(in[0].form.element);
  return emit(lowering, operation, plain_output(lowering, operation.output), in, kind,
              fmt::format("  r = {} + ({})c0 * {};", element_at(in, 0, {}), c_type(kind), element_at(in, 1, {})));
}

bool lower_one_hot(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const std::vector<Operand> in{lowering.native(node.inputs[0]), lowering.native(node.inputs[2])};
  const Operand out = plain_output(lowering, operation.output);
  const size_t axis = axis_of(lowering, node, "axis", -1, out.shape.size());
  auto places = coordinates(out.shape.size());
  places.erase(places.begin() + static_cast<std::ptrdiff_t>(axis));
  const Kind kind = kind_of(in[1].form.element);
  const std::string index = convert_text(kind_of(in[0].form.element), Kind::integer, element_at(in, 0, places));
  const std::string body = fmt::format("  long long p = {0};\n  if (p < 0) p += {1};\n  r = p == c{2} ? {3} : {4};", index, out.shape[axis],
                                       axis, element_at(in, 1, {"1"}), element_at(in, 1, {"0"}));
  return emit(lowering, operation, out, in, kind, body);
}

bool lower_gather_nd(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const std::vector<Operand> in{lowering.native(node.inputs[0]), lowering.native(node.inputs[1])};
  const auto shared = static_cast<size_t>(attribute_int(node, "batch_dims", 0));
  const size_t tuples = in[1].shape.size() - 1;
  const auto length = static_cast<size_t>(in[1].shape.back());
  const Operand out = plain_output(lowering, operation.output);
  std::string body;
  std::vector<std::string> places, where = coordinates(tuples);
  for (size_t axis = 0; axis < shared; ++axis) places.push_back(fmt::format("c{}", axis));
  where.emplace_back();
  for (size_t i = 0; i < length; ++i) {
    where.back() = std::to_string(i);
    const int64_t size = in[0].shape[shared + i];
    body +=
        fmt::format("  long long p{0} = {1};\n  if (p{0} < 0) p{0} += {2};\n  const I g{0} = I(p{0} < 0 ? 0 : p{0} >= {2} ? {3} : p{0});\n",
                    i, element_at(in, 1, where), size, size - 1);
    places.push_back(fmt::format("g{}", i));
  }
  for (size_t axis = shared + length; axis < in[0].shape.size(); ++axis)
    places.push_back(fmt::format("c{}", tuples + axis - shared - length));
  return emit(lowering, operation, out, in, kind_of(in[0].form.element), body + fmt::format("  r = {};", element_at(in, 0, places)));
}

bool lower_cum_sum(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const NodeReader inputs = lowering.reader(node);
  if (!inputs.is_constant(1)) return false;
  const Operand in = lowering.native(node.inputs[0]);
  const auto axis = static_cast<size_t>(inputs.axis(inputs.integers(1).at(0), in.shape.size()));
  const bool reverse = attribute_int(node, "reverse", 0) != 0, exclusive = attribute_int(node, "exclusive", 0) != 0;
  auto places = coordinates(in.shape.size());
  const std::string first = reverse ? fmt::format("c{}{}", axis, exclusive ? " + 1" : "") : "0";
  const std::string end = reverse ? fmt::format("I({})", in.shape[axis]) : fmt::format("c{}{}", axis, exclusive ? "" : " + 1");
  places[axis] = "k";
  const bool sums = node.op == "CumSum";
  const std::string body = fmt::format("  r = {};\n  for (I k = {}; k < {}; ++k) r {}= {};", sums ? 0 : 1, first, end, sums ? "+" : "*",
                                       element_at({in}, 0, places));
  return emit(lowering, operation, plain_output(lowering, operation.output), {in}, kind_of(in.form.element), body);
}

bool lower_reverse_sequence(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const std::vector<Operand> in{lowering.native(node.inputs[0]), lowering.native(node.inputs[1])};
  const size_t rank = in[0].shape.size();
  const size_t time = axis_of(lowering, node, "time_axis", 0, rank), batch = axis_of(lowering, node, "batch_axis", 1, rank);
  auto places = coordinates(rank);
  places[time] = "t";
  const std::string body = fmt::format("  const I n = I({0});\n  const I t = c{1} < n ? n - 1 - c{1} : c{1};\n  r = {2};",
                                       element_at(in, 1, {fmt::format("c{}", batch)}), time, element_at(in, 0, places));
  return emit(lowering, operation, plain_output(lowering, operation.output), in, kind_of(in[0].form.element), body);
}

bool lower_hardmax(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const Operand in = lowering.native(node.inputs[0]);
  const Kind kind = kind_of(in.form.element);
  const bool flattens = lowering.graph().opset < 13;
  const size_t axis = axis_of(lowering, node, "axis", flattens ? 1 : -1, in.shape.size());
  auto places = coordinates(in.shape.size());
  std::string open, close, here = "0";
  for (size_t a = axis; a < (flattens ? in.shape.size() : axis + 1); ++a) {
    places[a] = fmt::format("d{}", a);
    open += fmt::format("  for (I d{0} = 0; d{0} < I({1}); ++d{0}) {{\n", a, in.shape[a]);
    close += "  }\n";
    here = fmt::format("({}) * I({}) + c{}", here, in.shape[a], a);
  }
  const std::string body = fmt::format(
      "  I n = 0, best = 0;\n  {0} most = 0;\n{1}  const {0} v = {2};\n  if (n == 0 || v > most) {{ most = v; best = n; }}\n  ++n;\n{3}  r "
      "= best == {4} ? 1 : 0;",
      c_type(kind), open, element_at({in}, 0, places), close, here);
  return emit(lowering, operation, plain_output(lowering, operation.output), {in}, kind, body);
}

bool lower_lrn(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const Operand in = lowering.native(node.inputs[0]);
  const int64_t size = attribute_int(node, "size", 1), before = (size - 1) / 2, after = size - 1 - before;
  auto places = coordinates(in.shape.size());
  places[1] = "k";
  const std::string body = fmt::format(
      "  float s = 0;\n  for (I k = c1 - {0}; k <= c1 + {1}; ++k) {{\n    if (k < 0 || k >= {2}) continue;\n    const float v = {3};\n    "
      "s += v * v;\n  }}\n  r = {4} / powf({5} + {6} / {7} * s, {8});",
      before, after, in.shape[1], element_at({in}, 0, places), element_here({in}, 0, in.shape),
      number_text(attribute_float(node, "bias", 1.0F)), number_text(attribute_float(node, "alpha", 1e-4F)), size,
      number_text(attribute_float(node, "beta", 0.75F)));
  if (kind_of(in.form.element) != Kind::number) return false;
  return emit(lowering, operation, plain_output(lowering, operation.output), {in}, Kind::number, body);
}

// Pairs of a head's first values are turned by the angle of their position; the rest stays.
bool lower_rotary_embedding(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  std::vector<Operand> in;
  for (ValueId id : node.inputs)
    if (id != no_value) in.push_back(lowering.native(id));
  for (size_t i : {0, 1, 2})
    if (kind_of(in.at(i).form.element) != Kind::number) return false;
  const Shape& x = in[0].shape;
  const bool packed = x.size() == 3;
  const int64_t size = packed ? x[2] / attribute_int(node, "num_heads", 1) : x[3], asked = attribute_int(node, "rotary_embedding_dim", 0);
  const int64_t turned = asked == 0 ? size : asked;
  if (operation.body != nullptr || size == 0) return false;
  const std::string position = packed ? "c1" : "c2", last = fmt::format("c{}", x.size() - 1);
  auto other = coordinates(x.size());
  other.back() = fmt::format("({} - within + other)", last);
  const std::vector<std::string> row =
      in.size() > 3 ? std::vector<std::string>{"row", "pair"} : std::vector<std::string>{"c0", position, "pair"};
  std::string body =
      fmt::format("  const int within = (int)({} % I({})), half = {};\n  r = {};\n", last, size, turned / 2, element_here(in, 0, x));
  const bool interleaved = attribute_int(node, "interleaved", 0) != 0;
  body += fmt::format("  if (within < {}) {{\n", turned);
  if (in.size() > 3) body += fmt::format("    const I row = I({});\n", element_at(in, 3, {"c0", position}));
  body += interleaved ? "    const int pair = within / 2, other = within ^ 1;\n    const bool first = within % 2 == 0;\n"
                      : "    const bool first = within < half;\n    const int pair = first ? within : within - half, other = first ? "
                        "within + half : within - half;\n";
  body += fmt::format("    (void)half;\n    r = {} * r + (first ? -1.0f : 1.0f) * {} * {};\n  }}", element_at(in, 1, row),
                      element_at(in, 2, row), element_at(in, 0, other));
  return emit(lowering, operation, plain_output(lowering, operation.output), in, Kind::number, body);
}

}  // namespace deepgap::gpu
