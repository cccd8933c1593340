// Vision Transformer, ViT-B (Dosovitskiy et al., 2020), as torchvision builds it; constants have the names of torchvision's state dict,
// and those of the encoder's linear layers are [inputs, outputs].
#include "model/zoo/options.h"
#include "model/zoo/transformer.h"
#include "model/zoo/zoo.h"

#include "base/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {

namespace {

constexpr int layers = 12;

class Vit : public ZooModel {
 public:
  explicit Vit(int64_t patch) : patch_(patch) {}
  std::string name() const override { return fmt::format("vit_b_{}", patch_); }
  std::string describe() const override {
    return fmt::format("Vision Transformer ViT-B with patches of {0}x{0} pixels, as torchvision.models.vit_b_{0}", patch_);
  }
  Graph build(const ZooOptions& options) const override;

 private:
  int64_t patch_;
};

// Patches as a sequence, the class token before them: [N, 1 + patches, size].
ValueId tokens(NetworkBuilder& net, const Feature& patches) {
  ValueId x = net.node("Reshape", "patches.flat", {patches.id, net.integers("patches.shape", {0, patches.channels, -1})});
  x = net.node("Transpose", "patches.sequence", {x}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  const ValueId batch = net.node("Gather", "class_token.batch", {net.node("Shape", "patches.sizes", {x}), net.integers("first", {0})});
  const ValueId shape =
      net.node("Concat", "class_token.shape", {batch, net.integers("class_token.rest", {1, patches.channels})}, {{"axis", int64_t{0}}});
  const ValueId token = net.node("Expand", "class_token.expand", {net.weight("class_token", {1, 1, patches.channels}), shape});
  return net.node("Concat", "tokens", {token, x}, {{"axis", int64_t{1}}});
}

ValueId encoder_layer(NetworkBuilder& net, Transformer& encoder, const TransformerShape& shape, const std::string& name, ValueId x) {
  const std::string attention = name + ".self_attention";
  const ValueId normed = encoder.norm(name + ".ln_1", x);
  const ValueId all = encoder.project(attention + ".in_proj", attention + ".in_proj_weight", attention + ".in_proj_bias", normed,
                                      shape.size(), 3 * shape.size());
  const auto parts = net.split(attention + ".split", all, 2, 3);
  ValueId y = encoder.attention(attention, {parts[0], parts[1], parts[2]}, no_value);
  x = encoder.add(name + ".add_1", encoder.linear(attention + ".out_proj", y, shape.size(), shape.size()), x);
  y = encoder.linear(name + ".mlp.0", encoder.norm(name + ".ln_2", x), shape.size(), shape.hidden);
  y = encoder.linear(name + ".mlp.3", encoder.gelu(name + ".mlp.1", y), shape.hidden, shape.size());
  return encoder.add(name + ".add_2", x, y);
}

Graph Vit::build(const ZooOptions& options) const {
  const PictureOptions given = picture_options(name(), options);
  TransformerShape shape;
  shape.heads = std::max<int64_t>(1, std::llround(12 * given.width));
  shape.hidden = 4 * shape.size();
  shape.epsilon = 1e-6f;
  NetworkBuilder net(name());
  Transformer encoder(net, shape);
  const Feature patches =
      net.conv("conv_proj", net.picture("input", 3, given.image),
               {.out_channels = shape.size(), .kernel = patch_, .stride = patch_, .padding = Padding::none, .bias = true});
  const ValueId positions = net.weight("encoder.pos_embedding", {1, 1 + patches.height * patches.width, shape.size()});
  ValueId x = encoder.add("positions", tokens(net, patches), positions);
  for (int i = 0; i < layers; ++i) x = encoder_layer(net, encoder, shape, fmt::format("encoder.layers.encoder_layer_{}", i), x);
  x = encoder.norm("encoder.ln", x);
  x = net.node("Flatten", "class_token.flat",
               {net.node("Gather", "class_token.last", {x, net.integers("first", {0})}, {{"axis", int64_t{1}}})}, {{"axis", int64_t{1}}});
  return net.finish(net.linear("heads.head", x, shape.size(), given.classes, "output"));
}

bool add_all() {
  for (const int64_t patch : {16, 32})
    Registry<ZooModel>::instance().add(fmt::format("vit_b_{}", patch), [patch] { return std::make_unique<Vit>(patch); });
  return true;
}

const bool registered = add_all();

}  // namespace

}  // namespace deepgap
