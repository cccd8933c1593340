#include "backends/onnxruntime/ort_profile.h"

#include "base/test_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::Pair;
using testing::UnorderedElementsAre;

// Release 1.31 writes it so.
constexpr const char* text = R"([
{"cat":"Session","name":"model_loading_array","dur":5,"args":{}},
{"cat":"Session","name":"session_initialization","dur":9,"args":{}},
{"cat":"Node","name":"first_token_3_kernel_time","dur":12,"args":{"op_name":"QLinearConv","provider":"CPUExecutionProvider",
 "input_type_shape":[{"uint8":[2,12,12,16]},{"float":[]}],"output_type_shape":[{"uint8":[2,12,12,32]}]}},
{"cat":"Node","name":"pool_fence_before","dur":1,"args":{"op_name":"MaxPool"}},
{"cat":"Node","name":"pool_kernel_time","dur":2,"args":{"op_name":"MaxPool","input_type_shape":[]}},
{"cat":"Node","name":"second_kernel_time","dur":4,"args":{"op_name":"FusedConv","input_type_shape":[{"float":[2,16,12,12]}]}},
{"cat":"Session","name":"model_run","dur":30,"args":{}}])";

class TwoConvolutions final : public TestModel {
 public:
  TwoConvolutions() {
    graph_.values = {{"x", DataType::f32, {}}, {"a", DataType::f32, {}}, {"b", DataType::f32, {}}, {"c", DataType::f32, {}}};
    graph_.nodes = {{"first", "Conv", "", {0}, {1}, {}}, {"pool", "MaxPool", "", {1}, {2}, {}}, {"second", "Conv", "", {2}, {3}, {}}};
  }
  std::vector<int64_t> node_macs() const override { return {900, 0, 100}; }
};

TEST(OrtProfile, NodesOfARun) {
  const std::vector<OrtNodeRun> nodes = parse_ort_profile(text);
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes[0].name, "first_token_3");
  EXPECT_EQ(nodes[0].op, "QLinearConv");
  EXPECT_EQ(nodes[0].input_type, "uint8");
  EXPECT_EQ(nodes[0].ns, 12'000);
  EXPECT_EQ(nodes[1].input_type, "");
}

TEST(OrtProfile, TheLastRunCounts) {
  const auto node = [](int us) {
    return R"({"cat":"Node","name":"only_kernel_time","dur":)" + std::to_string(us) + R"(,"args":{"op_name":"Conv"}},)";
  };
  const std::string run = R"({"cat":"Session","name":"model_run","dur":9,"args":{}})";
  const std::vector<OrtNodeRun> nodes = parse_ort_profile("[" + node(900) + run + "," + node(7) + run + "]");
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].ns, 7'000);
}

TEST(OrtProfile, SharesAreOfTheArithmetic) {
  const TwoConvolutions model;
  EXPECT_THAT(ort_precision_shares(parse_ort_profile(text), model), UnorderedElementsAre(Pair("int8", 0.9), Pair("fp32", 0.1)));
  EXPECT_THAT(ort_precision_shares({{"second", "Conv", "float", 0}}, model), UnorderedElementsAre(Pair("unknown", 0.9), Pair("fp32", 0.1)));
}

// ONNX Runtime joins DynamicQuantizeLinear and MatMulInteger under a name of its own, and lists float32 as what the result reads.
TEST(OrtProfile, IntegersBehindFloatsAreSeen) {
  const TwoConvolutions model;
  EXPECT_THAT(ort_precision_shares({{"joined", "DynamicQuantizeMatMul", "float", 0}}, model), UnorderedElementsAre(Pair("int8", 1.0)));
  EXPECT_THAT(ort_precision_shares({{"joined", "MatMulNBits", "float", 0}}, model), UnorderedElementsAre(Pair("int4", 1.0)));
  EXPECT_THAT(ort_precision_shares({{"joined", "DynamicQuantizeMatMul", "float", 0}, {"other", "MatMul", "float", 0}}, model),
              UnorderedElementsAre(Pair("unknown", 1.0)))
      << "which of them stands for which node nobody says";
}

TEST(OrtProfile, OtherTextIsAnError) { EXPECT_THROW(parse_ort_profile("{\"name\": [1"), Error); }

}  // namespace
}  // namespace deepgap
