#include "model/zoo/zoo.h"

#include "model/eval/evaluator.h"
#include "model/graph_tools.h"
#include "model/integer_values.h"
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
              testing::IsSupersetOf({"resnet18",     "resnet34",     "resnet50",           "resnet101",          "resnet152",
                                     "mobilenet_v1", "mobilenet_v2", "mobilenet_v3_large", "mobilenet_v3_small", "efficientnet_lite0",
                                     "vgg16",        "densenet121",  "shufflenet_v2",      "inception_v3",       "vit_b_16",
                                     "vit_b_32",     "bert_base",    "bert_large",         "ssd_mobilenet_v1",   "ssd_resnet34",
                                     "digits_cnn"}));
}

std::vector<std::string> dropouts(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes)
    if (node.op == "Dropout") names.push_back(node.name);
  return names;
}

// Lists them as Hugging Face's BertForQuestionAnswering has them: none before the head.
std::vector<std::string> bert_dropouts(int layers) {
  std::vector<std::string> names{"bert.embeddings.dropout"};
  for (int i = 0; i < layers; ++i) {
    for (const char* place : {"attention.self", "attention.output", "output"})
      names.push_back(fmt::format("bert.encoder.layer.{}.{}.dropout", i, place));
  }
  return names;
}

// Where their sources train with it; the same weights with it and without.
TEST(Zoo, DropoutIsThereWhereItIsAskedFor) {
  using testing::ElementsAre;
  const std::map<std::string, std::vector<std::string>> places{{"mobilenet_v2", {"dropout"}},
                                                               {"mobilenet_v3_large", {"classifier.2"}},
                                                               {"mobilenet_v3_small", {"classifier.2"}},
                                                               {"efficientnet_lite0", {"dropout"}},
                                                               {"inception_v3", {"dropout"}},
                                                               {"vgg16", {"classifier.2", "classifier.5"}},
                                                               {"bert_base", bert_dropouts(12)},
                                                               {"bert_large", bert_dropouts(24)}};
  for (const std::string& name : zoo_names()) {
    ZooOptions options;
    const bool drops = find_zoo_model(name, options)->trained_dropout() > 0;
    EXPECT_EQ(drops, places.contains(name)) << name;
    EXPECT_TRUE(dropouts(build(name)).empty()) << name << " is built for inference";
    if (!drops) EXPECT_THROW(build(name + ":dropout=0.5"), Error) << name;
  }
  for (const auto& [name, layers] : places) {
    const Graph with = build(name + ":dropout=0.5");
    EXPECT_EQ(dropouts(with), layers) << name;
    EXPECT_EQ(weights_of(with), weights_of(build(name))) << name;
    EXPECT_EQ(trainable_constants(with).size(), trainable_constants(build(name)).size()) << "a share is no weight";
  }
  EXPECT_TRUE(dropouts(build("vgg16:dropout=0")).empty());
  EXPECT_THROW(build("vgg16:dropout=1"), Error);
}

