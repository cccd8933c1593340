// Softmax and the normalisations: rows at once.
#include "engine/gpu/kernel_file.h"
#include "engine/gpu/operators.h"
#include "engine/gpu/rows.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace deepgap::gpu {
namespace {

std::vector<size_t> axes_from(size_t first, size_t rank) {
  std::vector<size_t> axes(rank - first);
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

bool run(Lowering& lowering, const Operation& operation, const std::vector<Operand>& in, const std::vector<size_t>& reduced,
         const std::string& text) {
  const Shape& shape = lowering.shape(operation.output);
  const Operand out = lowering.write(operation.output, row_form(in[0], shape, lowering.stored(operation.output)));
  lowering.step(operation, row_kernel(operation.main.op, {out, in, reduced, text}), in, {out});
  return true;
}

}  // namespace

namespace {

// Lowers a Softmax of doubles: a thread for each result goes over its row.
bool softmax_of_doubles(Lowering& lowering, const Operation& operation, const Operand& in, const std::vector<size_t>& reduced) {
  auto places = coordinates(in.shape.size());
  std::string open, close;
  for (size_t axis : reduced) {
    places[axis] = fmt::format("d{}", axis);
    open += fmt::format("  for (I d{0} = 0; d{0} < I({1}); ++d{0}) {{\n", axis, in.shape[axis]);
    close += "  }\n";
  }
  const std::string each = element_at({in}, 0, places), here = element_here({in}, 0, in.shape);
  const char* result = operation.main.op == "Softmax" ? "exp({} - m) / s" : "{} - m - log(s)";
  const std::string body = fmt::format("  double m = {1}, s = 0;\n{0}  m = {2} > m ? {2} : m;\n{3}{0}  s += exp({2} - m);\n{3}  r = {4};",
                                       open, here, each, close, fmt::format(fmt::runtime(result), here));
  const Operand out = lowering.write(operation.output, plain_form(Element::f64, in.shape));
  lowering.step(operation, element_kernel(operation.main.op, {out, {in}, Kind::real, body}), {in}, {out});
  return true;
}

}  // namespace

bool lower_softmax(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const Operand in = lowering.native(node.inputs[0]);
  const Kind kind = kind_of(in.form.element);
  if (kind != Kind::number && kind != Kind::real) return false;
  const size_t rank = in.shape.size();
  const bool flattens = lowering.graph().opset < 13;  // one axis until then meant it and all after it
  const auto axis = lowering.reader(node).axis_of("axis", flattens ? 1 : -1, rank);
  const char* result = node.op == "Softmax" ? "expf(v[j] - m) / s" : "v[j] - m - logf(s)";
  const std::vector<size_t> reduced = flattens ? axes_from(axis, rank) : std::vector<size_t>{axis};
  if (kind == Kind::real) return softmax_of_doubles(lowering, operation, in, reduced);
  return run(lowering, operation, {in}, reduced, fmt::format("#define RESULT {}\n{}", result, kernel_file("softmax_rows")));
}

namespace {

bool normalize(Lowering& lowering, const Operation& operation, const std::vector<Operand>& in, const std::vector<size_t>& reduced,
               const std::string& scaled) {
  const std::string epsilon = number_text(attribute_float(operation.main, "epsilon", 1e-5F));
  return run(
      lowering, operation, in, reduced,
      fmt::format("#define INVERSE (1.0f / sqrtf(variance + {}))\n#define SCALED {}\n{}", epsilon, scaled, kernel_file("normalize_rows")));
}

// Groups of channels are an axis of their own of the same bytes.
bool normalize_groups(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const Shape& shape = lowering.shape(node.inputs[0]);
  const int64_t groups = attribute_int(node, "num_groups", 1), each = shape[1] / groups;
  const Shape apart{shape[0], groups, each, element_count(shape) / std::max<int64_t>(shape[0] * shape[1], 1)};
  if (element_count(shape) == 0) return false;
  const auto regrouped = [&](Operand operand) {
    operand.shape = apart;
    operand.form = plain_form(operand.form.element, apart);
    operand.strides = strides_of(apart, operand.form);
    return operand;
  };
  std::vector<Operand> in{regrouped(lowering.read(node.inputs[0], plain_form(lowering.native(node.inputs[0]).form.element, shape))),
                          lowering.native(node.inputs[1]), lowering.native(node.inputs[2])};
  const std::string place = lowering.graph().opset < 21 ? "c1" : fmt::format("c1 * {} + c2", each);
  const std::string epsilon = number_text(attribute_float(node, "epsilon", 1e-5F));
  const std::string text = fmt::format("#define INVERSE (1.0f / sqrtf(variance + {}))\n#define SCALED * {} + {}\n{}", epsilon,
                                       element_at(in, 1, {place}), element_at(in, 2, {place}), kernel_file("normalize_rows"));
  const Operand out = regrouped(lowering.write(operation.output, plain_form(lowering.stored(operation.output), shape)));
  lowering.step(operation, row_kernel(node.op, {out, in, {2, 3}, text}), in, {out});
  return true;
}

bool divide_by_root_mean_square(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const std::vector<Operand> in{lowering.native(node.inputs[0]), lowering.native(node.inputs[1])};
  if (kind_of(in[1].form.element) != Kind::number) return false;
  const size_t rank = in[0].shape.size();
  const auto first = lowering.reader(node).axis_of("axis", -1, rank);
  return run(
      lowering, operation, in, axes_from(first, rank),
      fmt::format("#define INVERSE (1.0f / sqrtf(block_sum(s) / count + {}))\n#define SCALED * {}\n{}",
                  number_text(attribute_float(node, "epsilon", 1e-5F)), element_here(in, 1, in[0].shape), kernel_file("rms_norm_rows")));
}

bool divide_by_norm(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const Operand in = lowering.native(node.inputs[0]);
  const bool squares = attribute_int(node, "p", 2) == 2;
  const auto axis = lowering.reader(node).axis_of("axis", -1, in.shape.size());
  return run(lowering, operation, {in}, {axis},
             fmt::format("#define TERM {}\n#define ENDED {}\n{}", squares ? "v[j] * v[j]" : "fabsf(v[j])", squares ? "sqrtf(s)" : "s",
                         kernel_file("lp_norm_rows")));
}

bool normalize_axes(Lowering& lowering, const Operation& operation) {
  const Operand in = lowering.native(operation.main.inputs[0]);
  std::vector<size_t> axes;
  for (int64_t axis : attribute_ints(operation.main, "axes", {0, 2, 3}))
    axes.push_back(static_cast<size_t>(lowering.reader(operation.main).axis(axis, in.shape.size())));
  return run(lowering, operation, {in}, axes,
             fmt::format("#define INVERSE (1.0f / (sqrtf(variance) + 1e-9f))\n#define SCALED\n{}", kernel_file("normalize_rows")));
}

}  // namespace

bool lower_normalize(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  if (node.op == "LayerNormalization" && lower_layer_norm(lowering, operation)) return true;
  if (kind_of(lowering.native(node.inputs[0]).form.element) != Kind::number) return false;
  if (node.op == "GroupNormalization") return normalize_groups(lowering, operation);
  if (node.op == "RMSNormalization") return divide_by_root_mean_square(lowering, operation);
  if (node.op == "LpNormalization") return divide_by_norm(lowering, operation);
  if (node.op == "MeanVarianceNormalization") return normalize_axes(lowering, operation);
  const bool by_channel = node.op == "InstanceNormalization";
  for (size_t i = 1; i < node.outputs.size(); ++i)
    if (node.outputs[i] != no_value) return false;
  std::vector<Operand> in;
  for (ValueId id : node.inputs) {
    if (id == no_value || kind_of(lowering.native(id).form.element) != Kind::number) return false;
    in.push_back(lowering.native(id));
  }
  const size_t rank = in[0].shape.size();
  const size_t first = by_channel ? 2 : lowering.reader(node).axis_of("axis", -1, rank);
  const auto parameter = [&](size_t i) {
    if (i >= in.size()) return std::string("0.0f");
    return by_channel ? element_at(in, i, {"c1"}) : element_here(in, i, in[0].shape);
  };
  return normalize(lowering, operation, in, axes_from(first, rank), fmt::format("* {} + {}", parameter(1), parameter(2)));
}

}  // namespace deepgap::gpu
