// Reduce*, ArgMax, ArgMin, and the global pools: a thread for each result.
#include "engine/gpu/generated.h"
#include "engine/gpu/operators.h"
#include "engine/gpu/pointwise.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace deepgap::gpu {
namespace {

struct Reduction {
  const char* start;  // start value of r
  const char* each;   // takes v in
  const char* end;    // uses `count`
};
const std::map<std::string_view, Reduction> reductions{
    {"ReduceSum", {"0", "r += v;", ""}},
    {"ReduceMean", {"0", "r += v;", "r /= count;"}},
    {"GlobalAveragePool", {"0", "r += v;", "r /= count;"}},
    {"ReduceMax", {"LOWEST", "if (v > r || v != v) r = v;", ""}},
    {"GlobalMaxPool", {"LOWEST", "if (v > r || v != v) r = v;", ""}},
    {"ReduceMin", {"HIGHEST", "if (v < r || v != v) r = v;", ""}},
    {"ReduceProd", {"1", "r *= v;", ""}},
    {"ReduceL1", {"0", "r += v < 0 ? -v : v;", ""}},
    {"ReduceL2", {"0", "r += v * v;", "r = sqrt(r);"}},
    {"ReduceSumSquare", {"0", "r += v * v;", ""}},
    {"ReduceLogSum", {"0", "r += v;", "r = log(r);"}},
};

const char* lowest(Kind kind) {
  return kind == Kind::integer ? "(-9223372036854775807LL - 1)" : kind == Kind::truth ? "false" : "(-1.0f / 0.0f)";
}
const char* highest(Kind kind) { return kind == Kind::integer ? "9223372036854775807LL" : kind == Kind::truth ? "true" : "(1.0f / 0.0f)"; }

// Places of the input: coordinates of the result for axes that stay (`kept`: with size 1 for those that went), those of k for the others.
struct Places {
  std::string unravel;  // defines d0.. from k
  std::vector<std::string> names;
  int64_t count = 1;
};

Places places_of(const Operand& in, const std::vector<int64_t>& axes, bool keeps) {
  Places places;
  std::vector<size_t> order;
  size_t next = 0;
  for (size_t axis = 0; axis < in.shape.size(); ++axis) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
    places.names.push_back(fmt::format("{}{}", reduced ? "d" : "c", reduced || keeps ? axis : next));
    if (!reduced) ++next;
    if (reduced) order.push_back(axis);
    if (reduced) places.count *= in.shape[axis];
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return in.strides[a] > in.strides[b]; });
  places.unravel = "    I t = k;\n";
  for (size_t i = order.size(); i-- > 0;)
    places.unravel += i == 0 ? fmt::format("    const I d{} = t;\n", order[i])
                             : fmt::format("    const I d{0} = t % I({1}); t /= I({1});\n", order[i], in.shape[order[i]]);
  return places;
}

bool reduce(Lowering& lowering, const Operation& operation, const std::vector<int64_t>& axes, bool keeps, const Reduction& reduction) {
  const Operand in = lowering.native(operation.main.inputs[0]);
  const auto& source = operation.integers.empty() ? std::nullopt : operation.integers[0];
  if (source && (!source->per_tensor() || !operation.result || !operation.result->per_tensor())) return false;
  const Kind kind = source ? Kind::number : kind_of(in.form.element);
  const Shape& shape = lowering.shape(operation.output);
  const Element element = lowering.stored(operation.output);
  const bool follows = in.form.channels_last && shape.size() == in.shape.size();
  const Operand out = lowering.write(operation.output, follows ? channels_last_form(element, shape) : plain_form(element, shape));
  const Places places = places_of(in, axes, keeps);
  std::string value = convert_text(kind_of(in.form.element), kind, element_at({in}, 0, places.names));
  if (source) value = dequantize_text(*source, value);
  std::string start = reduction.start;
  if (start == "LOWEST") start = lowest(kind);
  if (start == "HIGHEST") start = highest(kind);
  std::string end = reduction.end;
  if (operation.result) end += fmt::format(" r = {};", quantize_text(*operation.result, "r"));
  const std::string body =
      fmt::format("  r = {};\n  const I count = {};\n  for (I k = 0; k < count; ++k) {{\n{}    const {} v = {};\n    {}\n  }}\n  {}", start,
                  places.count, places.unravel, c_type(kind), value, reduction.each, end);
  lowering.step(operation, element_kernel(operation.main.op, {out, {in}, kind, body}), {in}, {out});
  return true;
}

