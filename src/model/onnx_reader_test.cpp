#include "model/graph_tools.h"
#include "model/onnx_test_files.h"
#include "model/onnx_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Dim batch{1, batch_symbol};
Dim fixed(int64_t size) { return {size, ""}; }

TEST(OnnxReader, ReadsNodesShapesAndBatch) {
  const Graph graph = read_model(conv_model());
  EXPECT_EQ(graph.opset, 17);
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.nodes[0].op, "Conv");
  EXPECT_EQ(graph.inputs.size(), 1u);
  EXPECT_EQ(graph.constants.size(), 2u);
  EXPECT_EQ(graph.values[graph.outputs[0]].dims, (Dims{batch, fixed(4), fixed(8), fixed(8)}));
}

TEST(OnnxReader, TypedFieldsOfEveryElementType) {
  pb::ModelProto model = empty_model();
  auto* graph = model.mutable_graph();
  const auto add = [&](const std::string& name, int type) {
    auto* tensor = graph->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    tensor->add_dims(2);
    describe_value(graph->add_output(), name, {2}, type);
    return tensor;
  };
  for (const float v : {1.5f, -2.5f})
    add("f" + std::to_string(v), 1)->add_float_data(v), graph->mutable_initializer()->rbegin()->add_float_data(7);
  auto* f64 = add("f64", 11);
  f64->add_double_data(1e300), f64->add_double_data(-1);
  auto* i8 = add("i8", 3);
  i8->add_int32_data(-128), i8->add_int32_data(127);
  auto* u8 = add("u8", 2);
  u8->add_int32_data(0), u8->add_int32_data(255);
  auto* f16 = add("f16", 10);
  f16->add_int32_data(0x3c00), f16->add_int32_data(0xbc00);
  auto* i64 = add("i64", 7);
  i64->add_int64_data(INT64_MIN), i64->add_int64_data(INT64_MAX);
  auto* u32 = add("u32", 12);
  u32->add_uint64_data(0), u32->add_uint64_data(UINT32_MAX);
  auto* u64 = add("u64", 13);
  u64->add_uint64_data(1), u64->add_uint64_data(UINT64_MAX);
  auto* boolean = add("bool", 9);
  boolean->set_raw_data(std::string("\x00\x05", 2));
  const Graph read = read_model(model);
  const auto tensor = [&](const std::string& name) { return read.constants.at(value_called(read, name)); };
  EXPECT_THAT(tensor("f" + std::to_string(1.5f)).as<float>(), ElementsAre(1.5f, 7.f));
  EXPECT_THAT(tensor("f64").as<double>(), ElementsAre(1e300, -1));
  EXPECT_THAT(tensor("i8").as<int8_t>(), ElementsAre(-128, 127));
  EXPECT_THAT(tensor("u8").as<uint8_t>(), ElementsAre(0, 255));
  EXPECT_THAT(tensor("f16").as<uint16_t>(), ElementsAre(0x3c00, 0xbc00));
  EXPECT_THAT(tensor("i64").as<int64_t>(), ElementsAre(INT64_MIN, INT64_MAX));
  EXPECT_THAT(tensor("u32").as<uint32_t>(), ElementsAre(0u, UINT32_MAX));
  EXPECT_THAT(tensor("u64").as<uint64_t>(), ElementsAre(1u, UINT64_MAX));
  EXPECT_THAT(tensor("bool").as<uint8_t>(), ElementsAre(0, 1)) << "any true byte is 1 afterwards";
}

TEST(OnnxReader, UnpackedNumbersReadLikePackedOnes) {
  // TensorProto: dims 2 (field 1), type FLOAT (field 2), float_data one by one (field 4, wire type 5).
  const std::string bytes("\x08\x02\x10\x01\x25\x00\x00\x80\x3f\x25\x00\x00\x00\x40", 14);
  const ScratchFolder folder;
  EXPECT_THAT(read_tensor_proto(folder.write("t.pb", bytes)).as<float>(), ElementsAre(1.f, 2.f));
}

TEST(OnnxReader, InitialisersThatAreInputsStayConstants) {
  pb::ModelProto model = conv_model();
  describe_value(model.mutable_graph()->add_input(), "w", {4, 3, 3, 3});
  const Graph graph = read_model(model);
  ASSERT_EQ(graph.inputs.size(), 1u);
  EXPECT_EQ(graph.values[graph.inputs[0]].name, "x");
}

