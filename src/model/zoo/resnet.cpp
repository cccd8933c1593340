// ResNet (He et al., 2015) as torchvision builds it: version 1.5, where the stride of a bottleneck is in its 3x3 convolution. Constants
// have the names of torchvision's state dict.
#include "model/zoo/resnet.h"

#include "model/zoo/options.h"
#include "model/zoo/zoo.h"

#include "base/registry.h"

#include <fmt/format.h>

namespace deepgap {

namespace {

struct ResnetForm {
  const char* name;
  bool bottleneck;
  std::array<int, 4> blocks;
};
constexpr ResnetForm resnet34{"resnet34", false, {3, 4, 6, 3}};

class Resnet : public ZooModel {
 public:
  explicit Resnet(const ResnetForm& form) : form_(form) {}
  std::string name() const override { return form_.name; }
  std::string describe() const override {
    return fmt::format("ResNet v1.5 with {} blocks {}-{}-{}-{}, as torchvision.models.{}", form_.bottleneck ? "bottleneck" : "basic",
                       form_.blocks[0], form_.blocks[1], form_.blocks[2], form_.blocks[3], form_.name);
  }
  Graph build(const ZooOptions& options) const override;

 private:
  ResnetForm form_;
};

Feature basic(NetworkBuilder& net, const std::string& name, const Feature& x, int64_t planes, int64_t stride) {
  Feature y = net.conv(name + ".conv1", x, {.out_channels = planes, .kernel = 3, .stride = stride});
  y = net.relu(name + ".relu1", net.batch_norm(name + ".bn1", y));
  y = net.conv(name + ".conv2", y, {.out_channels = planes, .kernel = 3});
  return net.batch_norm(name + ".bn2", y);
}

Feature bottleneck(NetworkBuilder& net, const std::string& name, const Feature& x, int64_t planes, int64_t stride) {
  Feature y = net.conv(name + ".conv1", x, {.out_channels = planes});
  y = net.relu(name + ".relu1", net.batch_norm(name + ".bn1", y));
  y = net.conv(name + ".conv2", y, {.out_channels = planes, .kernel = 3, .stride = stride});
  y = net.relu(name + ".relu2", net.batch_norm(name + ".bn2", y));
  y = net.conv(name + ".conv3", y, {.out_channels = 4 * planes});
  return net.batch_norm(name + ".bn3", y);
}

Feature block(NetworkBuilder& net, const ResnetForm& form, const std::string& name, const Feature& x, int64_t planes, int64_t stride) {
  const Feature branch = form.bottleneck ? bottleneck(net, name, x, planes, stride) : basic(net, name, x, planes, stride);
  Feature skip = x;
  if (stride != 1 || x.channels != branch.channels) {
    skip = net.conv(name + ".downsample.0", x, {.out_channels = branch.channels, .stride = stride});
    skip = net.batch_norm(name + ".downsample.1", skip);
  }
  return net.relu(name + ".relu", net.add(name + ".add", branch, skip));
}

Feature stem(NetworkBuilder& net, const Feature& x, int64_t base) {
  const Feature y = net.conv("conv1", x, {.out_channels = base, .kernel = 7, .stride = 2});
  return net.max_pool("maxpool", net.relu("relu", net.batch_norm("bn1", y)), 3, 2, 1);
}

// `stage` counts from 0.
Feature blocks_of(NetworkBuilder& net, const ResnetForm& form, const Feature& x, int stage, int64_t base, int64_t stride) {
  Feature y = x;
  for (int i = 0; i < form.blocks[stage]; ++i)
    y = block(net, form, fmt::format("layer{}.{}", stage + 1, i), y, base << stage, i == 0 ? stride : 1);
  return y;
}

Graph Resnet::build(const ZooOptions& options) const {
  const PictureOptions given = picture_options(form_.name, options);
  const int64_t base = make_divisible(64 * given.width);
  NetworkBuilder net(form_.name);
  Feature x = stem(net, net.picture("input", 3, given.image), base);
  for (int stage = 0; stage < 4; ++stage) x = blocks_of(net, form_, x, stage, base, stage > 0 ? 2 : 1);
  return net.finish(net.classify("fc", x, given.classes, "output"));
}

bool add_all() {
  const ResnetForm forms[] = {{"resnet18", false, {2, 2, 2, 2}},
                              resnet34,
                              {"resnet50", true, {3, 4, 6, 3}},
                              {"resnet101", true, {3, 4, 23, 3}},
                              {"resnet152", true, {3, 8, 36, 3}}};
  for (const ResnetForm& form : forms) Registry<ZooModel>::instance().add(form.name, [form] { return std::make_unique<Resnet>(form); });
  return true;
}

const bool registered = add_all();

}  // namespace

Feature resnet34_for_detection(NetworkBuilder& net, const Feature& x, int64_t base) {
  Feature y = stem(net, x, base);
  for (const int stage : {0, 1, 2}) y = blocks_of(net, resnet34, y, stage, base, stage == 1 ? 2 : 1);
  return y;
}

}  // namespace deepgap
