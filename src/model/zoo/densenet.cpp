// DenseNet (Huang et al., 2016) as torchvision builds it; constants have the names of torchvision's state dict.
#include "model/zoo/network_builder.h"
#include "model/zoo/options.h"
#include "model/zoo/zoo.h"

#include "base/registry.h"

#include <fmt/format.h>

namespace deepgap {

namespace {

constexpr int64_t layers_of_blocks[] = {6, 12, 24, 16};

class Densenet121 : public ZooModel {
 public:
  std::string name() const override { return "densenet121"; }
  std::string describe() const override { return "DenseNet with blocks of 6-12-24-16 layers, as torchvision.models.densenet121"; }
  Graph build(const ZooOptions& options) const override;
};

Feature norm_relu(NetworkBuilder& net, const std::string& name, const std::string& part, const Feature& x) {
  return net.relu(fmt::format("{}.relu{}", name, part), net.batch_norm(fmt::format("{}.norm{}", name, part), x));
}

// Every layer reads what the block began with and what all layers before it made.
Feature dense_block(NetworkBuilder& net, const std::string& name, const Feature& x, int64_t layers, int64_t growth) {
  std::vector<Feature> made{x};
  for (int64_t i = 1; i <= layers; ++i) {
    const std::string layer = fmt::format("{}.denselayer{}", name, i);
    Feature y = made.size() == 1 ? x : net.concat(layer + ".concat", made);
    y = net.conv(layer + ".conv1", norm_relu(net, layer, "1", y), {.out_channels = 4 * growth});
    made.push_back(net.conv(layer + ".conv2", norm_relu(net, layer, "2", y), {.out_channels = growth, .kernel = 3}));
  }
  return net.concat(name + ".concat", made);
}

Graph Densenet121::build(const ZooOptions& options) const {
  const PictureOptions given = picture_options(name(), options);
  const int64_t growth = make_divisible(32 * given.width);
  NetworkBuilder net(name());
  Feature x = net.picture("input", 3, given.image);
  x = net.conv("features.conv0", x, {.out_channels = 2 * growth, .kernel = 7, .stride = 2});
  x = net.max_pool("features.pool0", norm_relu(net, "features", "0", x), 3, 2, 1);
  int block = 1;
  for (const int64_t layers : layers_of_blocks) {
    x = dense_block(net, fmt::format("features.denseblock{}", block), x, layers, growth);
    if (block == std::ssize(layers_of_blocks)) break;
    const std::string transition = fmt::format("features.transition{}", block++);
    x = net.conv(transition + ".conv", norm_relu(net, transition, "", x), {.out_channels = x.channels / 2});
    x = net.average_pool(transition + ".pool", x, 2, 2, 0);
  }
  x = norm_relu(net, "features", "5", x);
  return net.finish(net.classify("classifier", x, given.classes, "output"));
}

const bool registered = Registry<ZooModel>::instance().add("densenet121", [] { return std::make_unique<Densenet121>(); });

}  // namespace

}  // namespace deepgap
