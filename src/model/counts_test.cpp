#include "model/graph_tools.h"
#include "model/model_source.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"
#include "model/zoo/zoo.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

GraphSummary summary_of(const std::string& name) { return summarize_model({.name = name}); }

// The figures that torchvision publishes.
TEST(Counts, ParametersAgreeWithThePublishedOnes) {
  EXPECT_EQ(summary_of("resnet18").parameters, 11'689'512);
  EXPECT_EQ(summary_of("resnet34").parameters, 21'797'672);
  EXPECT_EQ(summary_of("resnet50").parameters, 25'557'032);
  EXPECT_EQ(summary_of("resnet101").parameters, 44'549'160);
  EXPECT_EQ(summary_of("resnet152").parameters, 60'192'808);
  EXPECT_EQ(summary_of("mobilenet_v2").parameters, 3'504'872);
}

TEST(Counts, WorkAgreesWithThePublishedOnes) {
  EXPECT_EQ(summary_of("resnet50").macs_per_item, 4'089'184'256);
  EXPECT_EQ(summary_of("resnet18").macs_per_item, 1'814'073'344);
  EXPECT_EQ(summary_of("mobilenet_v2").macs_per_item, 300'774'272);
}

}  // namespace
}  // namespace deepgap
