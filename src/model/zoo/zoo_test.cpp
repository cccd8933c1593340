#include "model/zoo/zoo.h"

#include "model/eval/evaluator.h"
#include "model/graph_tools.h"
#include "model/weights/safetensors.h"
#include "model/weights/seeded.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace deepgap {
namespace {

Graph build(const std::string& name) {
  ZooOptions options;
  const auto model = find_zoo_model(name, options);
  if (!model) throw Error(ErrorKind::usage, "no model " + name);
  return model->build(options);
}

std::map<std::string, Shape> weights_of(const Graph& graph) {
  std::map<std::string, Shape> shapes;
  for (const auto& [id, tensor] : graph.constants)
    if (!tensor.data) shapes[graph.values[id].name] = tensor.shape;
  return shapes;
}

Dims sizes(const std::vector<int64_t>& rest) {
  Dims dims{{1, batch_symbol}};
  for (int64_t size : rest) dims.push_back({size, ""});
  return dims;
}

TEST(Zoo, HasItsModels) {
  EXPECT_THAT(zoo_names(),
              testing::IsSupersetOf({"resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "mobilenet_v2", "efficientnet_lite0"}));
}

// Parameters and GMACs as torchvision publishes them with its weights; EfficientNet-Lite0's as its authors do.
TEST(Zoo, PublishedCounts) {
  struct Published {
    const char* name;
    int64_t parameters;
    double giga_macs;
  };
  const Published published[] = {{"resnet18", 11'689'512, 1.814},         {"resnet34", 21'797'672, 3.664},
                                 {"resnet50", 25'557'032, 4.089},         {"resnet101", 44'549'160, 7.801},
                                 {"resnet152", 60'192'808, 11.514},       {"mobilenet_v2", 3'504'872, 0.301},
                                 {"efficientnet_lite0", 4'652'008, 0.385}};
  for (const Published& model : published) {
    const GraphSummary summary = summarize(build(model.name));
    EXPECT_EQ(summary.parameters, model.parameters) << model.name;
    EXPECT_NEAR(static_cast<double>(summary.macs_per_item) * 1e-9, model.giga_macs, 0.0005) << model.name;
  }
}

// Constants of torchvision's state dicts, without num_batches_tracked.
TEST(Zoo, TorchvisionNames) {
  const auto small = weights_of(build("resnet18"));
  EXPECT_EQ(small.size(), 102u);
  EXPECT_EQ(small.at("conv1.weight"), (Shape{64, 3, 7, 7}));
  EXPECT_EQ(small.at("layer2.0.downsample.0.weight"), (Shape{128, 64, 1, 1}));
  EXPECT_EQ(small.at("layer4.1.bn2.running_var"), (Shape{512}));
  EXPECT_EQ(small.at("fc.bias"), (Shape{1000}));
  EXPECT_EQ(small.count("layer1.0.downsample.0.weight"), 0u);
  const auto large = weights_of(build("resnet50"));
  EXPECT_EQ(large.size(), 267u);
  EXPECT_EQ(large.at("layer1.0.downsample.1.running_mean"), (Shape{256}));
  EXPECT_EQ(large.at("layer3.5.conv2.weight"), (Shape{256, 256, 3, 3}));
  EXPECT_EQ(large.at("fc.weight"), (Shape{1000, 2048}));
  const auto mobile = weights_of(build("mobilenet_v2"));
  EXPECT_EQ(mobile.size(), 262u);
  EXPECT_EQ(mobile.at("features.1.conv.1.weight"), (Shape{16, 32, 1, 1}));
  EXPECT_EQ(mobile.at("features.2.conv.1.0.weight"), (Shape{96, 1, 3, 3}));
  EXPECT_EQ(mobile.at("features.17.conv.3.running_mean"), (Shape{320}));
  EXPECT_EQ(mobile.at("classifier.1.weight"), (Shape{1000, 1280}));
}

TEST(Zoo, StrideIsInThe3x3) {
  const Graph graph = build("resnet50");
  for (const Node& node : graph.nodes) {
    if (node.name == "layer2.0.conv1") {
      EXPECT_EQ(attribute_ints(node, "strides", {}), (std::vector<int64_t>{1, 1}));
    }
    if (node.name == "layer2.0.conv2") {
      EXPECT_EQ(attribute_ints(node, "strides", {}), (std::vector<int64_t>{2, 2}));
    }
  }
}

TEST(Zoo, EfficientNetPadsAsTensorFlow) {
  for (const Node& node : build("efficientnet_lite0").nodes) {
    if (node.name == "conv_stem") {  // 224 -> 112 by 3x3: one pixel, at the end
      EXPECT_EQ(attribute_ints(node, "pads", {}), (std::vector<int64_t>{0, 0, 1, 1}));
    }
    if (node.name == "blocks.3.depthwise_conv") {  // 56 -> 28 by 5x5: one before, two after
      EXPECT_EQ(attribute_ints(node, "pads", {}), (std::vector<int64_t>{1, 1, 2, 2}));
    }
    if (node.name == "blocks.4.depthwise_conv") {
      EXPECT_EQ(attribute_ints(node, "pads", {}), (std::vector<int64_t>{2, 2, 2, 2}));
    }
  }
}

TEST(Zoo, InputAndOutput) {
  for (const std::string& name : zoo_names()) {
    const Graph graph = build(name + ":classes=7,image=96");
    ASSERT_EQ(graph.inputs.size(), 1u);
    EXPECT_EQ(graph.values[graph.inputs[0]].name, "input");
    EXPECT_EQ(graph.values[graph.inputs[0]].dims, sizes({3, 96, 96}));
    ASSERT_EQ(graph.outputs.size(), 1u);
    EXPECT_EQ(graph.values[graph.outputs[0]].name, "output");
    EXPECT_EQ(graph.values[graph.outputs[0]].dims, sizes({7})) << name;
    EXPECT_NO_THROW(validate(graph)) << name;
  }
}

// Weights and gains of a residual network from its channel sizes, written as sums over stages rather than layer by layer.
int64_t resnet_parameters(int64_t b, bool bottleneck, std::array<int64_t, 4> blocks, int64_t classes) {
  const int64_t e = bottleneck ? 4 : 1;
  int64_t sum = 147 * b + 2 * b + classes * (8 * b * e + 1);
  for (int s = 0; s < 4; ++s) {
    const int64_t p = b << s, in = s == 0 ? b : (p / 2) * e, out = p * e;
    const int64_t inner = bottleneck ? 9 * p * p + 4 * p * p + 12 * p : 9 * p * p + 4 * p;  // all but the first convolution
    const int64_t first = bottleneck ? 1 : 9;
    sum += blocks[s] * inner + first * p * (in + (blocks[s] - 1) * out);
    if (in != out || s > 0) sum += in * out + 2 * out;
  }
  return sum;
}

TEST(Zoo, WidthAndClassesChangeTheCountsRightly) {
  EXPECT_EQ(resnet_parameters(64, false, {2, 2, 2, 2}, 1000), 11'689'512);
  EXPECT_EQ(resnet_parameters(64, true, {3, 4, 23, 3}, 1000), 44'549'160);
  EXPECT_EQ(summarize(build("resnet18:width=0.5,classes=10")).parameters, resnet_parameters(32, false, {2, 2, 2, 2}, 10));
  EXPECT_EQ(summarize(build("resnet34:width=0.25")).parameters, resnet_parameters(16, false, {3, 4, 6, 3}, 1000));
  EXPECT_EQ(summarize(build("resnet50:width=1.5,classes=2")).parameters, resnet_parameters(96, true, {3, 4, 6, 3}, 2));
  // torchvision's mobilenet_v2(width_mult=0.5) and (1.4).
  EXPECT_EQ(summarize(build("mobilenet_v2:width=0.5")).parameters, 1'968'680);
  EXPECT_EQ(summarize(build("mobilenet_v2:width=1.4")).parameters, 6'108'776);
}

TEST(Zoo, EveryShapeIsTheInferredOne) {
  for (const std::string& name : zoo_names()) {
    for (const char* size : {"32", "47"}) {
      const Graph graph = build(name + ":width=0.25,classes=5,image=" + size);
      Graph filled = graph;
      seed_weights(filled, 1, "");
      const int64_t side = std::stoi(size);
      Tensor x = make_tensor(DataType::f32, {2, 3, side, side});
      fill_normal(writable<float>(x), 1, "picture");
      evaluate(filled, std::span(&x, 1), [&](ValueId id, const Tensor& value) {
        const auto& dims = graph.values[id].dims;
        ASSERT_TRUE(dims && dims->size() == value.shape.size()) << name << " " << graph.values[id].name;
        for (size_t i = 0; i < dims->size(); ++i)
          EXPECT_EQ((*dims)[i].known() ? (*dims)[i].size : 2 * (*dims)[i].size, value.shape[i]) << name << " " << graph.values[id].name;
      });
    }
  }
}

TEST(Zoo, WrongOptionsAreNamed) {
  const auto message = [](const std::string& name) {
    try {
      build(name);
    } catch (const Error& error) {
      return std::string(error.kind() == ErrorKind::usage ? "" : "wrong kind: ") + error.what();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message("resnet50:widt=2"), "model 'resnet50': unknown option 'widt', did you mean 'width'?");
  EXPECT_THAT(message("resnet50:width=x"), testing::HasSubstr("width=x"));
  EXPECT_THAT(message("resnet50:width=1e9"), testing::HasSubstr("0.05 to 8"));
  EXPECT_THAT(message("resnet50:classes=0"), testing::HasSubstr("classes=0"));
  EXPECT_THAT(message("resnet50:image=99999"), testing::HasSubstr("image=99999"));
  EXPECT_THAT(message("resnet50:"), testing::HasSubstr("is not an option"));
  EXPECT_THAT(message("resnet50:width=1,width=2"), testing::HasSubstr("given twice"));
  ZooOptions options;
  EXPECT_EQ(find_zoo_model("resnet5", options), nullptr);
}

TEST(Zoo, Preprocessing) {
  EXPECT_EQ(preprocessing_for("resnet50").mean[0], 123.675f);
  const Preprocessing lite = preprocessing_for("efficientnet_lite0:image=112");
  EXPECT_EQ(lite.mean[1], 127);
  EXPECT_EQ(lite.scale[2], 128);
  EXPECT_EQ(lite.crop, 112);
  EXPECT_EQ(lite.resize, 128);
  EXPECT_EQ(preprocessing_for("some/file.onnx").crop, 224);
}

TEST(Zoo, ImageNetWeightsFit) {
  const std::string path = "data/weights/efficientnet_lite0.safetensors";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there: run tools/convert_efficientnet.py";
  std::map<std::string, Shape> stored;
  for (const auto& [name, tensor] : read_safetensors(path)) stored[name] = tensor.shape;
  EXPECT_EQ(stored, weights_of(build("efficientnet_lite0")));
}

}  // namespace
}  // namespace deepgap
