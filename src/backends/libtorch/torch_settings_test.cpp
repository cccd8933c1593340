#include "backends/libtorch/torch_settings.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

const std::vector<DeviceInfo> cpu{{DeviceId{}, "CPU", -1, {}}};
const std::vector<DeviceInfo> gpu{{DeviceId{"", "cuda", 0}, "GPU", -1, {}}};

std::string refusal(EngineRequest request, const std::vector<DeviceInfo>& devices, const GraphSummary& graph = {}) {
  if (request.placement.devices.front().kind == "cpu") request.placement.devices = {devices.front().id};
  return torch_support(request, graph, "libtorch", devices).reason;
}

TEST(TorchSettings, AreReadAndRefused) {
  EXPECT_TRUE(torch_options(false).parse({{"channels_last", "on"}}).channels_last);
  EXPECT_TRUE(torch_options(true).parse({{"cuda_graph", "on"}}).cuda_graph);
  EXPECT_THROW(torch_options(false).parse({{"channels_last", "onn"}}), Error);
  EXPECT_THROW(torch_options(false).parse({{"package", "/nothing/there.pt"}}), Error);
  EXPECT_EQ(torch_options(false).infos().size() + 2, torch_options(true).infos().size());
}

TEST(TorchSettings, PrecisionsDependOnTheDevice) {
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16, Precision::mixed}) {
    EXPECT_EQ(refusal({.precision = precision}, cpu), "") << name_of(precision);
    EXPECT_EQ(refusal({.precision = precision}, gpu), "") << name_of(precision);
  }
  EXPECT_EQ(refusal({.precision = Precision::tf32}, gpu), "");
  EXPECT_NE(refusal({.precision = Precision::tf32}, cpu).find("only fp32, bf16, fp16, mixed"), std::string::npos);
  for (const auto& devices : {cpu, gpu}) {
    EXPECT_NE(refusal({.precision = Precision::int8}, devices).find("eager mode"), std::string::npos);
  }
}

TEST(TorchSettings, OperatorsAndDevicesAreNamed) {
  GraphSummary graph;
  graph.operators = {{"Relu", "", 1, "a"}, {"Shape", "", 1, "b"}};
  EXPECT_EQ(refusal({}, cpu, graph), "");
  graph.operators.push_back({"Frobnicate", "", 2, "c"});
  EXPECT_EQ(refusal({}, cpu, graph), "libtorch: operator Frobnicate is not run (node 'c')");
  EngineRequest elsewhere;
  elsewhere.placement.devices = {DeviceId{"", "cuda", 7}};
  EXPECT_EQ(refusal(elsewhere, gpu), "libtorch: device cuda:7 is not here");
  EXPECT_NE(refusal({.inputs = InputPlace::ready, .samples_change = true}, gpu).find("inputs=host"), std::string::npos);
  EXPECT_EQ(refusal({.inputs = InputPlace::ready, .samples_change = true}, cpu), "") << "it is the same memory";
}

TEST(TorchSettings, WhatIsNoTrainingIsNamed) {
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::mixed})
    EXPECT_EQ(refusal({.task = Task::train, .precision = precision}, cpu), "") << name_of(precision);
  EXPECT_EQ(refusal({.task = Task::train, .precision = Precision::fp16}, gpu), "");
  EXPECT_NE(refusal({.task = Task::train, .precision = Precision::fp16}, cpu).find("fp32, bf16 and mixed"), std::string::npos);
  EXPECT_NE(refusal({.task = Task::train, .inputs = InputPlace::ready}, gpu).find("inputs=device"), std::string::npos);
  EXPECT_NE(refusal({.task = Task::train, .samples_change = true}, cpu).find("end to end"), std::string::npos);
  GraphSummary quantized;
  quantized.operators = {{"Conv", "", 1, "a"}, {"QuantizeLinear", "", 2, "q"}};
  EXPECT_EQ(refusal({.task = Task::train}, cpu, quantized),
            "libtorch: operator QuantizeLinear has no gradient (node 'q'): training wants the network before it was quantized");
}

}  // namespace
}  // namespace deepgap
