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

// For a transposed convolution, `in` and `out` change places: finds the input that tap t brings to this result, if any.
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

// Windows over the result. A result whose size is asked for, or follows from the strides, says what is cut off.
std::vector<WindowAxis> transposed_axes(const Node& node, std::span<const int64_t> in, std::span<const int64_t> out,
                                        std::span<const int64_t> kernel) {
  auto axes = window_axes(node, out, in, kernel);
  const std::string automatic = attribute_string(node, "auto_pad", "NOTSET");
  if (!automatic.starts_with("SAME") && !node.attributes.contains("output_shape")) return axes;
  const auto more = attribute_ints(node, "output_padding", std::vector<int64_t>(axes.size(), 0));
  for (size_t i = 0; i < axes.size(); ++i) {
    WindowAxis& axis = axes[i];
    const int64_t reached = (axis.out - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1 + more.at(i);
    const int64_t total = std::max<int64_t>(0, reached - axis.in);
    axis.before = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
    axis.after = total - axis.before;
  }
  return axes;
}

// Weights [in, out, h, w] as those of a product that makes a tile [out, h, w] of each pixel: [out * h * w, in, 1, 1].
Tensor tile_weights(const Tensor& weights) {
  const auto in = static_cast<size_t>(weights.shape[0]), tile = weights.as<float>().size() / in;
  Tensor turned = make_tensor(DataType::f32, {static_cast<int64_t>(tile), weights.shape[0], 1, 1});
  const auto from = weights.as<float>();
  const auto to = writable<float>(turned);
  for (size_t c = 0; c < in; ++c)
    for (size_t t = 0; t < tile; ++t) to[t * in + c] = from[c * tile + t];
  return turned;
}

// A transposed convolution whose tiles lie side by side is a product of pixels, by the families, and a move.
bool lower_tiles(Lowering& lowering, const Operation& operation, const Direct& direct) {
  const Node& node = operation.main;
  const Tensor* weights = lowering.constant(node.inputs[1]);
  const Shape &in = lowering.shape(node.inputs[0]), &out = lowering.shape(operation.output);
  if (!direct.turned || direct.groups != 1 || in.size() != 4 || weights == nullptr || weights->type != DataType::f32) return false;
  for (const WindowAxis& axis : direct.axes)
    if (axis.stride != axis.kernel || axis.dilation != 1 || axis.before != 0 || axis.in != axis.out * axis.stride) return false;
  if (element_count(in) == 0 || element_count(out) == 0 || lowering.type(node.inputs[0]) != DataType::f32) return false;
  const int64_t h = direct.axes[0].kernel, w = direct.axes[1].kernel;
  const ValueId tiles = lowering.add_value(DataType::f32, {in[0], out[1] * h * w, in[2], in[3]});
  Node product{.name = node.name + " tiles", .op = "Conv"};
  product.inputs = {node.inputs[0], lowering.add_constant(tile_weights(*weights))};
  product.outputs = {tiles};
  if (!lower_operation(lowering, operation_of(lowering.graph(), product))) return false;
  std::vector<Operand> operands{lowering.native(tiles)};
  std::string body = fmt::format("  r = {};", element_at(operands, 0,
                                                         {"c0", fmt::format("((c1 * I({0}) + c2 % I({0})) * I({1}) + c3 % I({1}))", h, w),
                                                          fmt::format("c2 / I({})", h), fmt::format("c3 / I({})", w)}));
  if (node.inputs.size() > 2 && node.inputs[2] != no_value) {
    operands.push_back(lowering.native(node.inputs[2]));
    body += fmt::format("\n  r += {};", element_at(operands, 1, {"c1"}));
  }
  const bool plain = operation.posts.empty();
  const ValueId target = plain ? operation.output : lowering.add_value(DataType::f32, out);
  const Operand result = lowering.write(target, channels_last_form(lowering.stored(target), out));
  lowering.step(operation, element_kernel(node.op, {result, operands, Kind::number, body}), operands, {result});
  if (!plain) lower_posts(lowering, operation, target, 0);
  return true;
}

}  // namespace

bool lower_direct_windows(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  if (operation.is_quantized()) return false;
  const Shape &in = lowering.shape(node.inputs[0]), &out = lowering.shape(operation.output), &weights = lowering.shape(node.inputs[1]);
  std::vector<Operand> operands;
  for (ValueId id : node.inputs) {
    if (id == no_value) continue;
    operands.push_back(lowering.native(id));
    if (kind_of(operands.back().form.element) != Kind::number) return false;
  }
  Direct direct{
      .groups = attribute_int(node, "group", 1), .in_channels = in.at(1), .out_channels = out.at(1), .turned = node.op == "ConvTranspose"};
  const auto spatial = [](const Shape& shape) { return std::span(shape).subspan(2); };
  direct.axes = direct.turned ? transposed_axes(node, spatial(in), spatial(out), spatial(weights))
                              : window_axes(node, spatial(in), spatial(out), spatial(weights));
  if (lower_tiles(lowering, operation, direct)) return true;
  const bool plain = operation.posts.empty();
  const ValueId target = plain ? operation.output : lowering.add_value(DataType::f32, out);
  const Operand result = lowering.write(target, channels_last_form(lowering.stored(target), out));
  lowering.count(operation, "fp32");
  lowering.step(operation, element_kernel(node.op, {result, operands, Kind::number, body_of(direct, operands)}), operands, {result});
  if (!plain) lower_posts(lowering, operation, target, 0);
  return true;
}

}  // namespace deepgap::gpu
