#include "operator_cases.h"

#include <algorithm>
#include <utility>

namespace deepgap::conformance {
namespace {

// Kernel, strides, dilations and pads of two dimensions that leave at least one position in `size`.
struct RandomWindow {
  std::vector<int64_t> kernel, strides, dilations, pads;

  RandomWindow(Random& random, const std::vector<int64_t>& size, int64_t largest_kernel, bool dilated) {
    pads.resize(4);
    for (size_t axis = 0; axis < 2; ++axis) {
      kernel.push_back(random.between(1, std::min(largest_kernel, size[axis])));
      strides.push_back(random.between(1, 3));
      const bool fits = dilated && (kernel[axis] - 1) * 2 + 1 <= size[axis];
      dilations.push_back(fits ? random.between(1, 2) : 1);
      // A pad of a whole window is allowed for convolutions, but not for pools: keep to what both take.
      pads[axis] = random.between(0, kernel[axis] - 1);
      pads[axis + 2] = random.between(0, kernel[axis] - 1);
    }
  }
  Attributes attributes() const { return {{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}, {"dilations", dilations}}; }
};

std::vector<int64_t> picture(Random& random) { return {random.between(5, 24), random.between(5, 24)}; }

Graph convolution(GraphBuilder& net, bool one_by_one) {
  Random& random = net.random();
  const auto size = picture(random);
  const int64_t groups = random.one_of<int64_t>({1, 1, 1, 2, 3});
  const int64_t in = groups * random.between(1, 40), out = groups * random.between(1, 40);
  RandomWindow window(random, size, one_by_one ? 1 : 7, true);
  Attributes attributes = window.attributes();
  attributes["group"] = groups;
  if (random.chance(0.2)) {
    attributes.erase("pads");
    attributes["dilations"] = std::vector<int64_t>{1, 1};
    attributes["auto_pad"] = random.one_of<std::string>({"SAME_UPPER", "SAME_LOWER", "VALID"});
  }
  const ValueId x = net.input({in, size[0], size[1]});
  std::vector<ValueId> inputs{x, net.floats({out, in / groups, window.kernel[0], window.kernel[1]})};
  if (random.chance(0.5)) inputs.push_back(net.floats({out}));
  return net.finish({net.node("Conv", inputs, attributes)});
}

Graph depthwise(GraphBuilder& net) {
  Random& random = net.random();
  const auto size = picture(random);
  const int64_t channels = random.between(2, 70), multiplier = random.one_of<int64_t>({1, 1, 1, 2});
  const RandomWindow window(random, size, 5, true);
  Attributes attributes = window.attributes();
  attributes["group"] = channels;
  const ValueId x = net.input({channels, size[0], size[1]});
  std::vector<ValueId> inputs{x, net.floats({channels * multiplier, 1, window.kernel[0], window.kernel[1]})};
  if (random.chance(0.5)) inputs.push_back(net.floats({channels * multiplier}));
  return net.finish({net.node("Conv", inputs, attributes)});
}

Graph transposed(GraphBuilder& net) {
  Random& random = net.random();
  const auto size = picture(random);
  const int64_t groups = random.one_of<int64_t>({1, 1, 2}), in = groups * random.between(1, 12), out = random.between(1, 12);
  RandomWindow window(random, size, 4, false);
  Attributes attributes = window.attributes();
  attributes["group"] = groups;
  std::vector<int64_t> more;  // must be smaller than the stride
  for (const int64_t stride : window.strides) more.push_back(random.between(0, stride - 1));
  attributes["output_padding"] = more;
  const ValueId x = net.input({in, size[0], size[1]});
  std::vector<ValueId> inputs{x, net.floats({in, out, window.kernel[0], window.kernel[1]})};
  if (random.chance(0.5)) inputs.push_back(net.floats({out * groups}));
  return net.finish({net.node("ConvTranspose", inputs, attributes)});
}

Graph pool(GraphBuilder& net, const std::string& op, bool rounds_up) {
  Random& random = net.random();
  const auto size = picture(random);
  const bool average = op == "AveragePool";
  const RandomWindow window(random, size, 5, !average);
  Attributes attributes = window.attributes();
  // Before opset 19 averages have no dilations.
  if (average) attributes.erase("dilations");
  // Rounding up and counting the padding together was only defined with opset 19: keep them apart.
  const bool counts_padding = average && random.chance(0.5);
  if (average) attributes["count_include_pad"] = int64_t{counts_padding};
  attributes["ceil_mode"] = int64_t{rounds_up && !counts_padding};
  const ValueId x = net.input({random.between(1, 40), size[0], size[1]});
  return net.finish({net.node(op, {x}, attributes)});
}

Graph global_pool(GraphBuilder& net, const std::string& op) {
  const auto size = picture(net.random());
  const ValueId x = net.input({net.random().between(1, 70), size[0], size[1]});
  return net.finish({net.node(op, {x})});
}

// A picture made larger or smaller. The modes are those that exported networks use.
Graph resize(GraphBuilder& net) {
  Random& random = net.random();
  const auto size = picture(random);
  const ValueId x = net.input({random.between(1, 8), size[0], size[1]});
  const bool linear = random.chance(0.5);
  Attributes attributes{{"mode", std::string(linear ? "linear" : "nearest")}};
  attributes["coordinate_transformation_mode"] =
      linear ? random.one_of<std::string>({"half_pixel", "align_corners", "asymmetric"}) : std::string("asymmetric");
  if (!linear) attributes["nearest_mode"] = std::string("floor");
  const float scale = random.one_of<float>({2.0f, 3.0f, 0.5f});
  Tensor scales = make_tensor(DataType::f32, {4});
  const float values[] = {1, 1, scale, scale};
  std::copy(std::begin(values), std::end(values), writable<float>(scales).begin());
  return net.finish({net.node("Resize", {x, no_value, net.constant(std::move(scales))}, attributes)});
}

}  // namespace

std::vector<OperatorCase> window_cases() {
  return {
      {"Conv", 17, [](GraphBuilder& net) { return convolution(net, false); }},
      {"Conv 1x1", 17, [](GraphBuilder& net) { return convolution(net, true); }},
      {"Conv depthwise", 17, depthwise},
      {"ConvTranspose", 17, transposed, false},
      {"MaxPool", 17, [](GraphBuilder& net) { return pool(net, "MaxPool", false); }},
      {"MaxPool rounding up", 17, [](GraphBuilder& net) { return pool(net, "MaxPool", true); }, false},
      {"AveragePool", 17, [](GraphBuilder& net) { return pool(net, "AveragePool", false); }, false},
      {"AveragePool rounding up", 17, [](GraphBuilder& net) { return pool(net, "AveragePool", true); }, false},
      {"GlobalAveragePool", 17, [](GraphBuilder& net) { return global_pool(net, "GlobalAveragePool"); }},
      {"GlobalMaxPool", 17, [](GraphBuilder& net) { return global_pool(net, "GlobalMaxPool"); }, false},
      {"Resize", 17, resize, false},
  };
}

}  // namespace deepgap::conformance
