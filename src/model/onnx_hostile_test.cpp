// Files made to break the reader: each is one line naming file and cause, never a crash.
#include "model/graph_tools.h"
#include "model/onnx_test_files.h"
#include "model/onnx_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>

namespace deepgap {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string error_of(const pb::ModelProto& model, const OnnxLimits& limits = {}) {
  const std::string message = input_error([&] { read_model(model, "", limits); });
  EXPECT_THAT(message, AllOf(StartsWith("t.onnx: "), Not(HasSubstr("\n"))));
  return message;
}

// conv_model() after `change` of its graph.
std::string error_after(const std::function<void(pb::GraphProto&)>& change, const OnnxLimits& limits = {}) {
  pb::ModelProto model = conv_model();
  change(*model.mutable_graph());
  return error_of(model, limits);
}

TEST(HostileOnnx, CutOffAnywhere) {
  const std::string bytes = conv_model().SerializeAsString();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto part = std::as_bytes(std::span(bytes)).first(size);
    EXPECT_THAT(input_error([&] { parse_onnx(part, "t.onnx", ""); }), StartsWith("t.onnx: ")) << size;
  }
}

TEST(HostileOnnx, OtherNetworksThatAreProtobufs) {
  const auto error_for = [](const std::string& text) { return input_error([&] { parse_onnx(std::as_bytes(std::span(text)), "t", ""); }); };
  // A version, a description and in field 500 a network.
  EXPECT_THAT(error_for(std::string("\x08\x05\x12\x04\x0a\x02\x0a\0\xa2\x1f\x02\x0a\0", 13)), HasSubstr("Core ML model"));
  // A version, and a graph whose first field is a message.
  EXPECT_THAT(error_for(std::string("\x08\x01\x12\x04\x0a\x02\x0a\0", 8)), HasSubstr("SavedModel: give the folder"));
  EXPECT_THAT(error_for(std::string("\x08\x08\x12\x04test", 8)), HasSubstr("it has no graph"));
}

TEST(HostileOnnx, WhatIsNoModel) {
  for (const std::string text : {"", "hello, this is text\n", "\x89PNG\r\n\x1a\n", "{\"a\": 1}"}) {
    EXPECT_THAT(input_error([&] { parse_onnx(std::as_bytes(std::span(text)), "t.onnx", ""); }), StartsWith("t.onnx: ")) << text;
  }
  const ScratchFolder folder;
  EXPECT_THAT(input_error([&] { read_onnx(folder.path("none.onnx")); }), HasSubstr("none.onnx"));
  EXPECT_THAT(input_error([&] { read_onnx(folder.path()); }), HasSubstr("is a folder"));
  ASSERT_EQ(::mkfifo(folder.path("pipe.onnx").c_str(), 0600), 0);
  EXPECT_THAT(input_error([&] { read_onnx(folder.path("pipe.onnx")); }), HasSubstr("regular file")) << "a pipe would block";
}

// Returns the bytes that read() and its like have read in this process so far.
int64_t bytes_read() {
  std::ifstream file("/proc/self/io");
  std::string name;
  int64_t bytes = 0;
  file >> name >> bytes;
  return name == "rchar:" ? bytes : 0;
}

TEST(HostileOnnx, HugeFilesAreRefusedUnread) {
  const ScratchFolder folder;
  const std::string path = folder.write("huge.onnx", "");
  std::filesystem::resize_file(path, uint64_t{1} << 36);  // a hole of 64 GiB
  const int64_t before = bytes_read();
  EXPECT_THAT(input_error([&] { read_onnx(path); }), HasSubstr("2 GiB"));
  EXPECT_LT(bytes_read() - before, 1 << 20);
}

TEST(HostileOnnx, CyclesAreNamed) {
  const std::string message = error_after([](pb::GraphProto& graph) {
    add_node(&graph, "Add", {"x", "q"}, {"p"}, "first");
    add_node(&graph, "Relu", {"p"}, {"q"}, "second");
  });
  EXPECT_THAT(message, AllOf(HasSubstr("cycle"), HasSubstr("'first'"), HasSubstr("'second'"), Not(HasSubstr("'conv'"))));
  EXPECT_THAT(error_after([](pb::GraphProto& graph) { add_node(&graph, "Relu", {"self"}, {"self"}, "own"); }), HasSubstr("'own' -> 'own'"));
}

