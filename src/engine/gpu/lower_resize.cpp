// Resize and Upsample: all axes at once, each a weighted sum of few elements (model/resampling.h), by tables made at load.
#include "engine/gpu/generated.h"
#include "engine/gpu/operators.h"
#include "model/resampling.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap::gpu {
namespace {

// The loops over one axis's taps, and what stands in the innermost.
struct Nest {
  std::string open, close, weight = "1.0f", outside;
};

void add_axis(Lowering& lowering, const ResizedAxis& axis, const Taps& taps, std::vector<Operand>& in, std::vector<std::string>& places,
              Nest& nest) {
  std::vector<int32_t> positions;
  std::vector<float> weights;
  for (size_t t = 0; t < taps.positions.size(); ++t)
    for (size_t i = 0; i < taps.positions[t].size(); ++i) {
      positions.push_back(static_cast<int32_t>(taps.positions[t][i]));
      if (!taps.weights.empty()) weights.push_back(taps.weights[t][i]);
    }
  const size_t a = axis.axis;
  in.push_back(table(lowering, Element::i32, positions));
  nest.open += fmt::format("  for (int t{0} = 0; t{0} < {1}; ++t{0}) {{\n  const I p{0} = x{2}[t{0} * {3} + c{0}];\n", a,
                           taps.positions.size(), in.size() - 1, axis.out);
  nest.close += "  }\n";
  places[a] = fmt::format("p{}", a);
  if (!weights.empty()) {
    in.push_back(table(lowering, Element::f32, weights));
    nest.weight += fmt::format(" * x{}[t{} * {} + c{}]", in.size() - 1, a, axis.out, a);
  }
  if (std::find(taps.outside.begin(), taps.outside.end(), true) == taps.outside.end()) return;
  std::vector<int32_t> flags(taps.outside.begin(), taps.outside.end());
  in.push_back(table(lowering, Element::i32, flags));
  nest.outside += fmt::format("{}x{}[c{}] != 0", nest.outside.empty() ? "" : " || ", in.size() - 1, a);
}

}  // namespace

bool lower_resize(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const Operand source = lowering.native(node.inputs[0]);
  for (size_t i = 1; i < node.inputs.size(); ++i)
    if (node.inputs[i] != no_value && lowering.constant(node.inputs[i]) == nullptr) return false;
  const Resizing resizing = resizing_of(node, lowering.graph().opset, source.shape,
                                        [&](size_t i) { return i < node.inputs.size() ? lowering.constant(node.inputs[i]) : nullptr; });
  std::vector<Operand> in{source};
  auto places = coordinates(source.shape.size());
  Nest nest;
  bool weighted = false;
  for (const ResizedAxis& axis : resizing.axes) {
    const Taps taps = taps_of(resizing, axis);
    weighted = weighted || !taps.weights.empty();
    add_axis(lowering, axis, taps, in, places, nest);
  }
  const Kind kind = kind_of(source.form.element);
  if (kind != Kind::number && (weighted || !nest.outside.empty())) return false;
  const std::string sum =
      weighted ? fmt::format("r += {} * {};", nest.weight, element_at(in, 0, places)) : fmt::format("r = {};", element_at(in, 0, places));
  std::string body = fmt::format("  r = 0;\n{}  {}\n{}", nest.open, sum, nest.close);
  if (!nest.outside.empty()) body += fmt::format("  if ({}) r = {};\n", nest.outside, number_text(resizing.extrapolation_value));
  const Shape& shape = lowering.shape(operation.output);
  const Element element = lowering.stored(operation.output);
  const Operand out =
      lowering.write(operation.output, source.form.channels_last ? channels_last_form(element, shape) : plain_form(element, shape));
  lowering.step(operation, element_kernel(node.op, {out, in, kind, body}), in, {out});
  return true;
}

}  // namespace deepgap::gpu
