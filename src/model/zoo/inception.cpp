// Inception-v3 (Szegedy et al., 2015) as torchvision builds it, for inference: without the auxiliary classifier, which only training uses.
// Constants have the names of torchvision's state dict.
#include "model/zoo/network_builder.h"
#include "model/zoo/options.h"
#include "model/zoo/zoo.h"

#include "base/registry.h"

namespace deepgap {

namespace {

class InceptionV3 : public ZooModel {
 public:
  std::string name() const override { return "inception_v3"; }
  std::string describe() const override { return "Inception-v3 without the auxiliary classifier, as torchvision.models.inception_v3"; }
  Preprocessing preprocessing() const override { return {.resize = 342, .crop = 299}; }
  double trained_dropout() const override { return 0.5; }
  Graph build(const ZooOptions& options) const override;
};

struct Kernel {
  int64_t height, width;
};

// Adds layers to one builder; `width` multiplies their channels. A module's branches are called as in the paper's figures 5 to 7 and 10.
class Modules {
 public:
  Modules(NetworkBuilder& net, double width) : net_(net), width_(width) {}

  Feature conv(const std::string& name, const Feature& x, int64_t channels, Kernel kernel = {1, 1}) {
    return layer(name, x, channels, kernel, 1, Padding::symmetric);
  }
  Feature unpadded(const std::string& name, const Feature& x, int64_t channels, int64_t stride) {
    return layer(name, x, channels, {3, 3}, stride, Padding::none);
  }
  Feature grid35(const std::string& name, const Feature& x, int64_t pooled);
  Feature shrink_to17(const std::string& name, const Feature& x);
  Feature grid17(const std::string& name, const Feature& x, int64_t inner);
  Feature shrink_to8(const std::string& name, const Feature& x);
  Feature grid8(const std::string& name, const Feature& x);

 private:
  Feature layer(const std::string& name, const Feature& x, int64_t channels, Kernel kernel, int64_t stride, Padding padding);
  Feature pooled(const std::string& name, const Feature& x, int64_t channels);

