// A small convolutional network for handwritten digits of 8x8 grey pixels (docs/how-to/train.md), which is trained here rather than taken
// from elsewhere: three convolutions with BatchNorm and a linear layer.
#include "model/zoo/network_builder.h"
#include "model/zoo/options.h"
#include "model/zoo/zoo.h"

#include "base/registry.h"

#include <fmt/format.h>

namespace deepgap {

namespace {

class DigitsCnn : public ZooModel {
 public:
  std::string name() const override { return "digits_cnn"; }
  std::string describe() const override {
    return "small CNN for handwritten digits of 8x8 pixels, to be trained (docs/how-to/train.md); our own";
  }
  Graph build(const ZooOptions& options) const override;
};

Graph DigitsCnn::build(const ZooOptions& options) const {
  const PictureOptions given = picture_options(name(), options, {.classes = 10, .image = 8});
  NetworkBuilder net(name());
  Feature x = net.picture("input", 1, given.image);
  int index = 0;
  for (const int64_t channels : {32, 32, 64}) {
    const std::string layer = fmt::format("features.{}", index);
    x = net.conv(layer + ".conv", x, {.out_channels = make_divisible(static_cast<double>(channels) * given.width), .kernel = 3});
    x = net.relu(layer + ".relu", net.batch_norm(layer + ".norm", x));
    if (index++ > 0) x = net.max_pool(layer + ".pool", x, 2, 2, 0);
  }
  const int64_t inputs = x.channels * x.height * x.width;
  return net.finish(net.linear("classifier", net.flatten("flatten", x), inputs, given.classes, "output"));
}

const bool registered = Registry<ZooModel>::instance().add("digits_cnn", [] { return std::make_unique<DigitsCnn>(); });

}  // namespace

}  // namespace deepgap
