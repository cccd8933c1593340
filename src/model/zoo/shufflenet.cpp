// ShuffleNetV2 (Ma et al., 2018), 1.0x, as torchvision builds it; constants have the names of torchvision's state dict.
#include "model/zoo/network_builder.h"
#include "model/zoo/options.h"
#include "model/zoo/zoo.h"

#include "base/registry.h"

#include <fmt/format.h>

namespace deepgap {

namespace {

struct Stage {
  int64_t channels, blocks;
};
constexpr Stage stages[] = {{116, 4}, {232, 8}, {464, 4}};

class ShufflenetV2 : public ZooModel {
 public:
  std::string name() const override { return "shufflenet_v2"; }
  std::string describe() const override { return "ShuffleNetV2 1.0x, as torchvision.models.shufflenet_v2_x1_0"; }
  bool is_chaotic() const override { return true; }
  Graph build(const ZooOptions& options) const override;
};

// 1x1, depthwise 3x3, 1x1: each with BatchNorm, the first and the last with ReLU. `part` is the first layer's place in the branch.
Feature bottleneck(NetworkBuilder& net, const std::string& branch, const Feature& x, int64_t channels, int64_t stride) {
  const auto layer = [&](int place) { return fmt::format("{}.{}", branch, place); };
  Feature y = net.relu(layer(2), net.batch_norm(layer(1), net.conv(layer(0), x, {.out_channels = channels})));
  y = net.batch_norm(layer(4), net.conv(layer(3), y, {.out_channels = channels, .kernel = 3, .stride = stride, .groups = channels}));
  return net.relu(layer(7), net.batch_norm(layer(6), net.conv(layer(5), y, {.out_channels = channels})));
}

// Makes the other half where the image shrinks: depthwise 3x3 and 1x1.
Feature shrinking(NetworkBuilder& net, const std::string& branch, const Feature& x, int64_t channels) {
  const auto layer = [&](int place) { return fmt::format("{}.{}", branch, place); };
  Feature y = net.conv(layer(0), x, {.out_channels = x.channels, .kernel = 3, .stride = 2, .groups = x.channels});
  y = net.conv(layer(2), net.batch_norm(layer(1), y), {.out_channels = channels});
  return net.relu(layer(4), net.batch_norm(layer(3), y));
}

// The channels of the two halves in turn: a transposed [2, channels/2].
Feature shuffle(NetworkBuilder& net, const std::string& name, const Feature& x) {
  const std::vector<int64_t> apart{0, 2, x.channels / 2, x.height, x.width}, together{0, x.channels, x.height, x.width};
  ValueId y = net.node("Reshape", name + ".apart", {x.id, net.integers(fmt::format("shuffle.{}", fmt::join(apart, "x")), apart)});
  y = net.node("Transpose", name + ".turned", {y}, {{"perm", std::vector<int64_t>{0, 2, 1, 3, 4}}});
  y = net.node("Reshape", name + ".together", {y, net.integers(fmt::format("shuffle.{}", fmt::join(together, "x")), together)});
  return {y, x.channels, x.height, x.width};
}

Feature block(NetworkBuilder& net, const std::string& name, const Feature& x, int64_t channels, int64_t stride) {
  const int64_t half = channels / 2;
  Feature kept, read = x;
  if (stride == 1) {
    const auto halves = net.split(name + ".halves", x.id, 1, 2);
    kept = {halves[0], half, x.height, x.width};
    read = {halves[1], half, x.height, x.width};
  } else {
    kept = shrinking(net, name + ".branch1", x, half);
  }
  return shuffle(net, name, net.concat(name + ".concat", {kept, bottleneck(net, name + ".branch2", read, half, stride)}));
}

Graph ShufflenetV2::build(const ZooOptions& options) const {
  const PictureOptions given = picture_options(name(), options);
  const auto scaled = [&](int64_t channels) { return make_divisible(static_cast<double>(channels) * given.width, 2); };
  NetworkBuilder net(name());
  Feature x = net.picture("input", 3, given.image);
  x = net.relu("conv1.2", net.batch_norm("conv1.1", net.conv("conv1.0", x, {.out_channels = scaled(24), .kernel = 3, .stride = 2})));
  x = net.max_pool("maxpool", x, 3, 2, 1);
  int stage = 2;
  for (const auto& [channels, blocks] : stages) {
    for (int64_t i = 0; i < blocks; ++i) x = block(net, fmt::format("stage{}.{}", stage, i), x, scaled(channels), i == 0 ? 2 : 1);
    ++stage;
  }
  x = net.relu("conv5.2", net.batch_norm("conv5.1", net.conv("conv5.0", x, {.out_channels = scaled(1024)})));
  return net.finish(net.classify("fc", x, given.classes, "output"));
}

const bool registered = Registry<ZooModel>::instance().add("shufflenet_v2", [] { return std::make_unique<ShufflenetV2>(); });

}  // namespace

}  // namespace deepgap
