// EfficientNet-Lite0 (TensorFlow's lite variant of Tan and Le, 2019): no squeeze-and-excite, ReLU6, TensorFlow's "same" padding and
// BatchNorm epsilon. Constants have the names of the published PyTorch state dict without leading underscores, so that its ImageNet
// weights, converted by tools/convert_efficientnet.py, fit.
#include "model/zoo/network_builder.h"
#include "model/zoo/options.h"
#include "model/zoo/zoo.h"

#include "base/registry.h"

#include <fmt/format.h>

namespace deepgap {

namespace {

constexpr float epsilon = 1e-3f;

struct Stage {
  int64_t repeats, kernel, stride, expand, channels;
};
constexpr Stage stages[] = {{1, 3, 1, 1, 16},  {2, 3, 2, 6, 24},  {2, 5, 2, 6, 40}, {3, 3, 2, 6, 80},
                            {3, 5, 1, 6, 112}, {4, 5, 2, 6, 192}, {1, 3, 1, 6, 320}};

class EfficientnetLite0 : public ZooModel {
 public:
  std::string name() const override { return "efficientnet_lite0"; }
  std::string describe() const override {
    return "EfficientNet-Lite0, ReLU6 and no squeeze-and-excite, as TensorFlow's tpu/models/official/efficientnet/lite";
  }
  Preprocessing preprocessing() const override { return {.resize = 256, .crop = 224, .mean = {127, 127, 127}, .scale = {128, 128, 128}}; }
  std::map<std::string, std::string> weight_sets() const override { return {{"imagenet", "weights/efficientnet_lite0.safetensors"}}; }
  double trained_dropout() const override { return 0.2; }
  // Seeded: outputs with 9 to 15 dB in BF16, by native and OpenVINO alike, where no node alone is worse than 44.
  bool is_chaotic() const override { return true; }
  Graph build(const ZooOptions& options) const override;
};

Feature block(NetworkBuilder& net, const std::string& name, const Feature& x, const Stage& stage, int64_t channels, int64_t stride) {
  Feature y = x;
  if (stage.expand != 1) {
    y = net.conv(name + ".expand_conv", y, {.out_channels = x.channels * stage.expand, .padding = Padding::same});
    y = net.relu6(name + ".relu0", net.batch_norm(name + ".bn0", y, epsilon));
  }
  y = net.conv(name + ".depthwise_conv", y,
               {.out_channels = y.channels, .kernel = stage.kernel, .stride = stride, .groups = y.channels, .padding = Padding::same});
  y = net.relu6(name + ".relu1", net.batch_norm(name + ".bn1", y, epsilon));
  y = net.conv(name + ".project_conv", y, {.out_channels = channels, .padding = Padding::same});
  y = net.batch_norm(name + ".bn2", y, epsilon);
  return stride == 1 && channels == x.channels ? net.add(name + ".add", y, x) : y;
}

// The lite family keeps stem and head as they are when the width changes.
Graph EfficientnetLite0::build(const ZooOptions& options) const {
  const PictureOptions given = picture_options(name(), options, {.dropout = 0});
  NetworkBuilder net(name());
  Feature x = net.picture("input", 3, given.image);
  x = net.conv("conv_stem", x, {.out_channels = 32, .kernel = 3, .stride = 2, .padding = Padding::same});
  x = net.relu6("relu0", net.batch_norm("bn0", x, epsilon));
  int index = 0;
  for (const Stage& stage : stages) {
    const int64_t channels = make_divisible(static_cast<double>(stage.channels) * given.width);
    for (int64_t i = 0; i < stage.repeats; ++i)
      x = block(net, fmt::format("blocks.{}", index++), x, stage, channels, i == 0 ? stage.stride : 1);
  }
  x = net.conv("conv_head", x, {.out_channels = 1280, .padding = Padding::same});
  x = net.relu6("relu1", net.batch_norm("bn1", x, epsilon));
  return net.finish(net.classify("fc", x, given.classes, "output", given.dropout));
}

const bool registered = Registry<ZooModel>::instance().add("efficientnet_lite0", [] { return std::make_unique<EfficientnetLite0>(); });

}  // namespace

}  // namespace deepgap
