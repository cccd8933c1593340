// Integers of 4 and 2 bits and floats of 8 and 4 in files.
#include "model/packed_weights.h"

#include "model/eval/evaluator.h"
#include "model/graph_tools.h"
#include "model/onnx_test_files.h"
#include "model/onnx_types.h"
#include "model/onnx_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

constexpr int int4 = 22, uint4 = 21, e4m3 = 17, e5m2 = 19, e2m1 = 23, e8m0 = 24, int2 = 26;

Tensor unpacked(int64_t type, const std::string& bytes, Shape shape) {
  const auto span = std::as_bytes(std::span(bytes));
  return unpack({type, {span.begin(), span.end()}}, std::move(shape));
}

std::vector<float> floats(const Tensor& tensor) { return {tensor.as<float>().begin(), tensor.as<float>().end()}; }

TEST(PackedWeights, IntegersLieFromTheLowestBitsUp) {
  const Tensor four = unpacked(int4, "\x78\x0f", {3});
  EXPECT_EQ(std::vector<int8_t>(four.as<int8_t>().begin(), four.as<int8_t>().end()), (std::vector<int8_t>{-8, 7, -1}));
  const Tensor two = unpacked(int2, "\x1b", {4});
  EXPECT_EQ(std::vector<int8_t>(two.as<int8_t>().begin(), two.as<int8_t>().end()), (std::vector<int8_t>{-1, -2, 1, 0}));
  EXPECT_EQ(unpacked(uint4, "\xf0", {2}).as<uint8_t>()[1], 15);
  EXPECT_EQ(packed_bytes(int4, 3), 2);
  EXPECT_EQ(packed_bytes(int2, 5), 2);
}

// The largest, the smallest and not-a-number, as the formats' papers have them.
TEST(PackedWeights, FloatsHaveTheirFormatsValues) {
  EXPECT_EQ(floats(unpacked(e4m3, std::string("\x7e\x01\x38\xb8\x00", 5), {5})), (std::vector<float>{448, 0.001953125F, 1, -1, 0}));
  EXPECT_TRUE(std::isnan(floats(unpacked(e4m3, "\x7f", {1}))[0]));
  EXPECT_EQ(floats(unpacked(e5m2, "\x7b\x01\x7c", {3})), (std::vector<float>{57344, std::ldexp(1.0F, -16), HUGE_VALF}));
  EXPECT_EQ(floats(unpacked(18, "\x7f\x01", {2})), (std::vector<float>{240, std::ldexp(1.0F, -10)}));
  EXPECT_EQ(floats(unpacked(20, "\x7f\x01", {2})), (std::vector<float>{57344, std::ldexp(1.0F, -17)}));
  EXPECT_TRUE(std::isnan(floats(unpacked(20, "\x80", {1}))[0]));
  EXPECT_EQ(floats(unpacked(e2m1, "\x57\xe1", {4})), (std::vector<float>{6, 3, 0.5F, -4}));
  EXPECT_EQ(floats(unpacked(e8m0, "\x7f\x81", {2})), (std::vector<float>{1, 4}));
}

TEST(PackedWeights, TheNearestValueIsEvenAtTies) {
  EXPECT_EQ(nearest_value(e4m3, 1000), 448);
  EXPECT_EQ(nearest_value(e4m3, 17), 16);
  EXPECT_EQ(nearest_value(e4m3, 19), 20) << "between 18 and 20 the one with an even fraction";
  EXPECT_EQ(nearest_value(e4m3, -0.3F), -0.3125F);
  EXPECT_EQ(nearest_value(e5m2, 9), 8);
  EXPECT_EQ(nearest_value(int4, -100), -8);
  EXPECT_EQ(nearest_value(uint4, 100), 15);
  EXPECT_EQ(nearest_value(int4, 2.5F), 2);
}

pb::TensorProto* add_packed(pb::GraphProto* graph, const std::string& name, int type, const std::vector<int64_t>& shape,
                            const std::string& bytes) {
  auto* tensor = graph->add_initializer();
  tensor->set_name(name), tensor->set_data_type(type), tensor->set_raw_data(bytes);
  for (const int64_t size : shape) tensor->add_dims(size);
  return tensor;
}

