#include "model/kernel_work.h"

#include "model/graph_tools.h"
#include "model/model_source.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <numeric>

namespace deepgap {
namespace {

using Kind = KernelWork::Kind;

// Pictures of 4 x 8 x 8, kernels of 3 x 3 from 4 to 4 channels: 256 elements, 144 weights, 9216 multiply-accumulates.
struct Net {
  Graph graph;

  ValueId value(const std::string& name, const Dims& dims) {
    graph.values.push_back({name, DataType::f32, dims});
    return static_cast<ValueId>(graph.values.size() - 1);
  }
  ValueId picture(const std::string& name) { return value(name, {{1, "N"}, {4, ""}, {8, ""}, {8, ""}}); }
  ValueId weights(const std::string& name) {
    const ValueId id = value(name, {{4, ""}, {4, ""}, {3, ""}, {3, ""}});
    graph.constants.emplace(id, make_tensor(DataType::f32, {4, 4, 3, 3}));
    return id;
  }
  ValueId node(const std::string& op, std::vector<ValueId> inputs, const std::string& output) {
    const ValueId made = picture(output);
    graph.nodes.push_back({output, op, "", std::move(inputs), {made}, {}});
    if (op == "Conv") graph.nodes.back().attributes["pads"] = std::vector<int64_t>{1, 1, 1, 1};
    return made;
  }
};

TEST(KernelWork, PointwiseOperatorsJoinWhatMakesTheirInput) {
  Net net;
  const ValueId x = net.picture("x");
  net.graph.inputs = {x};
  const ValueId skip = net.node("Relu", {net.node("Conv", {x, net.weights("w1")}, "conv1")}, "relu1");
  const ValueId sum = net.node("Add", {net.node("Conv", {skip, net.weights("w2")}, "conv2"), skip}, "sum");
  net.graph.outputs = {net.node("Relu", {sum}, "y")};
  const NetworkWork work = network_work(net.graph);
  ASSERT_EQ(work.kernels.size(), 2U);
  EXPECT_EQ(work.kernels[0].kind, Kind::convolution);
  EXPECT_EQ(work.kernels[0].macs, 9216);
  EXPECT_EQ(work.kernels[0].activations, 2 * 256);  // x and relu1
  EXPECT_EQ(work.kernels[0].weights, 144);
  EXPECT_EQ(work.kernels[1].activations, 2 * 256);  // relu1, read once, and y
  EXPECT_EQ(work.weights, 288);
  EXPECT_EQ(work.inputs, 256);
  EXPECT_EQ(work.live_activations, 2 * 256);
}

TEST(KernelWork, AResultThatTwoReadIsWritten) {
  Net net;
  const ValueId x = net.picture("x");
  net.graph.inputs = {x};
  const ValueId conv = net.node("Conv", {x, net.weights("w1")}, "conv");
  net.graph.outputs = {net.node("Relu", {conv}, "a"), net.node("Sigmoid", {conv}, "b")};
  const NetworkWork work = network_work(net.graph);
  ASSERT_EQ(work.kernels.size(), 3U);
  EXPECT_EQ(work.kernels[1].kind, Kind::other);
  EXPECT_EQ(work.kernels[1].activations, 2 * 256);
}

TEST(KernelWork, MultiplyAccumulatesAreThoseOfTheGraph) {
  for (const char* name : {"resnet50", "mobilenet_v2", "vit_b_16"}) {
    const NetworkWork work = network_work_of({.name = name});
    const int64_t sum = std::accumulate(work.kernels.begin(), work.kernels.end(), int64_t{0},
                                        [](int64_t macs, const KernelWork& kernel) { return macs + kernel.macs; });
    EXPECT_EQ(sum, summarize_model({.name = name}).macs_per_item) << name;
  }
}

TEST(KernelWork, AttentionIsOneKernelAndDepthwiseNoConvolution) {
  const NetworkWork vit = network_work_of({.name = "vit_b_16"});
  int attention = 0;
  for (const KernelWork& kernel : vit.kernels) attention += kernel.weights < 1000 && kernel.kind == Kind::product ? 1 : 0;
  EXPECT_EQ(attention, 12);
  int depthwise = 0;
  for (const KernelWork& kernel : network_work_of({.name = "mobilenet_v2"}).kernels)
    depthwise += kernel.kind == Kind::other && kernel.macs > 0 ? 1 : 0;
  EXPECT_EQ(depthwise, 17);
}

TEST(KernelWork, OpenSizesAreRefused) {
  Net net;
  const ValueId x = net.value("x", {{1, "N"}, {4, ""}, {1, "H"}, {8, ""}});
  net.graph.inputs = {x};
  net.graph.outputs = {net.node("Relu", {x}, "y")};
  EXPECT_THROW(network_work(net.graph), Error);
}

}  // namespace
}  // namespace deepgap
