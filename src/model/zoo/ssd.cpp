// The two detectors of MLPerf Inference v0.5, with its sizes and thresholds; their parts are called as in its reference implementations.
// - SSD-MobileNet-v1: TensorFlow's object detection API, ssd_mobilenet_v1_coco; 300x300, 91 classes, 1917 anchors.
// - SSD-ResNet-34: MLPerf's own, ResNet-34 up to its third stage, which does not shrink; 1200x1200, 81 classes, 15130 anchors.
#include "model/zoo/mobilenet_v1.h"
#include "model/zoo/options.h"
#include "model/zoo/resnet.h"
#include "model/zoo/ssd_head.h"
#include "model/zoo/zoo.h"

#include "base/registry.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace deepgap {

namespace {

struct Heads {
  std::vector<ValueId> offsets, scores;  // one for each feature map that anchors lie on
  std::vector<Anchor> anchors;
};

class SsdMobilenetV1 : public ZooModel {
 public:
  std::string name() const override { return "ssd_mobilenet_v1"; }
  std::string describe() const override {
    return "SSD-MobileNet-v1 with decoding and suppression, as MLPerf v0.5's ssd_mobilenet_v1_coco at 300x300";
  }
  Preprocessing preprocessing() const override {
    return {.resize = 300, .crop = 300, .mean = {127.5, 127.5, 127.5}, .scale = {127.5, 127.5, 127.5}};
  }
  bool is_chaotic() const override { return true; }  // which of two boxes is kept hangs on their last digits
  Graph build(const ZooOptions& options) const override;
};

class SsdResnet34 : public ZooModel {
 public:
  std::string name() const override { return "ssd_resnet34"; }
  std::string describe() const override { return "SSD-ResNet-34 with decoding and suppression, as MLPerf v0.5's at 1200x1200"; }
  Preprocessing preprocessing() const override { return {.resize = 1200, .crop = 1200}; }
  bool is_chaotic() const override { return true; }
  Graph build(const ZooOptions& options) const override;
};

// Sizes of MobileNet's anchors on the picture `index` of six, relative to the whole: scales 0.2 to 0.95 in even steps.
std::vector<Anchor> mobilenet_sizes(int index) {
  const auto scale = [](int at) { return at < 6 ? 0.2f + 0.15f * static_cast<float>(at) : 1.0f; };
  const auto shaped = [](float size, float aspect) { return Anchor{0, 0, size / std::sqrt(aspect), size * std::sqrt(aspect)}; };
  if (index == 0) return {shaped(0.1f, 1), shaped(0.2f, 2), shaped(0.2f, 0.5f)};
  std::vector<Anchor> sizes;
  for (const float aspect : {1.0f, 2.0f, 0.5f, 3.0f, 1.0f / 3}) sizes.push_back(shaped(scale(index), aspect));
  sizes.push_back(shaped(std::sqrt(scale(index) * scale(index + 1)), 1));
  return sizes;
}

// Pixel by pixel, the anchors of a pixel together; `channels` of them: [N, height * width * anchors, channels].
ValueId by_pixel(NetworkBuilder& net, const std::string& name, const Feature& x, int64_t channels) {
  const ValueId turned = net.node("Transpose", name + ".turned", {x.id}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
  return net.node("Reshape", name + ".flat", {turned, net.integers(fmt::format("flat.{}", channels), {0, -1, channels})});
}

Feature conv_bn_relu6(NetworkBuilder& net, const std::string& name, const Feature& x, const ConvShape& shape) {
  return net.relu6(name + ".relu6", net.batch_norm(name + ".BatchNorm", net.conv(name, x, shape), 1e-3f));
}

void add_mobilenet_heads(NetworkBuilder& net, Heads& heads, const Feature& x, int index, int64_t classes) {
  const std::vector<Anchor> sizes = mobilenet_sizes(index);
  const auto count = static_cast<int64_t>(sizes.size());
  const std::string name = fmt::format("BoxPredictor_{}", index), boxes = name + ".BoxEncodingPredictor", scores = name + ".ClassPredictor";
  heads.offsets.push_back(by_pixel(net, boxes, net.conv(boxes, x, {.out_channels = 4 * count, .bias = true}), 4));
  heads.scores.push_back(by_pixel(net, scores, net.conv(scores, x, {.out_channels = classes * count, .bias = true}), classes));
  for (int64_t row = 0; row < x.height; ++row)
    for (int64_t column = 0; column < x.width; ++column)
      for (Anchor anchor : sizes) {
        anchor.y = (static_cast<float>(row) + 0.5f) / static_cast<float>(x.height);
        anchor.x = (static_cast<float>(column) + 0.5f) / static_cast<float>(x.width);
        heads.anchors.push_back(anchor);
      }
}

// Scores without those of the background, which is the first class: [N, classes - 1, anchors].
ValueId without_background(NetworkBuilder& net, ValueId scores, int64_t classes) {
  return net.node("Slice", "scores.of_things",
                  {scores, net.integers("one", {1}), net.integers("classes", {classes}), net.integers("one", {1})});
}

// The first of `classes` is the background.
PictureOptions detector_options(const std::string& model, const ZooOptions& options, const PictureOptions& preset) {
  const PictureOptions given = picture_options(model, options, preset);
  if (given.classes < 2)
    throw Error(ErrorKind::usage, fmt::format("model '{}': one of the classes is the background, so classes=1 has nothing to find", model));
  return given;
}

Graph SsdMobilenetV1::build(const ZooOptions& options) const {
  const PictureOptions given = detector_options(name(), options, {.classes = 91, .image = 300});
  const auto scaled = [&](int64_t channels) { return make_divisible(static_cast<double>(channels) * given.width); };
  NetworkBuilder net(name());
  Heads heads;
  Feature x = mobilenet_v1_layers(net, net.picture("input", 3, given.image), 0, 11, given.width);
  add_mobilenet_heads(net, heads, x, 0, given.classes);
  x = mobilenet_v1_layers(net, x, 12, 13, given.width);
  add_mobilenet_heads(net, heads, x, 1, given.classes);
  int index = 2;
  for (const auto& [inner, channels] : {std::pair{256, 512}, {128, 256}, {128, 256}, {64, 128}}) {
    x = conv_bn_relu6(net, fmt::format("Conv2d_13_pointwise_1_Conv2d_{}_1x1", index), x, {.out_channels = scaled(inner)});
    x = conv_bn_relu6(net, fmt::format("Conv2d_13_pointwise_2_Conv2d_{}_3x3", index), x,
                      {.out_channels = scaled(channels), .kernel = 3, .stride = 2, .padding = Padding::same});
    add_mobilenet_heads(net, heads, x, index++, given.classes);
  }
  const ValueId offsets = net.node("Concat", "offsets", heads.offsets, {{"axis", int64_t{1}}});
  ValueId scores = net.node("Sigmoid", "scores.sigmoid", {net.node("Concat", "scores", heads.scores, {{"axis", int64_t{1}}})});
  scores = net.node("Transpose", "scores.by_class", {scores}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  scores = without_background(net, scores, given.classes);
  return net.finish(
      detect(net, offsets, scores, given.classes - 1, heads.anchors, {.overlap = 0.6f, .least_score = 0.3f, .detections = 100}));
}

// Sizes of ResNet-34's anchors, as SSD's first implementation has them for 300x300 pixels.
std::vector<Anchor> resnet_sizes(int index) {
  constexpr std::array<float, 7> pixels{21, 45, 99, 153, 207, 261, 315};
  const float size = pixels[index] / 300, next = pixels[index + 1] / 300, between = std::sqrt(size * next);
  std::vector<Anchor> sizes{{0, 0, size, size}, {0, 0, between, between}};
  const bool few = index == 0 || index >= 4;
  for (const float aspect : few ? std::vector<float>{2} : std::vector<float>{2, 3}) {
    const float root = std::sqrt(aspect);
    sizes.push_back({0, 0, size / root, size * root});
    sizes.push_back({0, 0, size * root, size / root});
  }
  return sizes;
}

// Offsets and scores stay channel by channel, the pictures of one kind of anchor together: [N, channels, anchors * height * width].
void add_resnet_heads(NetworkBuilder& net, Heads& heads, const Feature& x, int index, int64_t classes) {
  const std::vector<Anchor> sizes = resnet_sizes(index);
  const auto count = static_cast<int64_t>(sizes.size());
  const auto head = [&](const std::string& layer, int64_t channels) {
    const Feature y = net.conv(layer, x, {.out_channels = channels * count, .kernel = 3, .stride = 3, .bias = true});
    const ValueId flat = net.node("Reshape", layer + ".flat", {y.id, net.integers(fmt::format("flat.{}", channels), {0, channels, -1})});
    return std::pair(flat, y);
  };
  heads.offsets.push_back(head(fmt::format("loc.{}", index), 4).first);
  const auto [scores, grid] = head(fmt::format("conf.{}", index), classes);
  heads.scores.push_back(scores);
  for (const Anchor& size : sizes)
    for (int64_t row = 0; row < grid.height; ++row)
      for (int64_t column = 0; column < grid.width; ++column)
        heads.anchors.push_back({(static_cast<float>(row) + 0.5f) / static_cast<float>(grid.height),
                                 (static_cast<float>(column) + 0.5f) / static_cast<float>(grid.width), size.height, size.width});
}

Graph SsdResnet34::build(const ZooOptions& options) const {
  const PictureOptions given = detector_options(name(), options, {.classes = 81, .image = 1200});
  const auto scaled = [&](int64_t channels) { return make_divisible(static_cast<double>(channels) * given.width); };
  struct Block {
    int64_t inner, channels, stride;
    Padding padding;
  };
  const Block blocks[] = {{256, 512, 2, Padding::symmetric},
                          {256, 512, 2, Padding::symmetric},
                          {128, 256, 2, Padding::symmetric},
                          {128, 256, 2, Padding::none},
                          {128, 256, 1, Padding::none}};
  NetworkBuilder net(name());
  Heads heads;
  Feature x = resnet34_for_detection(net, net.picture("input", 3, given.image), scaled(64));
  add_resnet_heads(net, heads, x, 0, given.classes);
  int index = 0;
  for (const Block& block : blocks) {
    const std::string layer = fmt::format("additional_blocks.{}", index++);
    x = net.relu(layer + ".1", net.conv(layer + ".0", x, {.out_channels = scaled(block.inner), .bias = true}));
    x = net.conv(layer + ".2", x,
                 {.out_channels = scaled(block.channels), .kernel = 3, .stride = block.stride, .padding = block.padding, .bias = true});
    x = net.relu(layer + ".3", x);
    add_resnet_heads(net, heads, x, index, given.classes);
  }
  ValueId offsets = net.node("Concat", "offsets", heads.offsets, {{"axis", int64_t{2}}});
  offsets = net.node("Transpose", "offsets.by_anchor", {offsets}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  ValueId scores =
      net.node("Softmax", "scores.softmax", {net.node("Concat", "scores", heads.scores, {{"axis", int64_t{2}}})}, {{"axis", int64_t{1}}});
  scores = without_background(net, scores, given.classes);
  return net.finish(
      detect(net, offsets, scores, given.classes - 1, heads.anchors, {.overlap = 0.5f, .least_score = 0.05f, .detections = 200}));
}

template <typename Detector>
bool add() {
  return Registry<ZooModel>::instance().add(Detector().name(), [] { return std::make_unique<Detector>(); });
}
const bool registered[] = {add<SsdMobilenetV1>(), add<SsdResnet34>()};

}  // namespace

}  // namespace deepgap