TEST(HostileOnnx, DuplicateNames) {
  EXPECT_THAT(error_after([](pb::GraphProto& graph) { add_node(&graph, "Relu", {"x"}, {"c"}); }), HasSubstr("'c' is given twice"));
  EXPECT_THAT(error_after([](pb::GraphProto& graph) { add_floats(&graph, "w", {1}); }), HasSubstr("'w' is given twice"));
  EXPECT_THAT(error_after([](pb::GraphProto& graph) { describe_value(graph.add_input(), "x", {1}); }), HasSubstr("'x' is given twice"));
  EXPECT_THAT(error_after([](pb::GraphProto& graph) { add_node(&graph, "Relu", {"c"}, {"x"}); }), HasSubstr("'x' is given twice"));
  EXPECT_THAT(error_after([](pb::GraphProto& graph) { describe_value(graph.add_output(), "y", {1}); }), HasSubstr("'y' is given twice"));
  EXPECT_THAT(error_after([](pb::GraphProto& graph) { graph.mutable_node(0)->add_attribute()->set_name("pads"); }), HasSubstr("twice"));
}

TEST(HostileOnnx, DanglingNames) {
  EXPECT_THAT(error_after([](pb::GraphProto& graph) { graph.mutable_node(1)->set_input(0, "ghost"); }),
              AllOf(HasSubstr("'relu'"), HasSubstr("'ghost'")));
  EXPECT_THAT(error_after([](pb::GraphProto& graph) { graph.mutable_output(0)->set_name("ghost"); }), HasSubstr("'ghost'"));
  EXPECT_THAT(error_after([](pb::GraphProto& graph) { graph.clear_output(); }), HasSubstr("no outputs"));
  EXPECT_THAT(error_after([](pb::GraphProto& graph) { graph.mutable_node(1)->clear_output(); }), HasSubstr("no outputs"));
  EXPECT_THAT(error_after([](pb::GraphProto& graph) { graph.mutable_node(1)->clear_op_type(); }), HasSubstr("no operator"));
  EXPECT_THAT(error_after([](pb::GraphProto& graph) { graph.mutable_input(0)->clear_name(); }), HasSubstr("without a name"));
}

TEST(HostileOnnx, DimensionProductsThatOverflow) {
  const auto with_dims = [](const std::vector<int64_t>& dims) {
    return error_after([&](pb::GraphProto& graph) {
      auto* tensor = graph.mutable_initializer(0);
      tensor->clear_dims();
      for (const int64_t size : dims) tensor->add_dims(size);
    });
  };
  EXPECT_THAT(with_dims({int64_t{1} << 32, int64_t{1} << 32}), HasSubstr("'w'")) << "wraps to 0";
  EXPECT_THAT(with_dims({int64_t{1} << 62, 4, 27}), HasSubstr("'w'"));
  EXPECT_THAT(with_dims({0, INT64_MAX, INT64_MAX}), HasSubstr("'w'")) << "a zero does not hide it";
  EXPECT_THAT(with_dims({-4, -27}), HasSubstr("negative"));
  EXPECT_THAT(with_dims({5, 3, 3, 3}), HasSubstr("needs 135 elements, it has 108"));
  EXPECT_THAT(with_dims({1 << 20, 1 << 19}), HasSubstr("it has 108")) << "no memory is taken for what the file does not hold";
  EXPECT_THAT(with_dims(std::vector<int64_t>(1000, 1)), HasSubstr("64 dimensions"));
}

TEST(HostileOnnx, DataThatDisagreesWithItsShape) {
  EXPECT_THAT(error_after([](pb::GraphProto& graph) { graph.mutable_initializer(1)->set_raw_data("12345678"); }),
              HasSubstr("raw and typed"));
  EXPECT_THAT(error_after([](pb::GraphProto& graph) {
                graph.mutable_initializer(1)->clear_float_data();
                graph.mutable_initializer(1)->set_raw_data("12345678");
              }),
              HasSubstr("needs 16 bytes, it has 8"));
  EXPECT_THAT(error_after([](pb::GraphProto& graph) { graph.mutable_initializer(1)->clear_float_data(); }), HasSubstr("it has 0"));
  EXPECT_THAT(error_after([](pb::GraphProto& graph) {
                auto* tensor = graph.add_initializer();
                tensor->set_name("byte");
                tensor->set_data_type(pb::TensorProto::UINT8);
                tensor->add_dims(1);
                tensor->add_int32_data(256);
              }),
              HasSubstr("256 does not fit"));
}

