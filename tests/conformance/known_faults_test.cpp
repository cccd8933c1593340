// An excuse holds for the operator that is tried and as far as the fault was seen to lead, and no further.
#include "known_faults.h"
#include "graph_builder.h"

#include <gtest/gtest.h>

namespace deepgap::conformance {
namespace {

Difference wrong_by(double sqnr_db) { return {Difference::Kind::values, "wrong", sqnr_db}; }

Graph local_response() {
  Random random(1);
  GraphBuilder net(random, 17);
  return net.finish({net.node("LRN", {net.node("Relu", {net.input({4, 3, 3})})}, {{"size", int64_t{3}}})});
}

TEST(KnownFaults, HoldForTheirEngineAndOperatorAlone) {
  const Graph graph = local_response();
  EXPECT_NE(known_fault("openvino", "fp32", graph, "LRN", wrong_by(-20)), "");
  EXPECT_NE(known_fault("openvino", "fp32", graph, "Normalizations", wrong_by(-20)), "") << "a case of several operators";
  EXPECT_EQ(known_fault("openvino", "fp32", graph, "Relu", wrong_by(-20)), "");
  EXPECT_EQ(known_fault("onnxruntime", "fp32", graph, "LRN", wrong_by(-20)), "");
  EXPECT_EQ(known_fault("native", "fp32", graph, "LRN", wrong_by(-20)), "");
}

TEST(KnownFaults, HoldNoFurtherThanWasSeen) {
  const Graph graph = local_response();
  EXPECT_EQ(known_fault("openvino", "fp32", graph, "LRN", wrong_by(-60)), "");
  EXPECT_EQ(known_fault("openvino", "fp32", graph, "LRN", {Difference::Kind::values, "nan instead of 1"}), "");
  EXPECT_EQ(known_fault("openvino", "fp32", graph, "LRN", {Difference::Kind::integers, "its integers differ"}), "");
  EXPECT_EQ(known_fault("openvino", "fp32", graph, "LRN", {Difference::Kind::form, "another shape"}), "");
  EXPECT_EQ(known_fault("openvino", "fp32", graph, "LRN", {Difference::Kind::failure, "it failed"}), "");
}

}  // namespace
}  // namespace deepgap::conformance