TEST(OnnxReader, NodesWithoutNamesAndWithOneNameGetTheirOwn) {
  pb::ModelProto model = empty_model();
  auto* graph = model.mutable_graph();
  describe_value(graph->add_input(), "x", {2});
  describe_value(graph->add_output(), "d", {2});
  add_node(graph, "Relu", {"x"}, {"a"});
  add_node(graph, "Abs", {"a"}, {"b"}, "same");
  add_node(graph, "Neg", {"b"}, {"c"}, "same");
  add_node(graph, "Relu", {"c"}, {"d"});
  const Graph read = read_model(model);
  std::vector<std::string> names;
  for (const Node& node : read.nodes) names.push_back(node.name);
  EXPECT_THAT(names, ElementsAre("Relu_0", "same", "same#2", "Relu_3"));
}

TEST(OnnxReader, OptionalInputsLeftOut) {
  pb::ModelProto model = empty_model();
  auto* graph = model.mutable_graph();
  describe_value(graph->add_input(), "x", {2});
  describe_value(graph->add_output(), "y", {2});
  add_floats(graph, "max", {}, 6);
  add_node(graph, "Clip", {"x", "", "max"}, {"z"}, "clip");
  add_node(graph, "Clip", {"z", "", ""}, {"y"}, "none");
  const Graph read = read_model(model);
  EXPECT_THAT(read.nodes[0].inputs, ElementsAre(value_called(read, "x"), no_value, value_called(read, "max")));
  EXPECT_EQ(read.nodes[1].inputs.size(), 1u) << "what is left out at the end needs no place";
}

// Passes and engines look at a node's first output.
TEST(OnnxReader, FirstOutputsLeftOutGetAName) {
  pb::ModelProto model = empty_model();
  auto* graph = model.mutable_graph();
  describe_value(graph->add_input(), "x", {2});
  describe_value(graph->add_output(), "places", {1}, 7);
  graph->add_initializer()->set_name("k");
  graph->mutable_initializer(0)->set_data_type(7);
  graph->mutable_initializer(0)->add_dims(1);
  graph->mutable_initializer(0)->add_int64_data(1);
  add_node(graph, "TopK", {"x", "k"}, {"", "places"}, "top");
  add_node(graph, "Relu", {"x"}, {"top.output0"});
  const Graph read = read_model(model);
  ASSERT_NE(read.nodes[0].outputs[0], no_value);
  EXPECT_EQ(read.values[static_cast<size_t>(read.nodes[0].outputs[0])].name, "top.output0#2");
}

// scikit-learn's exporter writes trees so: engines read the file by themselves.
TEST(OnnxReader, OperatorsOfOtherDomainsAlone) {
  pb::ModelProto model = empty_model();
  model.mutable_opset_import(0)->set_domain("ai.onnx.ml");
  model.mutable_opset_import(0)->set_version(3);
  describe_value(model.mutable_graph()->add_input(), "x", {2});
  describe_value(model.mutable_graph()->add_output(), "y", {2});
  add_node(model.mutable_graph(), "Binarizer", {"x"}, {"y"})->set_domain("ai.onnx.ml");
  EXPECT_EQ(read_model(model).nodes[0].domain, "ai.onnx.ml");
}

TEST(OnnxReader, NodesOutOfOrderAreSorted) {
  pb::ModelProto model = conv_model();
  model.mutable_graph()->mutable_node()->SwapElements(0, 1);
  const Graph graph = read_model(model);
  EXPECT_EQ(graph.nodes[0].op, "Conv");
  EXPECT_EQ(graph_hash(graph), graph_hash(read_model(conv_model())));
}

