#include "model/model_source.h"

#include "model/graph_tools.h"
#include "model/onnx_metadata.h"
#include "model/onnx_test_files.h"
#include "model/weights/safetensors.h"
#include "model/zoo/zoo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* small = "resnet18:width=0.1,classes=10,image=32";

std::string error_of(const ModelRequest& request, ErrorKind kind) {
  try {
    open_model(request);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "";
}

// All that the small network needs.
std::map<std::string, Tensor> small_weights() {
  ZooOptions options;
  const Graph graph = find_zoo_model(small, options)->build(options);
  std::map<std::string, Tensor> tensors;
  for (const auto& [id, constant] : graph.constants) {
    if (constant.data != nullptr) continue;
    Tensor tensor = make_tensor(constant.type, constant.shape);
    for (float& value : writable<float>(tensor)) value = 0.5f;
    tensors.emplace(graph.values[id].name, std::move(tensor));
  }
  return tensors;
}

TEST(ModelSource, ATrainingFormHasTheDropoutOfItsSource) {
  const auto dropped = [](const std::string& name, Task task) {
    ModelRequest request{.name = name};
    request.task = task;
    const auto model = open_model(request);
    for (const Node& node : model->graph().nodes)
      if (node.op == "Dropout") return constant_of(model->graph(), node.inputs[1])->as<float>()[0];
    return 0.0F;
  };
  const std::string name = "mobilenet_v3_small:width=0.25,image=32,classes=4";
  EXPECT_EQ(dropped(name, Task::infer), 0);
  EXPECT_EQ(dropped(name, Task::train), 0.2F);
  EXPECT_EQ(dropped(name + ",dropout=0", Task::train), 0);
  EXPECT_EQ(dropped(name + ",dropout=0.5", Task::train), 0.5F);
  EXPECT_EQ(dropped("resnet18:width=0.25,image=32,classes=4", Task::train), 0);
  EXPECT_EQ(dropped("bert_base:width=0.05,sequence=8", Task::train), 0.1F);
  EXPECT_EQ(dropped("bert_base:width=0.05,sequence=8", Task::infer), 0);
}

TEST(ModelSource, SeededZooModels) {
  const auto model = open_model({.name = small});
  EXPECT_EQ(model->name(), small);
  EXPECT_EQ(model->file(), "");
  for (const auto& [id, constant] : model->graph().constants) EXPECT_NE(constant.data, nullptr) << model->graph().values[id].name;
  EXPECT_EQ(model->summary().content_hash, open_model({.name = small})->summary().content_hash);
  EXPECT_NE(model->summary().content_hash, open_model({.name = small, .seed = 2})->summary().content_hash);
  const Graph again = parse_onnx(model->onnx(), "again", "");
  EXPECT_EQ(graph_hash(again), model->summary().content_hash);
  EXPECT_EQ(model->onnx().data(), model->onnx().data()) << "made once";
}

// LabelEncoder has other attributes in version 1 of its domain, and an engine would refuse these.
// The sizes fit with an open batch, and do not at batch 1: found when the work of the network is counted.
TEST(ModelSource, WhatShowsAtBatch1NamesTheFileToo) {
  pb::ModelProto model = empty_model();
  auto* graph = model.mutable_graph();
  describe_value(graph->add_input(), "x", {-1, 8});
  describe_value(graph->add_output(), "y", {0, 8});
  auto* sizes = graph->add_initializer();
  sizes->set_name("sizes");
  sizes->set_data_type(pb::TensorProto::INT64);
  sizes->add_dims(2);
  sizes->add_int64_data(0);
  sizes->add_int64_data(8);
  add_attribute(add_node(graph, "Reshape", {"x", "sizes"}, {"y"}), "allowzero", pb::AttributeProto::INT)->set_i(1);
  const ScratchFolder folder;
  const std::string path = folder.write("net.onnx", model.SerializeAsString());
  EXPECT_THAT(error_of({.name = path}, ErrorKind::input), testing::StartsWith(path + ": node "));
  EXPECT_THAT(input_error([&] { outline_model({.name = path}); }), testing::StartsWith(path + ": node "));
}

TEST(ModelSource, OtherDomainsKeepTheirVersions) {
  pb::ModelProto model = empty_model();
  auto* domain = model.add_opset_import();
  domain->set_domain("ai.onnx.ml");
  domain->set_version(3);
  describe_value(model.mutable_graph()->add_input(), "x", {2});
  describe_value(model.mutable_graph()->add_output(), "y", {2});
  add_node(model.mutable_graph(), "LabelEncoder", {"x"}, {"y"})->set_domain("ai.onnx.ml");
  const ScratchFolder folder;
  const auto opened = open_model({.name = folder.write("trees.onnx", model.SerializeAsString())});
  EXPECT_EQ(onnx_domains(opened->onnx()), (DomainVersions{{"ai.onnx.ml", 3}}));
}

TEST(ModelSource, WeightsFromAFile) {
  const ScratchFolder folder;
  auto tensors = small_weights();
  tensors["bn1.num_batches_tracked"] = make_tensor(DataType::i64, {});
  writable<int64_t>(tensors["bn1.num_batches_tracked"])[0] = 7;
  write_safetensors(folder.path("w.safetensors"), tensors);
  const auto model = open_model({.name = small, .weights = folder.path("w.safetensors")});
  EXPECT_EQ(model->graph().constants.at(value_called(model->graph(), "fc.bias")).as<float>()[0], 0.5f);
}

TEST(ModelSource, WeightsThatDoNotFitNameTheFirstThatDiffers) {
  const ScratchFolder folder;
  const std::string path = folder.path("w.safetensors");
  const auto error_with = [&](auto change) {
    auto tensors = small_weights();
    change(tensors);
    write_safetensors(path, tensors);
    return error_of({.name = small, .weights = path}, ErrorKind::input);
  };
  EXPECT_THAT(error_with([](auto& t) { t.erase("fc.bias"); }), HasSubstr("no 'fc.bias'"));
  EXPECT_THAT(error_with([](auto& t) { t["surplus"] = t["fc.bias"]; }), HasSubstr("no place for 'surplus'"));
  EXPECT_THAT(error_with([](auto& t) {
                t["fc.bias"].shape = {5, 2};
              }),
              HasSubstr("'fc.bias' is float32 [5,2], resnet18 needs float32 [10]"));
  EXPECT_THAT(error_with([](auto& t) { t["fc.bias"] = make_tensor(DataType::f16, {10}); }), HasSubstr("'fc.bias' is float16 [10]"));
}

TEST(ModelSource, NamedWeightsThatAreNotThereSayWhere) {
  const ScratchFolder folder;
  EXPECT_THAT(error_of({.name = "efficientnet_lite0", .weights = "imagenet", .data_dir = folder.path()}, ErrorKind::input),
              HasSubstr(folder.path("weights/efficientnet_lite0.safetensors")));
  EXPECT_THAT(error_of({.name = "efficientnet_lite0", .weights = "imagnet"}, ErrorKind::usage), HasSubstr("did you mean 'imagenet'"));
  EXPECT_THAT(error_of({.name = small, .weights = "imagenet"}, ErrorKind::usage),
              HasSubstr("invalid value 'imagenet' for weights: expected seeded or a .safetensors file"));
  EXPECT_THAT(error_of({.name = small, .weights = folder.path("none.safetensors")}, ErrorKind::input), HasSubstr("none.safetensors"));
}

TEST(ModelSource, FilesOfOtherFormats) {
  EXPECT_THAT(error_of({.name = "net.pt"}, ErrorKind::usage),
              testing::AllOf(HasSubstr("'net.pt' is neither"), HasSubstr("torch.onnx.export")));
  EXPECT_THAT(error_of({.name = "net.mlmodel"}, ErrorKind::usage), HasSubstr("exporter writes it as ONNX"));
  EXPECT_THAT(error_of({.name = "net.tflite"}, ErrorKind::usage), HasSubstr("exporter writes it as ONNX"));
  const ScratchFolder folder;
  EXPECT_THAT(error_of({.name = folder.write("net.mlmodel", std::string("\x08\x05\xa2\x1f\x02\x0a\0", 7))}, ErrorKind::input),
              testing::AllOf(HasSubstr("it is a Core ML model"), testing::Not(HasSubstr("if it is not"))));
  const std::string path =
      folder.write("net.pth", std::string("PK\x03\x04") + std::string(22, '\0') + std::string("\x0c\0\0\0", 4) + "net/data.pkl\n");
  EXPECT_THAT(error_of({.name = path}, ErrorKind::input), testing::AllOf(HasSubstr(path + ": "), HasSubstr("torch.onnx.export")));
}

TEST(ModelSource, FoldersOfOtherFormats) {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.path("net.mlpackage"));
  EXPECT_THAT(error_of({.name = folder.path("net.mlpackage")}, ErrorKind::input), HasSubstr("is a Core ML package"));
  folder.write("net.xml", "<net");
  folder.write("net.bin", "");
  EXPECT_THAT(error_of({.name = folder.path()}, ErrorKind::input), HasSubstr("OpenVINO's IR"));
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  EXPECT_THAT(error_of({.name = "net.mlpackage"}, ErrorKind::usage), HasSubstr("'net.mlpackage' is a Core ML package"));
  std::filesystem::current_path(before);
}

