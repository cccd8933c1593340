#include "backends/libtorch/torch_settings.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

const std::vector<DeviceInfo> cpu{{DeviceId{}, "CPU", -1, {}}};
const std::vector<DeviceInfo> gpu{{DeviceId{"", "cuda", 0}, "GPU", -1, {}}};

std::string refusal(Point point, const std::vector<DeviceInfo>& devices, const GraphSummary& graph = {}) {
  if (point.placement.devices.front().kind == "cpu") point.placement.devices = {devices.front().id};
  return torch_support(point, graph, "libtorch", devices).reason;
}

TEST(TorchSettings, AreReadAndRefused) {
  EXPECT_TRUE(parse_torch_settings({{"channels_last", "on"}}, false).channels_last);
  EXPECT_TRUE(parse_torch_settings({{"cuda_graph", "on"}}, true).cuda_graph);
  EXPECT_THROW(parse_torch_settings({{"channels_last", "onn"}}, false), Error);
  EXPECT_THROW(parse_torch_settings({{"package", "/nothing/there.pt"}}, false), Error);
  EXPECT_EQ(torch_option_infos(false).size() + 3, torch_option_infos(true).size());
}

TEST(TorchSettings, PrecisionsDependOnTheDevice) {
  for (const char* precision : {"fp32", "bf16", "fp16", "mixed"}) {
    EXPECT_EQ(refusal({.precision = precision}, cpu), "") << precision;
    EXPECT_EQ(refusal({.precision = precision}, gpu), "") << precision;
  }
  EXPECT_EQ(refusal({.precision = "tf32"}, gpu), "");
  EXPECT_NE(refusal({.precision = "tf32"}, cpu).find("only fp32, bf16, fp16, mixed"), std::string::npos);
  for (const auto& devices : {cpu, gpu}) {
    EXPECT_NE(refusal({.precision = "int8"}, devices).find("eager mode"), std::string::npos);
  }
}

TEST(TorchSettings, OperatorsAndDevicesAreNamed) {
  GraphSummary graph;
  graph.operators = {{"Relu", "", 1, "a"}, {"Shape", "", 1, "b"}};
  EXPECT_EQ(refusal({}, cpu, graph), "");
  graph.operators.push_back({"Frobnicate", "", 2, "c"});
  EXPECT_EQ(refusal({}, cpu, graph), "libtorch: operator Frobnicate is not run (node 'c')");
  Point elsewhere;
  elsewhere.placement.devices = {DeviceId{"", "cuda", 7}};
  EXPECT_EQ(refusal(elsewhere, gpu), "libtorch: device cuda:7 is not here");
  EXPECT_NE(refusal({.task = "train"}, cpu).find("only infer"), std::string::npos);
}

}  // namespace
}  // namespace deepgap