TEST(OnnxReader, ConstantNodesBecomeConstants) {
  pb::ModelProto model = empty_model();
  auto* graph = model.mutable_graph();
  describe_value(graph->add_input(), "x", {2, 3, 4});
  describe_value(graph->add_output(), "y", {2, 12});
  add_node(graph, "Reshape", {"x", "shape"}, {"y"}, "reshape");
  auto* ints = add_attribute(add_node(graph, "Constant", {}, {"shape"}, "constant"), "value_ints", pb::AttributeProto::INTS);
  ints->add_ints(2), ints->add_ints(-1);
  const Graph read = read_model(model);
  ASSERT_EQ(read.nodes.size(), 1u);
  EXPECT_THAT(constant_of(read, value_called(read, "shape"))->as<int64_t>(), ElementsAre(2, -1));
  EXPECT_EQ(read.values[read.outputs[0]].dims, (Dims{fixed(2), fixed(12)}));
}

TEST(OnnxReader, AttributeTypesMayBeLeftOut) {
  pb::ModelProto model = conv_model();
  model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->clear_type();
  EXPECT_THAT(attribute_ints(read_model(model).nodes[0], "pads", {}), ElementsAre(1, 1, 1, 1));
}

TEST(OnnxReader, OpenSizesKeepTheirNamesAndTheFirstIsTheBatch) {
  pb::ModelProto model = empty_model();
  auto* graph = model.mutable_graph();
  auto* shape = describe_value(graph->add_input(), "x", {-1, 3, -1, -1})->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->mutable_dim(0)->set_dim_param("batch");
  shape->mutable_dim(2)->set_dim_param("height");
  describe_value(graph->add_output(), "y", {});
  add_node(graph, "Relu", {"x"}, {"y"});
  const Graph read = read_model(model);
  EXPECT_EQ(read.values[read.outputs[0]].dims, (Dims{batch, fixed(3), {1, "height"}, {1, "x.3"}}));
  EXPECT_EQ(open_symbols(read).at("height"), "input 'x', dimension 2");
}

// If with a branch that reads a value of the graph around it.
pb::ModelProto branching_model(const std::string& captured) {
  pb::ModelProto model = empty_model();
  auto* graph = model.mutable_graph();
  describe_value(graph->add_input(), "x", {2});
  describe_value(graph->add_input(), "c", {}, 9);
  describe_value(graph->add_output(), "y", {2});
  auto* node = add_node(graph, "If", {"c"}, {"y"}, "if");
  add_node(graph, "Abs", {"x"}, {"a"}, "abs");
  for (const std::string branch : {"then_branch", "else_branch"}) {
    auto* body = add_attribute(node, branch, pb::AttributeProto::GRAPH)->mutable_g();
    body->set_name(branch);
    describe_value(body->add_output(), branch + "_y", {2});
    add_node(body, branch == "then_branch" ? "Neg" : "Relu", {captured}, {branch + "_y"}, "inner");
  }
  return model;
}

TEST(OnnxReader, SubgraphsReadValuesAroundThem) {
  const Graph graph = read_model(branching_model("a"));
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.nodes[0].op, "Abs") << "the If needs what its branches read";
  const auto branch = std::get<std::shared_ptr<const Graph>>(graph.nodes[1].attributes.at("then_branch"));
  EXPECT_THAT(captured_names(*branch), ElementsAre("a"));
  const std::string written = write_onnx(graph);
  EXPECT_EQ(graph_hash(parse_onnx(std::as_bytes(std::span(written)), "again", "")), graph_hash(graph));
  pb::ModelProto judged;
  ASSERT_TRUE(judged.ParseFromString(written));
  EXPECT_EQ(judged.graph().node(1).attribute(1).g().node(0).input(0), "a");
}

TEST(OnnxReader, SubgraphsCannotReadWhatIsNotThere) {
  EXPECT_THAT(input_error([] { read_model(branching_model("nowhere")); }), HasSubstr("'nowhere'"));
}

TEST(OnnxReader, OpsetsOutsideAreNamed) {
  for (const int64_t opset : {7, 21, 26, 28}) {
    pb::ModelProto model = empty_model(opset);
    describe_value(model.mutable_graph()->add_input(), "x", {2});
    describe_value(model.mutable_graph()->add_output(), "y", {2});
    add_node(model.mutable_graph(), "Relu", {"x"}, {"y"});
    EXPECT_EQ(read_model(model).opset, opset);
  }
  for (const int64_t opset : {5, 29, -1}) {
    EXPECT_THAT(input_error([&] { read_model(empty_model(opset)); }), HasSubstr("t.onnx: opset " + std::to_string(opset) + " "));
  }
}