TEST(ModelSource, UnknownNames) {
  EXPECT_THAT(error_of({.name = "resnet5"}, ErrorKind::usage), HasSubstr("did you mean"));
  EXPECT_THAT(error_of({.name = "resnet18:widht=2"}, ErrorKind::usage), HasSubstr("widht"));
  EXPECT_THAT(error_of({.name = "nowhere/x.onnx"}, ErrorKind::input), HasSubstr("nowhere/x.onnx"));
  EXPECT_TRUE(is_model_file("x.onnx"));
  EXPECT_TRUE(is_model_file("./resnet50"));
  EXPECT_FALSE(is_model_file("resnet50"));
}

TEST(ModelSource, Files) {
  const ScratchFolder folder;
  const std::string path = folder.write("m.onnx", conv_model().SerializeAsString());
  const auto model = open_model({.name = path, .shapes = {{"x", {-1, 3, 16, 12}}}});
  EXPECT_EQ(model->file(), path);
  EXPECT_EQ(model->graph().values[model->graph().outputs[0]].dims, (Dims{{1, "N"}, {4, ""}, {16, ""}, {12, ""}}));
  EXPECT_THAT(error_of({.name = path, .weights = "imagenet"}, ErrorKind::usage), HasSubstr("has its own"));
}

TEST(ModelSource, OpenSizesMustBeGiven) {
  pb::ModelProto message = conv_model();
  auto* height = message.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(2);
  height->clear_dim_value();
  height->set_dim_param("H");
  const ScratchFolder folder;
  const std::string path = folder.write("m.onnx", message.SerializeAsString());
  EXPECT_THAT(error_of({.name = path}, ErrorKind::usage), HasSubstr("--shape"));
  EXPECT_NO_THROW(open_model({.name = path, .shapes = {{"x", {-1, 3, 8, 8}}}}));
  EXPECT_NO_THROW(summarize_model({.name = path}));
}

TEST(ModelSource, SummariesNeedNoWeights) {
  const GraphSummary summary = summarize_model({.name = small});
  const auto model = open_model({.name = small});
  EXPECT_EQ(summary.parameters, model->summary().parameters);
  EXPECT_EQ(summary.macs_per_item, model->summary().macs_per_item);
  EXPECT_EQ(summary.name, small);
}

}  // namespace
}  // namespace deepgap
