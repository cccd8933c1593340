// Tests on the real library, with the networks of tiny_onnx.h. What every engine must do is tried in tests/conformance.
#include "backends/common/tiny_onnx.h"
#include "backends/common/tiny_rig.h"
#include "backends/openvino/ov_backend.h"
#include "backends/openvino/ov_library.h"
#include "base/clocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tiny_onnx::doubling;

class OvSession : public testing::Test {
 protected:
  OvBackend backend;
  std::unique_ptr<Clock> clock = make_real_clock();
};

TEST_F(OvSession, QueriesAreComputedOnTheLibrarysThreads) {
  const auto model = doubling(false);
  TinyRig rig(backend, model, *clock);
  rig.stage({{1, 2, 3}, {4, 0, 6}, {7, 8, 9}});
  rig.run(1, {2, 1});
  EXPECT_THAT(rig.marks, ElementsAre(MarkId::h2d_begin, MarkId::compute_begin, MarkId::compute_end));
  EXPECT_THAT(rig.floats(1), ElementsAre(14, 16, 18, 8, 0, 12));
  EXPECT_NE(rig.threads.front(), std::this_thread::get_id()) << "enqueue() computed it";
}

TEST_F(OvSession, OutputsHaveTheShapesOfTheirRun) {
  const auto model = doubling(true);
  TinyRig rig(backend, model, *clock, {.batches = {2, 1}});
  rig.stage({{1, 2, 3}, {4, 0, 6}});
  rig.run(0, {0, 1});
  EXPECT_THAT(rig.session->outputs(0)[1].shape, ElementsAre(2, 5));  // five values are not zero
  EXPECT_THAT(rig.session->outputs(0)[1].as<int64_t>(), ElementsAre(0, 0, 0, 1, 1, 0, 1, 2, 0, 2));
  rig.run(0, {1});
  EXPECT_THAT(rig.session->outputs(0)[0].shape, ElementsAre(1, 3));
  EXPECT_THAT(rig.session->outputs(0)[1].as<int64_t>(), ElementsAre(0, 0, 0, 2));
}

TEST_F(OvSession, PartialBatchesAreCutWhereThatCanBeDone) {
  const auto model = doubling(false), uncut = doubling(true);
  TinyRig rig(backend, model, *clock, {.batches = {4}});
  rig.stage({{1, 2, 3}, {4, 5, 6}});
  rig.run(0, {1, 0, 1});
  EXPECT_THAT(rig.session->outputs(0)[0].shape, ElementsAre(3, 3));
  EXPECT_THAT(rig.floats(0), ElementsAre(8, 10, 12, 2, 4, 6, 8, 10, 12));
  TinyRig other(backend, uncut, *clock, {.batches = {4}});
  other.stage({{1, 2, 3}});
  other.run(0, {0});
  EXPECT_THAT(other.statuses, ElementsAre(Status::failed));
  EXPECT_THAT(other.error, HasSubstr("output 'z' cannot be cut"));
}

// The library gives the input the names of the outputs that it is, and may take its own away.
TEST_F(OvSession, AnInputThatIsAnOutputIsFound) {
  using namespace tiny_onnx;
  const Dims dims{{1, batch_symbol}, {3, ""}};
  Graph graph;
  graph.values = {{"x", DataType::f32, dims}, {"y", DataType::f32, dims}, {"mask", DataType::boolean, dims}, {"z", DataType::f32, dims}};
  graph.nodes = {{"drop", "Dropout", "", {0}, {1, 2}, {}}, {"positive", "Relu", "", {0}, {3}, {}}};
  graph.inputs = {0};
  graph.outputs = {1, 2, 3};
  const std::vector<std::string> sizes{"N", "3"};
  const std::string drop = bytes(1, "x") + bytes(2, "y") + bytes(2, "mask") + bytes(3, "drop") + bytes(4, "Dropout");
  const TinyModel file(model({drop, node("Relu", "positive", {"x"}, "z")}, value_info("x", f32, sizes),
                             {value_info("y", f32, sizes), value_info("mask", 9, sizes), value_info("z", f32, sizes)}),
                       graph);
  TinyRig rig(backend, file, *clock);
  rig.stage({{1, -2, 3}});
  rig.run(0, {0});
  EXPECT_THAT(rig.session->outputs(0)[0].as<float>(), ElementsAre(1, -2, 3));
  EXPECT_THAT(rig.session->outputs(0)[2].as<float>(), ElementsAre(1, 0, 3));
}

TEST_F(OvSession, AnotherShapeThanTheFilesIsRefusedByNode) {
  const auto file = doubling(false);
  Graph graph = file.graph();
  graph.values[1].dims = Dims{{1, batch_symbol}, {4, ""}};
  const std::string bytes(reinterpret_cast<const char*>(file.onnx().data()), file.onnx().size());
  const tiny_onnx::TinyModel model(bytes, graph);
  const Error error = failure_of([&] { const TinyRig rig(backend, model, *clock); });
  EXPECT_EQ(error.kind(), ErrorKind::refused);
  EXPECT_STREQ(error.what(), "openvino: operator 'Add' (node 'twice') makes shape [2,3] there, not [2,4]");
}

TEST_F(OvSession, LayerTimesCarryTheNodesNames) {
  const auto model = doubling(false);
  TinyRig rig(backend, model, *clock, {.slots = 1, .options = {{"profile", "on"}}});
  rig.stage({{1, 2, 3}});
  std::vector<std::string> names;
  for (const LayerTiming& layer : rig.session->layer_timings()) names.push_back(layer.name);
  EXPECT_THAT(names, testing::Contains("twice"));
  EXPECT_TRUE(rig.statuses.empty()) << "that run is nobody's query";
  rig.run(0, {0, 0});
  EXPECT_THAT(rig.floats(0), ElementsAre(2, 4, 6, 2, 4, 6));
  TinyRig plain(backend, model, *clock);
  plain.stage({{1, 2, 3}});
  EXPECT_TRUE(plain.session->layer_timings().empty());
}

TEST(OvBackend, SaysWhatItDoesNotDo) {
  const OvBackend backend;
  EXPECT_THAT(backend.version(), testing::MatchesRegex("20[0-9]+\\.[0-9]+\\.[0-9]+-[0-9]+-[0-9a-f]+(, without AMX)?"));
  const auto reason = [&](Precision precision, const GraphSummary& graph) {
    return backend.supports({.precision = precision}, graph).reason;
  };
  GraphSummary plain, quantized;
  quantized.operators = {{"DequantizeLinear", "", 1, "d"}, {"QuantizeLinear", "", 1, "q"}};
  EXPECT_EQ(reason(Precision::fp32, plain), "");
  EXPECT_THAT(reason(Precision::fp16, plain), HasSubstr("fp16"));
  EXPECT_THAT(reason(Precision::int8, plain), HasSubstr("needs a quantized file"));
  EXPECT_EQ(reason(Precision::int8, quantized), "");
  EXPECT_THAT(reason(Precision::fp32, quantized), HasSubstr("node 'q'"));
  EXPECT_EQ(reason(Precision::bf16, plain).empty(), ov_cpu_can("BF16"));
  EXPECT_THAT(backend.supports({.placement = {1, {DeviceId{.kind = "cuda"}}}}, plain).reason, HasSubstr("cuda"));
  EXPECT_THAT(backend.tasks(), testing::ElementsAre(Task::infer, Task::generate));
  EXPECT_THROW(backend.supports({.options = {{"pin", "maybe"}}}, plain), Error);
}

}  // namespace
}  // namespace deepgap