TEST(OnnxReader, ExternalDataBesideTheModel) {
  pb::ModelProto model = conv_model();
  auto* bias = model.mutable_graph()->mutable_initializer(1);
  bias->clear_float_data();
  bias->set_data_location(pb::TensorProto::EXTERNAL);
  const auto entry = [&](const std::string& key, const std::string& value) {
    auto* added = bias->add_external_data();
    added->set_key(key);
    added->set_value(value);
  };
  entry("location", "weights.bin");
  entry("offset", "8");
  entry("length", "16");
  const ScratchFolder folder;
  const float content[] = {-1, -1, 1, 2, 3, 4, -1};
  folder.write("weights.bin", std::string(reinterpret_cast<const char*>(content), sizeof(content)));
  const std::string path = folder.write("m.onnx", model.SerializeAsString());
  const Graph graph = read_onnx(path);
  EXPECT_THAT(graph.constants.at(value_called(graph, "b")).as<float>(), ElementsAre(1, 2, 3, 4));
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  EXPECT_EQ(graph_hash(read_onnx("m.onnx")), graph_hash(graph)) << "a path without a folder";
  std::filesystem::current_path(before);
}

TEST(OnnxWriter, ProtobufReadsWhatItWrites) {
  const std::string bytes = write_onnx(read_model(conv_model()));
  pb::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(bytes));
  EXPECT_EQ(model.ir_version(), 8);
  EXPECT_EQ(model.opset_import(0).version(), 17);
  const auto& graph = model.graph();
  ASSERT_EQ(graph.node_size(), 2);
  EXPECT_EQ(graph.node(0).attribute(0).type(), pb::AttributeProto::INTS);
  EXPECT_EQ(graph.node(0).attribute(0).ints_size(), 4);
  EXPECT_EQ(graph.input(0).type().tensor_type().shape().dim(0).dim_param(), "N");
  EXPECT_EQ(graph.initializer(0).raw_data().size(), 4u * 3 * 3 * 3 * sizeof(float));
  EXPECT_EQ(model.SerializeAsString().size(), bytes.size()) << "nothing that protobuf would write otherwise";
}

TEST(OnnxWriter, EveryAttributeKindComesBack) {
  Graph graph = read_model(conv_model());
  graph.nodes[1].op = "Custom";
  graph.nodes[1].domain = "com.example";
  Tensor tensor = make_tensor(DataType::i64, {2});
  writable<int64_t>(tensor)[0] = -5, writable<int64_t>(tensor)[1] = 5;
  graph.nodes[1].attributes = {{"i", int64_t{-7}},
                               {"f", 0.5f},
                               {"s", std::string("text\n\xff")},
                               {"ints", std::vector<int64_t>{-1, INT64_MAX}},
                               {"floats", std::vector<float>{1, -2}},
                               {"strings", std::vector<std::string>{"a", ""}},
                               {"t", tensor}};
  const std::string bytes = write_onnx(graph);
  const Graph read = parse_onnx(std::as_bytes(std::span(bytes)), "again", "");
  EXPECT_EQ(graph_hash(read), graph_hash(graph));
  EXPECT_EQ(std::get<std::string>(read.nodes[1].attributes.at("s")), "text\n\xff");
}

TEST(OnnxWriter, TensorFilesOfTheTestLayout) {
  const ScratchFolder folder;
  Tensor tensor = make_tensor(DataType::f32, {1, 2});
  writable<float>(tensor)[0] = 3, writable<float>(tensor)[1] = 4;
  write_tensor_proto(folder.path("input_0.pb"), tensor, "x");
  EXPECT_THAT(read_tensor_proto(folder.path("input_0.pb")).as<float>(), ElementsAre(3, 4));
  pb::TensorProto judged;
  std::ifstream file(folder.path("input_0.pb"), std::ios::binary);
  ASSERT_TRUE(judged.ParseFromIstream(&file));
  EXPECT_EQ(judged.name(), "x");
}

TEST(OnnxWriter, NetworksWithoutWeightsAreNotWritten) {
  Graph graph = read_model(conv_model());
  graph.constants.begin()->second.data = nullptr;
  EXPECT_THROW(write_onnx(graph), Error);
}

}  // namespace
}  // namespace deepgap
