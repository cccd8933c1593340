// Convolutions that the families of convolution.h do not have (three dimensions, weights that are computed) and transposed ones, plainly: a
// thread for each result.
#include "engine/gpu/generated.h"
#include "engine/gpu/operators.h"
#include "engine/gpu/windows.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

namespace deepgap::gpu {
namespace {

// Loops over a window: `p` the place in the input for tap t of each axis.
std::string taps_open(const std::vector<WindowAxis>& axes) {
  std::string text;
  for (size_t i = 0; i < axes.size(); ++i)
    text += fmt::format(
        "  for (int t{0} = 0; t{0} < {1}; ++t{0}) {{\n  const long long p{0} = (long long)c{2} * {3} - {4} + t{0} * {5};\n  if (p{0} < 0 "
        "|| p{0} >= {6}) continue;\n",
        i, axes[i].kernel, i + 2, axes[i].stride, axes[i].before, axes[i].dilation, axes[i].in);
  return text;
}

// Of a transposed convolution, where `in` and `out` change places: the input that tap t brings to this result, if any.
std::string turned_taps_open(const std::vector<WindowAxis>& axes) {
  std::string text;
  for (size_t i = 0; i < axes.size(); ++i)
    text += fmt::format(
        "  for (int t{0} = 0; t{0} < {1}; ++t{0}) {{\n  const long long s{0} = (long long)c{2} + {4} - t{0} * {5};\n  if (s{0} < 0 || s{0} "
        "% {3} != 0 || s{0} / {3} >= {6}) continue;\n  const long long p{0} = s{0} / {3};\n",
        i, axes[i].kernel, i + 2, axes[i].stride, axes[i].before, axes[i].dilation, axes[i].out);
  return text;
}

struct Direct {
  std::vector<WindowAxis> axes;
  int64_t groups = 1, in_channels = 1, out_channels = 1;
  bool turned = false;
};

std::string body_of(const Direct& direct, const std::vector<Operand>& in) {
  const int64_t in_each = direct.in_channels / direct.groups, out_each = direct.out_channels / direct.groups;
  std::vector<std::string> source{"c0", fmt::format("(c1 / {} * {} + i)", out_each, in_each)}, weight;
  weight = direct.turned ? std::vector<std::string>{source[1], fmt::format("(c1 % {})", out_each)} : std::vector<std::string>{"c1", "i"};
  for (size_t i = 0; i < direct.axes.size(); ++i) {
    source.push_back(fmt::format("p{}", i));
    weight.push_back(fmt::format("t{}", i));
  }
  std::string text = in.size() > 2 ? fmt::format("  r = {};\n", element_at(in, 2, {"c1"})) : "  r = 0;\n";
  text += direct.turned ? turned_taps_open(direct.axes) : taps_open(direct.axes);
  text += fmt::format("  for (int i = 0; i < {}; ++i) r += {} * {};\n", in_each, element_at(in, 0, source), element_at(in, 1, weight));
  for (size_t i = 0; i < direct.axes.size(); ++i) text += "  }\n";
  return text;
}

}  // namespace

bool lower_direct_windows(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  if (operation.is_quantized() || node.attributes.contains("output_shape")) return false;
  const Shape &in = lowering.shape(node.inputs[0]), &out = lowering.shape(operation.output), &weights = lowering.shape(node.inputs[1]);
  std::vector<Operand> operands;
  for (ValueId id : node.inputs) {
    if (id == no_value) continue;
    operands.push_back(lowering.native(id));
    if (kind_of(operands.back().form.element) != Kind::number) return false;
  }
  Direct direct{
      .groups = attribute_int(node, "group", 1), .in_channels = in.at(1), .out_channels = out.at(1), .turned = node.op == "ConvTranspose"};
  if (direct.turned && attribute_string(node, "auto_pad", "NOTSET") != "NOTSET") return false;
  const auto spatial = [](const Shape& shape) { return std::span(shape).subspan(2); };
  direct.axes = direct.turned ? window_axes(node, spatial(out), spatial(in), spatial(weights))
                              : window_axes(node, spatial(in), spatial(out), spatial(weights));
  const bool plain = operation.posts.empty();
  const ValueId target = plain ? operation.output : lowering.add_value(DataType::f32, out);
  const Operand result = lowering.write(target, channels_last_form(lowering.stored(target), out));
  lowering.count(operation, "fp32");
  lowering.step(operation, element_kernel(lowering, node.op, {result, operands, Kind::number, body_of(direct, operands)}), operands,
                {result});
  if (!plain) lower_posts(lowering, operation, target, 0);
  return true;
}

}  // namespace deepgap::gpu