// Parameters and GMACs as torchvision publishes them with its weights, to their last digit; but for
// - EfficientNet-Lite0: its authors.
// - MobileNet-v1: 569 million multiply-adds (Howard et al., table 8); parameters as Keras counts the trainable ones.
// - Inception-v3: torchvision counts the auxiliary classifier's 3,326,696 parameters too.
// - BERT: Hugging Face's BertModel has 109,482,240 and 335,141,888 with the pooler, in whose place the head is (590,592 and 1,049,600
//   less, 1,538 and 2,050 more). The base's 22.5 GFLOP at 128 tokens are those of Jiao et al. (TinyBERT, 2020), within their digits; for a
//   layer of size d, n tokens take n 12 d^2 + 2 n^2 d.
TEST(Zoo, PublishedCounts) {
  struct Published {
    const char* name;
    int64_t parameters;
    double giga_macs;
  };
  const Published published[] = {{"resnet18", 11'689'512, 1.814},
                                 {"resnet34", 21'797'672, 3.664},
                                 {"resnet50", 25'557'032, 4.089},
                                 {"resnet101", 44'549'160, 7.801},
                                 {"resnet152", 60'192'808, 11.514},
                                 {"mobilenet_v2", 3'504'872, 0.301},
                                 {"efficientnet_lite0", 4'652'008, 0.385},
                                 {"mobilenet_v1", 4'231'976, 0.569},
                                 {"mobilenet_v3_large", 5'483'032, 0.217},
                                 {"mobilenet_v3_small", 2'542'856, 0.057},
                                 {"vgg16", 138'357'544, 15.470},
                                 {"densenet121", 7'978'856, 2.834},
                                 {"shufflenet_v2", 2'278'604, 0.145},
                                 {"inception_v3", 27'161'264 - 3'326'696, 5.713},
                                 {"vit_b_16", 86'567'656, 17.564},
                                 {"vit_b_32", 88'224'232, 4.409},
                                 {"bert_base:sequence=128", 109'482'240 - 590'592 + 1'538, 11.174},
                                 {"bert_large", 335'141'888 - 1'049'600 + 2'050, 123.213}};
  for (const Published& model : published) {
    const GraphSummary summary = summarize(build(model.name));
    EXPECT_EQ(summary.parameters, model.parameters) << model.name;
    EXPECT_NEAR(static_cast<double>(summary.macs_per_item) * 1e-9, model.giga_macs, 0.0005) << model.name;
  }
}

// MLPerf Inference v0.5 (Reddi et al., 2019, table I) prints 2.47 and 433 G operations a picture, a multiply and an add being two. Its
// 6.91 and 36.3 million parameters are not those of its reference implementations, whose layers are counted here by hand.
TEST(Zoo, DetectorsOfMlperf) {
  const GraphSummary small = summarize(build("ssd_mobilenet_v1")), large = summarize(build("ssd_resnet34"));
  EXPECT_NEAR(2e-9 * static_cast<double>(small.macs_per_item), 2.47, 0.005);
  EXPECT_NEAR(2e-9 * static_cast<double>(large.macs_per_item), 433, 0.5);
  EXPECT_EQ(small.parameters, 6'819'839);
  EXPECT_EQ(large.parameters, 19'972'534);
  EXPECT_EQ(small.inputs[0].dims, sizes({3, 300, 300}));
  EXPECT_EQ(large.inputs[0].dims, sizes({3, 1200, 1200}));
  ASSERT_EQ(large.outputs.size(), 4u);
  EXPECT_EQ(large.outputs[0].dims, sizes({200, 4}));
  EXPECT_EQ(large.outputs[2].type, DataType::i64);
  EXPECT_EQ(large.outputs[3].dims, sizes({200, 80}));
  EXPECT_EQ(small.outputs[3].dims, sizes({100, 90}));
  const auto anchors = [](const std::string& name) {
    const Graph graph = build(name);
    for (const auto& [id, tensor] : graph.constants)
      if (graph.values[id].name == "anchors") return tensor.shape;
    return Shape{};
  };
  EXPECT_EQ(anchors("ssd_mobilenet_v1"), (Shape{1, 1917, 4}));
  EXPECT_EQ(anchors("ssd_resnet34"), (Shape{1, 15130, 4}));
}

// The operation counts that a study of training intensity (Pham, 2024) prints for batch 64, in G: products with weights once, four for each
// element that is normalised, one for each that an activation, a pooling or a factor makes.
double printed_count(const Graph& graph) {
  const Graph bound = bind_symbols(graph, {{batch_symbol, 64}});
  double count = 0;
  for (const Node& node : bound.nodes) {
    const NodeCount work = count_node(bound, node);
    if (work.macs > 0) {
      if (bound.constants.contains(node.inputs[1])) count += static_cast<double>(work.macs);
    } else if (node.op.ends_with("Normalization")) {
      count += 4.0 * static_cast<double>(work.flop);
    } else if (node.op == "GlobalAveragePool" || node.op == "Mul" || node.op == "Relu" || node.op.starts_with("Hard") || node.op == "Erf") {
      count += static_cast<double>(work.flop);
    }
  }
  return 1e-9 * count;
}

TEST(Zoo, CountsOfAStudy) {
  EXPECT_NEAR(printed_count(build("mobilenet_v3_large")), 15.31, 0.005);
  EXPECT_NEAR(printed_count(build("vit_b_32")), 280, 0.5);
  EXPECT_NEAR(printed_count(build("resnet50")), 265, 0.5);
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
  const auto excited = weights_of(build("mobilenet_v3_large"));
  EXPECT_EQ(excited.size(), 266u);
  EXPECT_EQ(excited.at("features.4.block.2.fc1.weight"), (Shape{24, 72, 1, 1}));
  EXPECT_EQ(excited.at("features.16.0.weight"), (Shape{960, 160, 1, 1}));
  EXPECT_EQ(excited.at("classifier.3.bias"), (Shape{1000}));
  EXPECT_EQ(weights_of(build("vgg16")).at("classifier.0.weight"), (Shape{4096, 25088}));
  const auto dense = weights_of(build("densenet121"));
  EXPECT_EQ(dense.size(), 606u);
  EXPECT_EQ(dense.at("features.denseblock2.denselayer12.conv1.weight"), (Shape{128, 480, 1, 1}));
  EXPECT_EQ(dense.at("features.norm5.running_var"), (Shape{1024}));
  const auto shuffled = weights_of(build("shufflenet_v2"));
  EXPECT_EQ(shuffled.size(), 282u);
  EXPECT_EQ(shuffled.at("stage2.0.branch1.2.weight"), (Shape{58, 24, 1, 1}));
  EXPECT_EQ(shuffled.at("stage4.3.branch2.6.bias"), (Shape{232}));
  const auto inception = weights_of(build("inception_v3"));
  EXPECT_EQ(inception.at("Mixed_6b.branch7x7dbl_2.conv.weight"), (Shape{128, 128, 7, 1}));
  EXPECT_EQ(inception.at("Mixed_7c.branch3x3dbl_3b.bn.bias"), (Shape{384}));
  const auto patches = weights_of(build("vit_b_16"));
  EXPECT_EQ(patches.size(), 152u);
  EXPECT_EQ(patches.at("encoder.pos_embedding"), (Shape{1, 197, 768}));
  EXPECT_EQ(patches.at("encoder.layers.encoder_layer_11.self_attention.in_proj_bias"), (Shape{2304}));
  EXPECT_EQ(weights_of(build("bert_base")).at("bert.encoder.layer.11.intermediate.dense.weight"), (Shape{768, 3072}));
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

TEST(Zoo, DigitsAreGreyAndSmall) {
  const GraphSummary summary = summarize(build("digits_cnn"));
  EXPECT_EQ(summary.inputs[0].dims, sizes({1, 8, 8}));
  EXPECT_EQ(summary.outputs[0].dims, sizes({10}));
  EXPECT_EQ(summary.parameters, 9 * 32 + 9 * 32 * 32 + 9 * 32 * 64 + 2 * (32 + 32 + 64) + 256 * 10 + 10);
}

// Networks of one colour picture and one list of scores.
std::vector<std::string> classifiers() {
  std::vector<std::string> names = zoo_names();
  std::erase_if(names, [](const std::string& name) {
    const std::array others{"bert", "digits_cnn", "gnmt", "gpt2", "qwen2", "smollm2", "ssd"};
    return std::any_of(others.begin(), others.end(), [&](const char* other) { return name.starts_with(other); });
  });
  return names;
}

TEST(Zoo, InputAndOutput) {
  for (const std::string& name : classifiers()) {
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

std::vector<Tensor> batch_of_two(const Graph& graph) {
  std::vector<Tensor> inputs;
  const auto integers = integer_values(graph);
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.values[id];
    Shape shape;
    for (const Dim& dim : *value.dims) shape.push_back(dim.known() ? dim.size : 2 * dim.size);
    inputs.push_back(make_tensor(value.type, shape));
    if (value.type == DataType::f32) {
      fill_normal(writable<float>(inputs.back()), 1, value.name);
    } else {
      int64_t next = 0;
      for (int64_t& element : writable<int64_t>(inputs.back())) element = integers.at(value.name).number(static_cast<uint64_t>(next++));
    }
  }
  return inputs;
}

void expect_inferred_shapes(const std::string& name) {
  const Graph graph = build(name);
  Graph filled = graph;
  seed_weights(filled, 1, "");
  evaluate(filled, batch_of_two(graph), [&](ValueId id, const Tensor& value) {
    const auto& dims = graph.values[id].dims;
    ASSERT_TRUE(dims && dims->size() == value.shape.size()) << name << " " << graph.values[id].name;
    for (size_t i = 0; i < dims->size(); ++i)
      if ((*dims)[i].known() || (*dims)[i].symbol == batch_symbol)  // else what suppression keeps
        EXPECT_EQ((*dims)[i].known() ? (*dims)[i].size : 2 * (*dims)[i].size, value.shape[i]) << name << " " << graph.values[id].name;
  });
}

TEST(Zoo, EveryShapeIsTheInferredOne) {
  for (const std::string& name : classifiers()) {
    const bool large = name == "inception_v3";
    for (const char* size : {large ? "75" : "32", large ? "96" : "47"})
      expect_inferred_shapes(name + ":width=0.25,classes=5,image=" + size);
  }
  for (const char* name : {"bert_base:width=0.1,sequence=1", "bert_large:width=0.1,sequence=9"}) expect_inferred_shapes(name);
  for (const char* name : {"ssd_mobilenet_v1:width=0.25,classes=5,image=96", "ssd_resnet34:width=0.25,classes=5,image=400"})
    expect_inferred_shapes(name);
}

TEST(Zoo, APictureThatIsTooSmallIsRefused) {
  try {
    build("inception_v3:image=74");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), testing::HasSubstr("model 'inception_v3': the image is too small, layer 'Mixed_7a.branch3x3_2.conv'"));
  }
  EXPECT_NO_THROW(build("inception_v3:image=75"));
}

// The length of a text is an option, and may be bound afterwards.
TEST(Zoo, SequenceLength) {
  const Graph graph = build("bert_base:width=0.25,sequence=16");
  EXPECT_EQ(graph.values[graph.outputs[0]].dims, sizes({16, 2}));
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const ValueId id : graph.inputs) shapes[graph.values[id].name] = {-1, 7};
  const Graph bound = bind_shapes(graph, shapes);
  EXPECT_EQ(bound.values[bound.outputs[0]].dims, sizes({7, 2}));
  EXPECT_EQ(summarize(bound).macs_per_item, summarize(build("bert_base:width=0.25,sequence=7")).macs_per_item);
}

TEST(Zoo, IntegerInputs) {
  const std::map<std::string, IntegerRange> expected{{"input_ids", {0, 30522}}, {"attention_mask", {0, 2}}, {"token_type_ids", {0, 2}}};
  EXPECT_EQ(integer_values(build("bert_base:width=0.25,sequence=8")), expected);
  EXPECT_TRUE(integer_values(build("resnet18")).empty());
  // Where an exporter put a Cast between the input and its table.
  Graph cast = build("bert_base:width=0.25,sequence=8");
  for (Node& node : cast.nodes) {
    if (node.op != "Gather" || node.inputs[1] != cast.inputs[0]) continue;
    cast.values.push_back({"narrow", DataType::i32, cast.values[cast.inputs[0]].dims});
    node.inputs[1] = static_cast<ValueId>(cast.values.size()) - 1;
    cast.nodes.insert(cast.nodes.begin(), {"cast", "Cast", "", {cast.inputs[0]}, {node.inputs[1]}, {{"to", int64_t{6}}}});
    break;
  }
  EXPECT_EQ(integer_values(cast), expected);
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
  EXPECT_EQ(message("bert_base:classes=2"), "model 'bert_base': unknown option 'classes'; known: sequence, width, dropout");
  EXPECT_THAT(message("bert_base:sequence=513"), testing::HasSubstr("1 to 512"));
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
