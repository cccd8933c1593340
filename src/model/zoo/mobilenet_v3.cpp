// MobileNetV3 (Howard et al., 2019) as torchvision builds it: squeeze-and-excitation, hard swish; constants have the names of torchvision's
// state dict.
#include "model/zoo/network_builder.h"
#include "model/zoo/options.h"
#include "model/zoo/zoo.h"

#include "base/registry.h"

#include <fmt/format.h>

namespace deepgap {

namespace {

constexpr float epsilon = 1e-3f;

struct Block {
  int64_t kernel, expanded, channels;
  bool squeeze;  // and excitation
  const char* activation;
  int64_t stride;
};
constexpr const char* relu = "Relu";
constexpr const char* hard_swish = "HardSwish";

struct Form {
  const char* name;
  std::vector<Block> blocks;
  int64_t last;  // channels of the layer before the classes
};

Form large() {
  return {"mobilenet_v3_large",
          {{3, 16, 16, false, relu, 1},
           {3, 64, 24, false, relu, 2},
           {3, 72, 24, false, relu, 1},
           {5, 72, 40, true, relu, 2},
           {5, 120, 40, true, relu, 1},
           {5, 120, 40, true, relu, 1},
           {3, 240, 80, false, hard_swish, 2},
           {3, 200, 80, false, hard_swish, 1},
           {3, 184, 80, false, hard_swish, 1},
           {3, 184, 80, false, hard_swish, 1},
           {3, 480, 112, true, hard_swish, 1},
           {3, 672, 112, true, hard_swish, 1},
           {5, 672, 160, true, hard_swish, 2},
           {5, 960, 160, true, hard_swish, 1},
           {5, 960, 160, true, hard_swish, 1}},
          1280};
}

Form small() {
  return {"mobilenet_v3_small",
          {{3, 16, 16, true, relu, 2},
           {3, 72, 24, false, relu, 2},
           {3, 88, 24, false, relu, 1},
           {5, 96, 40, true, hard_swish, 2},
           {5, 240, 40, true, hard_swish, 1},
           {5, 240, 40, true, hard_swish, 1},
           {5, 120, 48, true, hard_swish, 1},
           {5, 144, 48, true, hard_swish, 1},
           {5, 288, 96, true, hard_swish, 2},
           {5, 576, 96, true, hard_swish, 1},
           {5, 576, 96, true, hard_swish, 1}},
          1024};
}

class MobilenetV3 : public ZooModel {
 public:
  explicit MobilenetV3(Form form) : form_(std::move(form)) {}
  std::string name() const override { return form_.name; }
  std::string describe() const override {
    return fmt::format("MobileNetV3 with squeeze-and-excitation and hard swish, as torchvision.models.{}", form_.name);
  }
  double trained_dropout() const override { return 0.2; }
  Graph build(const ZooOptions& options) const override;

 private:
  Form form_;
};

Feature conv_bn(NetworkBuilder& net, const std::string& name, const Feature& x, const ConvShape& shape) {
  return net.batch_norm(name + ".1", net.conv(name + ".0", x, shape), epsilon);
}

Feature squeeze_excite(NetworkBuilder& net, const std::string& name, const Feature& x) {
  Feature y = net.global_average(name + ".avgpool", x);
  y = net.relu(name + ".activation",
               net.conv(name + ".fc1", y, {.out_channels = make_divisible(static_cast<double>(x.channels) / 4), .bias = true}));
  y = net.conv(name + ".fc2", y, {.out_channels = x.channels, .bias = true});
  y = net.activation("HardSigmoid", name + ".scale_activation", y, {{"alpha", 1.0f / 6}, {"beta", 0.5f}});
  return net.multiply(name + ".scale", x, y);
}

Feature inverted_residual(NetworkBuilder& net, const std::string& name, const Feature& x, const Block& block, double width) {
  const auto scaled = [&](int64_t channels) { return make_divisible(static_cast<double>(channels) * width); };
  const int64_t expanded = scaled(block.expanded), channels = scaled(block.channels);
  int part = 0;
  const auto next = [&] { return fmt::format("{}.block.{}", name, part++); };
  Feature y = x;
  if (expanded != x.channels) {
    const std::string expand = next();
    y = net.activation(block.activation, expand + ".2", conv_bn(net, expand, y, {.out_channels = expanded}));
  }
  const std::string depthwise = next();
  y = conv_bn(net, depthwise, y, {.out_channels = expanded, .kernel = block.kernel, .stride = block.stride, .groups = expanded});
  y = net.activation(block.activation, depthwise + ".2", y);
  if (block.squeeze) y = squeeze_excite(net, next(), y);
  y = conv_bn(net, next(), y, {.out_channels = channels});
  return block.stride == 1 && channels == x.channels ? net.add(name + ".add", x, y) : y;
}

Graph MobilenetV3::build(const ZooOptions& options) const {
  const PictureOptions given = picture_options(form_.name, options, {.dropout = 0});
  NetworkBuilder net(form_.name);
  Feature x = net.picture("input", 3, given.image);
  x = conv_bn(net, "features.0", x, {.out_channels = make_divisible(16 * given.width), .kernel = 3, .stride = 2});
  x = net.activation(hard_swish, "features.0.2", x);
  int index = 1;
  for (const Block& block : form_.blocks) x = inverted_residual(net, fmt::format("features.{}", index++), x, block, given.width);
  const std::string head = fmt::format("features.{}", index);
  x = net.activation(hard_swish, head + ".2", conv_bn(net, head, x, {.out_channels = 6 * x.channels}));
  const int64_t last = make_divisible(static_cast<double>(form_.last) * given.width);
  ValueId y = net.linear("classifier.0", net.flatten("flatten", net.global_average("avgpool", x)), x.channels, last);
  y = net.dropout("classifier.2", net.node("HardSwish", "classifier.1", {y}), given.dropout);
  y = net.linear("classifier.3", y, last, given.classes, "output");
  return net.finish(y);
}

bool add_all() {
  for (const Form& form : {large(), small()})
    Registry<ZooModel>::instance().add(form.name, [form] { return std::make_unique<MobilenetV3>(form); });
  return true;
}

const bool registered = add_all();

}  // namespace

}  // namespace deepgap
