// MobileNet-v1 (Howard et al., 2017) as TensorFlow's slim builds it: "same" padding, ReLU6, BatchNorm epsilon 0.001. MLPerf v0.5 ran these
// weights. Layers have slim's names without their scope.
#include "model/zoo/mobilenet_v1.h"
#include "model/zoo/options.h"
#include "model/zoo/zoo.h"

#include "base/registry.h"

#include <fmt/format.h>

namespace deepgap {

namespace {

constexpr float epsilon = 1e-3f;

struct Layer {
  int64_t channels, stride;
};
constexpr Layer layers[] = {{32, 2},  {64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2},
                            {512, 1}, {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};

class MobilenetV1 : public ZooModel {
 public:
  std::string name() const override { return "mobilenet_v1"; }
  std::string describe() const override { return "MobileNet-v1, depthwise separable convolutions, as TensorFlow's slim mobilenet_v1"; }
  Preprocessing preprocessing() const override {
    return {.resize = 256, .crop = 224, .mean = {127.5, 127.5, 127.5}, .scale = {127.5, 127.5, 127.5}};
  }
  bool is_chaotic() const override { return true; }
  Graph build(const ZooOptions& options) const override;
};

Feature conv_bn_relu6(NetworkBuilder& net, const std::string& name, const Feature& x, ConvShape shape) {
  shape.padding = Padding::same;
  return net.relu6(name + ".relu6", net.batch_norm(name + ".BatchNorm", net.conv(name, x, shape), epsilon));
}

Graph MobilenetV1::build(const ZooOptions& options) const {
  const PictureOptions given = picture_options(name(), options);
  NetworkBuilder net(name());
  const Feature x = mobilenet_v1_layers(net, net.picture("input", 3, given.image), 0, 13, given.width);
  return net.finish(net.classify("Logits", x, given.classes, "output"));
}

const bool registered = Registry<ZooModel>::instance().add("mobilenet_v1", [] { return std::make_unique<MobilenetV1>(); });

}  // namespace

Feature mobilenet_v1_layers(NetworkBuilder& net, const Feature& x, int first, int last, double width) {
  Feature y = x;
  for (int i = first; i <= last; ++i) {
    const std::string name = fmt::format("Conv2d_{}", i);
    const int64_t channels = make_divisible(static_cast<double>(layers[i].channels) * width), stride = layers[i].stride;
    if (i == 0) {
      y = conv_bn_relu6(net, name, y, {.out_channels = channels, .kernel = 3, .stride = stride});
      continue;
    }
    y = conv_bn_relu6(net, name + "_depthwise", y, {.out_channels = y.channels, .kernel = 3, .stride = stride, .groups = y.channels});
    y = conv_bn_relu6(net, name + "_pointwise", y, {.out_channels = channels});
  }
  return y;
}

}  // namespace deepgap