TEST(HostileOnnx, BadEnums) {
  const auto with_type = [](int type) {
    return error_after([&](pb::GraphProto& graph) { graph.mutable_initializer(1)->set_data_type(type); });
  };
  EXPECT_THAT(with_type(8), HasSubstr("STRING"));
  EXPECT_THAT(with_type(99), HasSubstr("number 99"));
  EXPECT_THAT(with_type(-1), HasSubstr("number -1"));
  EXPECT_THAT(error_after([](pb::GraphProto& graph) { graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(77); }),
              HasSubstr("number 77"));
  EXPECT_THAT(error_after([](pb::GraphProto& graph) { graph.mutable_input(0)->mutable_type()->mutable_sequence_type(); }),
              HasSubstr("is not a tensor"));
  // protobuf's own encoder does not set an unknown enumerator, so its bytes are changed.
  pb::ModelProto model = conv_model();
  std::string bytes = model.SerializeAsString();
  const size_t at = bytes.find(std::string("\xa0\x01\x07", 3));  // field 20: type INTS
  ASSERT_NE(at, std::string::npos);
  bytes[at + 2] = 99;
  EXPECT_THAT(input_error([&] { parse_onnx(std::as_bytes(std::span(bytes)), "t.onnx", ""); }), HasSubstr("type 99"));
  bytes[at + 2] = 9;
  EXPECT_THAT(input_error([&] { parse_onnx(std::as_bytes(std::span(bytes)), "t.onnx", ""); }), HasSubstr("TENSORS"));
  bytes[at + 2] = 4;
  EXPECT_THAT(input_error([&] { parse_onnx(std::as_bytes(std::span(bytes)), "t.onnx", ""); }), HasSubstr("should hold a tensor"));
}

TEST(HostileOnnx, WrongAttributeTypes) {
  EXPECT_THAT(error_after([](pb::GraphProto& graph) {
                auto* attribute = add_attribute(graph.mutable_node(0), "group", pb::AttributeProto::STRING);
                attribute->set_s("many");
              }),
              HasSubstr("'conv'"));
  EXPECT_THAT(
      error_after([](pb::GraphProto& graph) { add_attribute(graph.mutable_node(0), "strides", pb::AttributeProto::INTS)->add_ints(0); }),
      HasSubstr("strides"));
  EXPECT_THAT(error_after([](pb::GraphProto& graph) { add_attribute(graph.mutable_node(0), "group", pb::AttributeProto::INT)->set_i(0); }),
              HasSubstr("group"));
  EXPECT_THAT(error_after([](pb::GraphProto& graph) {
                for (int i = 0; i < 4; ++i) graph.mutable_node(0)->mutable_attribute(0)->set_ints(i, INT64_MAX);
              }),
              HasSubstr("pads"));
}

TEST(HostileOnnx, NegativeAndBoundlessInputs) {
  const auto with_size = [](int64_t size) {
    return error_after([&](pb::GraphProto& graph) {
      graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(2)->set_dim_value(size);
    });
  };
  EXPECT_THAT(with_size(-2), HasSubstr("-2"));
  EXPECT_THAT(with_size(INT64_MAX), HasSubstr("'x'"));
  EXPECT_THAT(with_size(int64_t{1} << 50), HasSubstr("'x'"));
}

