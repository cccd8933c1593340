// Tests texts as OpenVINO 2026.4 writes them.
#include "backends/openvino/ov_failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Graph two_convolutions() {
  Graph graph;
  graph.values = {{"x", DataType::f32, {}}, {"a", DataType::f32, {}}, {"b", DataType::f32, {}}};
  graph.nodes = {
      {"first", "ConvTranspose", "", {0}, {1}, {}}, {"second", "Conv", "", {1}, {2}, {}}, {"third", "Mix", "com.example", {}, {}, {}}};
  return graph;
}

TEST(OvFailure, MessageIsOneShortLineWithoutSourcePlaces) {
  EXPECT_EQ(
      ov_words("Exception from src/inference/src/cpp/core.cpp:105:\nCheck 'a == b' failed at src/x.hpp:6:\nSizes differ\n by one\n\n"),
      "Sizes differ by one");
  EXPECT_EQ(ov_words(std::string(1000, 'x')).size(), 303u);
  EXPECT_EQ(ov_words("Check 'a == b' failed at src/x.hpp:6:\n"), "Check 'a == b' failed at src/x.hpp:6:") << "better than nothing";
}

TEST(OvFailure, KindsAreToldApart) {
  const Graph graph;
  EXPECT_EQ(ov_load_error("std::bad_alloc", graph).kind(), ErrorKind::out_of_memory);
  EXPECT_EQ(ov_load_error("Failed to allocate 8220835840 bytes of memory", graph).kind(), ErrorKind::out_of_memory);
  EXPECT_EQ(ov_load_error("[CPU] Failed to allocate memory of 7 bytes", graph).kind(), ErrorKind::out_of_memory);
  EXPECT_EQ(ov_load_error("Exception from src/inference/src/model_reader.cpp:188:\nUnable to read the model. Please check", graph).kind(),
            ErrorKind::input);
  EXPECT_EQ(ov_load_error("something else", graph).kind(), ErrorKind::refused);
}

TEST(OvFailure, AQueryThatIsAnsweredWithAnErrorIsNoCrash) {
  EXPECT_EQ(ov_run_error("Exception from src/x.cpp:1:\nShape inference of Reshape node with name y failed").kind(), ErrorKind::refused);
  EXPECT_EQ(ov_run_error("[CPU] Failed to allocate memory of 7 bytes").kind(), ErrorKind::out_of_memory);
}

TEST(OvFailure, NamesTheNodeAtWhichTheFrontendStopped) {
  const Error error = ov_load_error(
      "Exception from src/inference/src/cpp/core.cpp:132:\nFrontEnd API failed with OpConversionFailure:\n"
      "Model wasn't fully converted. Failed operations detailed log:\n-- ConvTranspose-17 with a message:\n"
      "While validating ONNX node '<Node(Conv): second>':\nsizes differ\n\nSummary:\n-- Conversion is failed for: ConvTranspose-17\n",
      two_convolutions());
  EXPECT_STREQ(
      error.what(),
      "openvino does not load the model: operator 'Conv' (node 'second'): -- ConvTranspose-17 with a message: While validating ONNX "
      "node '<Node(Conv): second>': sizes differ");
}

TEST(OvFailure, UnknownOperatorIsNamedWithItsNode) {
  const Error error = ov_load_error(
      "Check 'false' failed at src/frontends/x.cpp:151:\nFrontEnd API failed with OpConversionFailure:\nModel wasn't fully converted.\n"
      "Summary:\n-- No conversion rule found for operations: com.example.Mix\nTo facilitate the conversion, refer to https://docs\n",
      two_convolutions());
  EXPECT_EQ(error.kind(), ErrorKind::refused);
  EXPECT_STREQ(error.what(), "openvino has no operator 'com.example.Mix' (node 'third', opset 17)");
}

TEST(OvFailure, AnOperatorThatReadsWhatIsMissingIsNotBlamed) {
  const Error error = ov_load_error(
      "FrontEnd API failed with OpConversionFailure:\nModel wasn't fully converted. Failed operations detailed log:\n-- Conv-17 with a "
      "message:\nWhile validating ONNX node '<Node(Conv): b>':\nUnsupported input type dynamic\nSummary:\n-- No conversion rule found for "
      "operations: com.example.Mix\n-- Conversion is failed for: Conv-17\n",
      two_convolutions());
  EXPECT_STREQ(error.what(), "openvino has no operator 'com.example.Mix' (node 'third', opset 17)");
}

TEST(OvFailure, NodeIsKnownByItsOutput) {
  const Error error = ov_load_error(
      "Check 'c' failed at src/core/conv.hpp:65:\nWhile validating node 'opset1::Conv b (opset1::Parameter x[0]:f32[2,3])' with "
      "friendly_name 'b':\nData batch channel count is wrong\n",
      two_convolutions());
  EXPECT_THAT(error.what(), AllOf(HasSubstr("operator 'Conv' (node 'second')"), HasSubstr("channel count is wrong"), Not(HasSubstr("\n"))));
}

TEST(OvFailure, OperatorAloneNamesItsFirstNode) {
  EXPECT_THAT(ov_load_error("Conv is wrong here", two_convolutions()).what(), HasSubstr("operator 'Conv' (node 'second')"));
  EXPECT_THAT(ov_load_error("ConvTranspose is wrong here", two_convolutions()).what(), HasSubstr("(node 'first')"));
}

}  // namespace
}  // namespace deepgap
