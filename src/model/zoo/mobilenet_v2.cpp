// MobileNetV2 (Sandler et al., 2018) as torchvision builds it; constants have the names of torchvision's state dict.
#include "model/zoo/network_builder.h"
#include "model/zoo/options.h"
#include "model/zoo/zoo.h"

#include "base/registry.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {

namespace {

struct Stage {
  int64_t expand, channels, repeats, stride;
};
constexpr Stage stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

class MobilenetV2 : public ZooModel {
 public:
  std::string name() const override { return "mobilenet_v2"; }
  std::string describe() const override {
    return "MobileNetV2, inverted residuals with linear bottlenecks, as torchvision.models.mobilenet_v2";
  }
  bool is_chaotic() const override { return true; }
  double trained_dropout() const override { return 0.2; }
  Graph build(const ZooOptions& options) const override;
};

Feature conv_bn_relu6(NetworkBuilder& net, const std::string& name, const Feature& x, const ConvShape& shape) {
  const Feature y = net.batch_norm(name + ".1", net.conv(name + ".0", x, shape));
  return net.relu6(name + ".2", y);
}

Feature inverted_residual(NetworkBuilder& net, const std::string& name, const Feature& x, int64_t expand, int64_t channels,
                          int64_t stride) {
  int part = 0;
  Feature y = x;
  if (expand != 1) y = conv_bn_relu6(net, fmt::format("{}.conv.{}", name, part++), y, {.out_channels = x.channels * expand});
  y = conv_bn_relu6(net, fmt::format("{}.conv.{}", name, part++), y,
                    {.out_channels = y.channels, .kernel = 3, .stride = stride, .groups = y.channels});
  y = net.conv(fmt::format("{}.conv.{}", name, part), y, {.out_channels = channels});
  y = net.batch_norm(fmt::format("{}.conv.{}", name, part + 1), y);
  return stride == 1 && channels == x.channels ? net.add(name + ".add", x, y) : y;
}

Graph MobilenetV2::build(const ZooOptions& options) const {
  const PictureOptions given = picture_options(name(), options, {.dropout = 0});
  NetworkBuilder net(name());
  Feature x = net.picture("input", 3, given.image);
  x = conv_bn_relu6(net, "features.0", x, {.out_channels = make_divisible(32 * given.width), .kernel = 3, .stride = 2});
  int index = 1;
  for (const Stage& stage : stages) {
    const int64_t channels = make_divisible(static_cast<double>(stage.channels) * given.width);
    for (int64_t i = 0; i < stage.repeats; ++i)
      x = inverted_residual(net, fmt::format("features.{}", index++), x, stage.expand, channels, i == 0 ? stage.stride : 1);
  }
  const int64_t last = make_divisible(1280 * std::max(1.0, given.width));
  x = conv_bn_relu6(net, fmt::format("features.{}", index), x, {.out_channels = last});
  return net.finish(net.classify("classifier.1", x, given.classes, "output", given.dropout));
}

const bool registered = Registry<ZooModel>::instance().add("mobilenet_v2", [] { return std::make_unique<MobilenetV2>(); });

}  // namespace

}  // namespace deepgap