TEST(HostileOnnx, MoreNodesThanTheCap) {
  pb::ModelProto model = conv_model();
  for (int i = 0; i < 20; ++i) add_node(model.mutable_graph(), "Relu", {"x"}, {"r" + std::to_string(i)});
  EXPECT_THAT(error_of(model, {.max_nodes = 21}), HasSubstr("more than 21 nodes"));
  EXPECT_EQ(read_model(model, "", {.max_nodes = 22}).nodes.size(), 22u);
  // Two bytes a node: the cap holds before memory is taken for a hundred million of them.
  std::string graph;
  for (int i = 0; i < 300'000; ++i) graph += std::string("\x0a\x00", 2);
  std::string bytes = "\x42\x02\x10\x11\x3a";
  bytes += static_cast<char>(0x80 | (graph.size() & 0x7f));
  bytes += static_cast<char>(0x80 | ((graph.size() >> 7) & 0x7f));
  bytes += static_cast<char>(graph.size() >> 14);
  EXPECT_THAT(input_error([&] { parse_onnx(std::as_bytes(std::span(bytes += graph)), "t.onnx", ""); }), StartsWith("t.onnx: "));
}

TEST(HostileOnnx, ManyValuesOnOneNode) {
  pb::ModelProto model = conv_model();
  for (int i = 0; i < 1000; ++i) model.mutable_graph()->mutable_node(0)->add_input("");
  EXPECT_THAT(error_of(model, {.max_values = 100}), HasSubstr("more than 100 values"));
}

TEST(HostileOnnx, DeepNesting) {
  const auto nested = [](int depth) {
    pb::ModelProto model = conv_model();
    pb::GraphProto* graph = model.mutable_graph();
    for (int i = 0; i < depth; ++i) {
      auto* node = add_node(graph, "If", {"x"}, {"o" + std::to_string(i)}, "if" + std::to_string(i));
      graph = add_attribute(node, "then_branch", pb::AttributeProto::GRAPH)->mutable_g();
    }
    return model;
  };
  EXPECT_EQ(input_error([&] { read_model(nested(15)); }), "");
  EXPECT_THAT(error_of(nested(16)), HasSubstr("nested deeper than 16"));
  EXPECT_THAT(error_of(nested(5000)), HasSubstr("nested deeper than 16"));
}

TEST(HostileOnnx, TextThatWouldSpoilALine) {
  for (const std::string name : {"a\nb", "\x1b[31mred", "\xff\xfe", "\xc0\x80", "\xed\xa0\x80"}) {
    pb::ModelProto model = conv_model();
    model.mutable_graph()->mutable_node(1)->set_name(name);
    EXPECT_THAT(error_of(model), HasSubstr("UTF-8"));
  }
  pb::ModelProto model = conv_model();
  model.mutable_graph()->mutable_node(1)->set_name("Größe/π");
  EXPECT_EQ(read_model(model).nodes[1].name, "Größe/π");
}

// Attributes are bytes, and messages quote them.
TEST(HostileOnnx, TextOfAttributesThatWouldSpoilALine) {
  pb::ModelProto model = empty_model();
  describe_value(model.mutable_graph()->add_input(), "x", {2});
  describe_value(model.mutable_graph()->add_output(), "y", {2});
  auto* node = add_node(model.mutable_graph(), "Einsum", {"x"}, {"y"});
  add_attribute(node, "equation", pb::AttributeProto::STRING)->set_s("\x1b[2J,\n->");
  EXPECT_THAT(error_of(model), AllOf(HasSubstr("has 2 terms"), Not(HasSubstr("\x1b")), Not(HasSubstr("\n"))));
}

TEST(HostileOnnx, OldOperatorsWithoutTheirInputs) {
  for (const std::vector<std::string>& inputs : {std::vector<std::string>{"x"}, {"x", ""}, {"", "x"}, {}}) {
    for (const char* op : {"PRelu", "Add"}) {
      pb::ModelProto model = empty_model(6);
      describe_value(model.mutable_graph()->add_input(), "x", {2, 3});
      describe_value(model.mutable_graph()->add_output(), "y", {2, 3});
      auto* node = add_node(model.mutable_graph(), op, inputs, {"y"});
      if (op == std::string("Add")) {
        add_attribute(node, "broadcast", pb::AttributeProto::INT)->set_i(1);
        add_attribute(node, "axis", pb::AttributeProto::INT)->set_i(0);
      }
      EXPECT_THAT(error_of(model), ::testing::AnyOf(HasSubstr("expected 2 in opset 6"), HasSubstr("input 0 is missing")));
    }
  }
}

// The shapes that a file gives for results of operators without a rule are checked nowhere else.
TEST(HostileOnnx, DescribedShapesThatOverflow) {
  pb::ModelProto model = empty_model();
  describe_value(model.mutable_graph()->add_input(), "x", {2});
  describe_value(model.mutable_graph()->add_output(), "y", {int64_t{1} << 40, int64_t{1} << 40});
  add_node(model.mutable_graph(), "Wobble", {"x"}, {"y"});
  EXPECT_THAT(error_of(model), HasSubstr("'y' claims to have more than"));
}

TEST(HostileOnnx, ContradictingShapesNameTheNode) {
  EXPECT_THAT(error_after([](pb::GraphProto& graph) {
                graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_dim_value(5);
              }),
              AllOf(HasSubstr("'conv'"), HasSubstr("5 input channels")));
  EXPECT_THAT(error_after([](pb::GraphProto& graph) {
                graph.mutable_node(0)->mutable_input()->RemoveLast(), graph.mutable_node(0)->mutable_input()->RemoveLast();
              }),
              AllOf(HasSubstr("'conv'"), HasSubstr("it has 1 input, expected 2 to 3")));
}

TEST(HostileOnnx, WhatIsNotSupportedIsNamed) {
  EXPECT_THAT(error_after([](pb::GraphProto& graph) { graph.add_sparse_initializer(); }), HasSubstr("sparse"));
  pb::ModelProto model = conv_model();
  model.clear_opset_import();
  EXPECT_THAT(error_of(model), HasSubstr("no opset"));
}

}  // namespace
}  // namespace deepgap