  NetworkBuilder& net_;
  double width_;
};

Feature Modules::layer(const std::string& name, const Feature& x, int64_t channels, Kernel kernel, int64_t stride, Padding padding) {
  const Feature y = net_.conv(name + ".conv", x,
                              {.out_channels = make_divisible(static_cast<double>(channels) * width_),
                               .kernel = kernel.height,
                               .kernel_width = kernel.width,
                               .stride = stride,
                               .padding = padding});
  return net_.relu(name + ".relu", net_.batch_norm(name + ".bn", y, 1e-3f));
}

Feature Modules::pooled(const std::string& name, const Feature& x, int64_t channels) {
  return conv(name + ".branch_pool", net_.average_pool(name + ".avgpool", x, 3, 1, 1), channels);
}

Feature Modules::grid35(const std::string& name, const Feature& x, int64_t pool_channels) {
  const Feature one = conv(name + ".branch1x1", x, 64);
  const Feature five = conv(name + ".branch5x5_2", conv(name + ".branch5x5_1", x, 48), 64, {5, 5});
  Feature three = conv(name + ".branch3x3dbl_2", conv(name + ".branch3x3dbl_1", x, 64), 96, {3, 3});
  three = conv(name + ".branch3x3dbl_3", three, 96, {3, 3});
  return net_.concat(name + ".concat", {one, five, three, pooled(name, x, pool_channels)});
}

Feature Modules::shrink_to17(const std::string& name, const Feature& x) {
  const Feature three = unpadded(name + ".branch3x3", x, 384, 2);
  Feature twice = conv(name + ".branch3x3dbl_2", conv(name + ".branch3x3dbl_1", x, 64), 96, {3, 3});
  twice = unpadded(name + ".branch3x3dbl_3", twice, 96, 2);
  return net_.concat(name + ".concat", {three, twice, net_.max_pool(name + ".maxpool", x, 3, 2, 0)});
}

Feature Modules::grid17(const std::string& name, const Feature& x, int64_t inner) {
  const Feature one = conv(name + ".branch1x1", x, 192);
  Feature seven = conv(name + ".branch7x7_2", conv(name + ".branch7x7_1", x, inner), inner, {1, 7});
  seven = conv(name + ".branch7x7_3", seven, 192, {7, 1});
  Feature twice = conv(name + ".branch7x7dbl_2", conv(name + ".branch7x7dbl_1", x, inner), inner, {7, 1});
  twice = conv(name + ".branch7x7dbl_4", conv(name + ".branch7x7dbl_3", twice, inner, {1, 7}), inner, {7, 1});
  twice = conv(name + ".branch7x7dbl_5", twice, 192, {1, 7});
  return net_.concat(name + ".concat", {one, seven, twice, pooled(name, x, 192)});
}

Feature Modules::shrink_to8(const std::string& name, const Feature& x) {
  const Feature three = unpadded(name + ".branch3x3_2", conv(name + ".branch3x3_1", x, 192), 320, 2);
  Feature seven = conv(name + ".branch7x7x3_2", conv(name + ".branch7x7x3_1", x, 192), 192, {1, 7});
  seven = unpadded(name + ".branch7x7x3_4", conv(name + ".branch7x7x3_3", seven, 192, {7, 1}), 192, 2);
  return net_.concat(name + ".concat", {three, seven, net_.max_pool(name + ".maxpool", x, 3, 2, 0)});
}

Feature Modules::grid8(const std::string& name, const Feature& x) {
  const auto both = [&](const std::string& branch, const std::string& layer, const Feature& y) {
    return net_.concat(branch + ".concat", {conv(layer + "a", y, 384, {1, 3}), conv(layer + "b", y, 384, {3, 1})});
  };
  const Feature one = conv(name + ".branch1x1", x, 320);
  const std::string three = name + ".branch3x3", twice = name + ".branch3x3dbl";
  const Feature wide = both(three, three + "_2", conv(three + "_1", x, 384));
  const Feature wider = both(twice, twice + "_3", conv(twice + "_2", conv(twice + "_1", x, 448), 384, {3, 3}));
  return net_.concat(name + ".concat", {one, wide, wider, pooled(name, x, 192)});
}

Graph InceptionV3::build(const ZooOptions& options) const {
  const PictureOptions given = picture_options(name(), options, {.image = 299, .dropout = 0});
  NetworkBuilder net(name());
  Modules modules(net, given.width);
  Feature x = net.picture("input", 3, given.image);
  x = modules.unpadded("Conv2d_2a_3x3", modules.unpadded("Conv2d_1a_3x3", x, 32, 2), 32, 1);
  x = net.max_pool("maxpool1", modules.conv("Conv2d_2b_3x3", x, 64, {3, 3}), 3, 2, 0);
  x = modules.unpadded("Conv2d_4a_3x3", modules.conv("Conv2d_3b_1x1", x, 80), 192, 1);
  x = net.max_pool("maxpool2", x, 3, 2, 0);
  x = modules.grid35("Mixed_5b", x, 32);
  x = modules.grid35("Mixed_5c", x, 64);
  x = modules.grid35("Mixed_5d", x, 64);
  x = modules.shrink_to17("Mixed_6a", x);
  x = modules.grid17("Mixed_6b", x, 128);
  x = modules.grid17("Mixed_6c", x, 160);
  x = modules.grid17("Mixed_6d", x, 160);
  x = modules.grid17("Mixed_6e", x, 192);
  x = modules.shrink_to8("Mixed_7a", x);
  x = modules.grid8("Mixed_7b", x);
  x = modules.grid8("Mixed_7c", x);
  return net.finish(net.classify("fc", x, given.classes, "output", given.dropout));
}

const bool registered = Registry<ZooModel>::instance().add("inception_v3", [] { return std::make_unique<InceptionV3>(); });

}  // namespace

}  // namespace deepgap