// x [N,4] times weights of [4,2] in INT4 with a scale for each block of two rows.
pb::ModelProto block_model() {
  pb::ModelProto model = empty_model(21);
  auto* graph = model.mutable_graph();
  describe_value(graph->add_input(), "x", {-1, 4});
  describe_value(graph->add_output(), "y", {-1, 2});
  add_packed(graph, "w", int4, {4, 2}, "\x21\x43\x65\x87");  // 1 2, 3 4, 5 6, 7 -8
  add_floats(graph, "s", {2, 2}, 0.5F);
  auto* node = add_node(graph, "DequantizeLinear", {"w", "s"}, {"dw"}, "dq");
  add_attribute(node, "axis", pb::AttributeProto::INT)->set_i(0);
  add_attribute(node, "block_size", pb::AttributeProto::INT)->set_i(2);
  add_node(graph, "MatMul", {"x", "dw"}, {"y"}, "mm");
  return model;
}

TEST(PackedWeights, AreComputedAndWrittenAsTheyWere) {
  const Graph graph = read_model(block_model());
  Tensor x = make_tensor(DataType::f32, {1, 4});
  std::fill_n(writable<float>(x).begin(), 4, 1.0F);
  EXPECT_EQ(floats(evaluate(graph, std::vector{x}).at(0)), (std::vector<float>{8, 2}));
  EXPECT_EQ(summarize(graph).weight_bytes, 4 + 16);
  pb::ModelProto written;
  ASSERT_TRUE(written.ParseFromString(write_onnx(bind_symbols(graph, {{"N", 2}}))));
  EXPECT_EQ(written.graph().initializer(0).data_type(), int4);
  EXPECT_EQ(written.graph().initializer(0).raw_data(), "\x21\x43\x65\x87");
}

TEST(PackedWeights, OfTheSameNumbersInMoreBitsAreAnotherNetwork) {
  pb::ModelProto wide = block_model();
  wide.mutable_graph()->mutable_initializer(0)->set_data_type(3);
  wide.mutable_graph()->mutable_initializer(0)->set_raw_data(std::string("\1\2\3\4\5\6\7\xf8", 8));
  EXPECT_NE(graph_hash(read_model(block_model())), graph_hash(read_model(wide)));
}

// Activations in FP8, as exporters for inference write them: a zero point of the type says what is quantized to.
TEST(PackedWeights, AZeroPointGivesTheTypeThatIsQuantizedTo) {
  pb::ModelProto model = empty_model(19);
  auto* graph = model.mutable_graph();
  describe_value(graph->add_input(), "x", {4});
  describe_value(graph->add_output(), "y", {4});
  add_floats(graph, "s", {}, 2);
  add_packed(graph, "z", e4m3, {}, std::string(1, '\0'));
  add_node(graph, "QuantizeLinear", {"x", "s", "z"}, {"q"});
  add_node(graph, "DequantizeLinear", {"q", "s", "z"}, {"y"});
  Tensor x = make_tensor(DataType::f32, {4});
  const std::vector<float> given{34, 38, 5000, -0.6F};
  std::copy(given.begin(), given.end(), writable<float>(x).begin());
  EXPECT_EQ(floats(evaluate(read_model(model), std::vector{x}).at(0)), (std::vector<float>{32, 40, 896, -0.625F}));
  graph->mutable_initializer(1)->set_data_type(int4);
  EXPECT_EQ(floats(evaluate(read_model(model), std::vector{x}).at(0)), (std::vector<float>{14, 14, 14, 0}));
}

TEST(PackedWeights, WithBytesMissingAreRefused) {
  pb::ModelProto model = block_model();
  model.mutable_graph()->mutable_initializer(0)->set_raw_data("\x21\x43\x65");
  EXPECT_THAT(input_error([&] { read_model(model); }), testing::HasSubstr("tensor 'w': its shape [4,2] needs 4 bytes, it has 3"));
}

}  // namespace
}  // namespace deepgap