// Less the largest first, so that no power is too large.
bool log_sum_exp(Lowering& lowering, const Operation& operation, const std::vector<int64_t>& axes, bool keeps) {
  const Operand in = lowering.native(operation.main.inputs[0]);
  const Kind kind = kind_of(in.form.element);
  if (kind != Kind::number && kind != Kind::real) return false;
  const Places places = places_of(in, axes, keeps);
  const std::string loop = fmt::format("  for (I k = 0; k < I({}); ++k) {{\n{}    const {} v = {};\n", places.count, places.unravel,
                                       c_type(kind), element_at({in}, 0, places.names));
  const std::string body = fmt::format(
      "  {0} most = {1};\n{2}    if (v > most) most = v;\n  }}\n  const bool none = most - most != 0;\n  r = 0;\n{2}    r += exp(v - (none "
      "? 0 : most));\n  }}\n  r = log(r) + (none ? 0 : most);",
      c_type(kind), lowest(kind), loop);
  const Operand out = lowering.write(operation.output, plain_form(lowering.stored(operation.output), lowering.shape(operation.output)));
  lowering.step(operation, element_kernel(operation.main.op, {out, {in}, kind, body}), {in}, {out});
  return true;
}

bool global_norm(Lowering& lowering, const Operation& operation) {
  const auto p = static_cast<float>(attribute_int(operation.main, "p", 2));
  const std::string each = fmt::format("r += powf(fabsf(v), {});", number_text(p)),
                    end = fmt::format("r = powf(r, {});", number_text(1 / p));
  std::vector<int64_t> axes;
  for (size_t axis = 2; axis < lowering.shape(operation.main.inputs[0]).size(); ++axis) axes.push_back(static_cast<int64_t>(axis));
  return reduce(lowering, operation, axes, true, {"0", each.c_str(), end.c_str()});
}

// ArgMax, ArgMin: the first, or the last, of equal ones.
bool choose(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const Operand in = lowering.native(node.inputs[0]);
  const Kind kind = kind_of(in.form.element);
  const int64_t axis = lowering.reader(node).axis(attribute_int(node, "axis", 0), in.shape.size());
  const Places places = places_of(in, {axis}, attribute_int(node, "keepdims", 1) != 0);
  const char* better = node.op == "ArgMax" ? ">" : "<";
  const char* equal = attribute_int(node, "select_last_index", 0) != 0 ? "=" : "";
  const std::string value = element_at({in}, 0, places.names);
  const std::string body = fmt::format(
      "  r = 0;\n  {0} best = 0;\n  for (I k = 0; k < {1}; ++k) {{\n{2}    const {0} v = {3};\n    if (k == 0 || v {4}{5} best) {{ best = "
      "v; r = k; }}\n  }}",
      c_type(kind), places.count, places.unravel, value, better, equal);
  const Operand out = lowering.write(operation.output, plain_form(lowering.stored(operation.output), lowering.shape(operation.output)));
  lowering.step(operation, element_kernel(node.op, {out, {in}, Kind::integer, body}), {in}, {out});
  return true;
}

}  // namespace

bool lower_reduce(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  if (node.op == "ArgMax" || node.op == "ArgMin") return choose(lowering, operation);
  const auto found = reductions.find(node.op);
  const size_t rank = lowering.shape(node.inputs[0]).size();
  const NodeReader inputs = lowering.reader(node);
  if (node.op == "ReduceLogSumExp" && !inputs.is_open(1))
    return log_sum_exp(lowering, operation, reduced_axes(inputs, rank), attribute_int(node, "keepdims", 1) != 0);
  if (node.op == "GlobalLpPool") return global_norm(lowering, operation);
  if (found == reductions.end() || inputs.is_open(1)) return false;
  if (node.op.starts_with("Global")) {
    std::vector<int64_t> axes;
    for (size_t axis = 2; axis < rank; ++axis) axes.push_back(static_cast<int64_t>(axis));
    return reduce(lowering, operation, axes, true, found->second);
  }
  if (operation.is_quantized()) return false;
  return reduce(lowering, operation, reduced_axes(inputs, rank), attribute_int(node, "keepdims", 1) != 0, found->second);
}

}  // namespace deepgap::gpu
