// VGG (Simonyan and Zisserman, 2014) as torchvision builds it, without BatchNorm; constants have the names of torchvision's state dict.
// torchvision averages the last picture to 7x7, which it is for the usual 224 pixels. Here the first linear layer has as many inputs as
// the last picture has numbers.
#include "model/zoo/network_builder.h"
#include "model/zoo/options.h"
#include "model/zoo/zoo.h"

#include "base/registry.h"

#include <fmt/format.h>

namespace deepgap {

namespace {

struct Stage {
  int64_t convolutions, channels;
};
constexpr Stage stages[] = {{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}};

class Vgg16 : public ZooModel {
 public:
  std::string name() const override { return "vgg16"; }
  double trained_dropout() const override { return 0.5; }
  std::string describe() const override { return "VGG-16 without BatchNorm, as torchvision.models.vgg16"; }
  Graph build(const ZooOptions& options) const override;
};

Graph Vgg16::build(const ZooOptions& options) const {
  const PictureOptions given = picture_options(name(), options, {.dropout = 0});
  NetworkBuilder net(name());
  Feature x = net.picture("input", 3, given.image);
  int index = 0;
  for (const Stage& stage : stages) {
    const int64_t channels = make_divisible(static_cast<double>(stage.channels) * given.width);
    for (int64_t i = 0; i < stage.convolutions; ++i) {
      x = net.conv(fmt::format("features.{}", index++), x, {.out_channels = channels, .kernel = 3, .bias = true});
      x = net.relu(fmt::format("features.{}", index++), x);
    }
    x = net.max_pool(fmt::format("features.{}", index++), x, 2, 2, 0);
  }
  const int64_t hidden = make_divisible(4096 * given.width);
  ValueId y = net.linear("classifier.0", net.flatten("flatten", x), x.channels * x.height * x.width, hidden);
  y = net.dropout("classifier.2", net.node("Relu", "classifier.1", {y}), given.dropout);
  y = net.node("Relu", "classifier.4", {net.linear("classifier.3", y, hidden, hidden)});
  y = net.linear("classifier.6", net.dropout("classifier.5", y, given.dropout), hidden, given.classes, "output");
  return net.finish(y);
}

const bool registered = Registry<ZooModel>::instance().add("vgg16", [] { return std::make_unique<Vgg16>(); });

}  // namespace

}  // namespace deepgap
