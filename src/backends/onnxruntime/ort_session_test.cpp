// Tests on the real library, with the networks of tiny_onnx.h. What every engine must do is tried in tests/conformance.
#include "backends/common/tiny_onnx.h"
#include "backends/common/tiny_rig.h"
#include "backends/onnxruntime/ort_backend.h"
#include "backends/onnxruntime/ort_providers.h"
#include "base/clocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace tiny = tiny_onnx;

class OrtSession : public testing::Test {
 protected:
  Error refusal(const Model& model) {
    return failure_of([&] { const TinyRig rig(backend, model, *clock); });
  }
  // A network of one node that takes x to y.
  static tiny::TinyModel one_node(const std::string& op, const std::string& name, const std::string& domain = "",
                                  uint64_t type = tiny::f32) {
    Graph graph = tiny::doubling(false).graph();
    graph.nodes = {{name, op, domain, {0}, {1}, {}}};
    return {tiny::model({tiny::node(op, name, {"x"}, "y", domain)}, tiny::value_info("x", type, {"N", "3"}),
                        {tiny::value_info("y", type, {"N", "3"})}),
            graph};
  }

  OrtBackend backend;
  std::unique_ptr<Clock> clock = make_real_clock();
};

size_t threads_of_process() { return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {})); }

TEST_F(OrtSession, OutputsHaveTheShapesOfTheirRunWithAndWithoutBinding) {
  const auto model = tiny::doubling(true);
  for (const std::string binding : {"on", "off"}) {
    TinyRig tested(backend, model, *clock, {.options = {{"io_binding", binding}}});
    tested.stage({{1, 2, 3}, {4, 0, 6}});
    tested.run(0, {0, 1});
    EXPECT_THAT(tested.marks, ElementsAre(MarkId::h2d_begin, MarkId::compute_begin, MarkId::compute_end));
    EXPECT_THAT(tested.floats(0), ElementsAre(2, 4, 6, 8, 0, 12)) << binding;
    EXPECT_THAT(tested.session->outputs(0)[1].shape, ElementsAre(2, 5)) << "five values are not zero";
    EXPECT_THAT(tested.session->outputs(0)[1].as<int64_t>(), ElementsAre(0, 0, 0, 1, 1, 0, 1, 2, 0, 2)) << binding;
    tested.run(1, {0});
    tested.run(0, {1});  // a partial batch
    EXPECT_THAT(tested.session->outputs(0)[0].shape, ElementsAre(1, 3));
    EXPECT_THAT(tested.session->outputs(0)[1].as<int64_t>(), ElementsAre(0, 0, 0, 2)) << binding;
    EXPECT_THAT(tested.floats(1), ElementsAre(2, 4, 6)) << "another slot's stay";
    tested.run(0, {0});  // as many samples as before, and another number of values
    EXPECT_THAT(tested.session->outputs(0)[1].as<int64_t>(), ElementsAre(0, 0, 0, 0, 1, 2)) << binding;
  }
}

TEST_F(OrtSession, OutputsThatTheLibraryMakesMayComeFirst) {
  const auto straight = tiny::doubling(true);
  const auto bytes = straight.onnx();
  Graph graph = straight.graph();
  std::swap(graph.outputs[0], graph.outputs[1]);
  const tiny::TinyModel model({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, graph);
  for (const std::string binding : {"on", "off"}) {
    TinyRig tested(backend, model, *clock, {.options = {{"io_binding", binding}}});
    tested.stage({{1, 0, 3}});
    for (int run = 0; run < 2; ++run) {
      tested.run(0, {0});
      EXPECT_THAT(tested.session->outputs(0)[0].as<int64_t>(), ElementsAre(0, 0, 0, 2)) << binding;
      EXPECT_THAT(tested.session->outputs(0)[1].as<float>(), ElementsAre(2, 0, 6)) << binding;
    }
  }
}

// The library leaves a buffer that it is given for such an output unwritten.
TEST_F(OrtSession, OutputsThatAreInputs) {
  Graph graph = tiny::doubling(false).graph();
  graph.outputs = {0, 1};
  const tiny::TinyModel model(tiny::model({tiny::node("Add", "twice", {"x", "x"}, "y")}, tiny::value_info("x", tiny::f32, {"N", "3"}),
                                          {tiny::value_info("x", tiny::f32, {"N", "3"}), tiny::value_info("y", tiny::f32, {"N", "3"})}),
                              graph);
  for (const std::string binding : {"on", "off"}) {
    TinyRig tested(backend, model, *clock, {.options = {{"io_binding", binding}}});
    tested.stage({{1, 2, 3}, {4, 5, 6}});
    for (const uint32_t sample : {0u, 1u, 0u}) {
      tested.run(0, {sample});
      const float first = sample == 0 ? 1 : 4;
      EXPECT_THAT(tested.session->outputs(0)[0].as<float>(), ElementsAre(first, first + 1, first + 2)) << binding;
      EXPECT_THAT(tested.session->outputs(0)[1].as<float>(), ElementsAre(2 * first, 2 * first + 2, 2 * first + 4)) << binding;
    }
  }
}

// The library infers the file's sizes otherwise than its kernels compute them.
TEST_F(OrtSession, OutputsOfOtherSizesThanExpectedAreTheRuns) {
  Graph graph = tiny::doubling(false).graph();
  graph.nodes = {{"same", "Relu", "", {0}, {1}, {}}};
  const tiny::TinyModel model(tiny::model({tiny::node("Relu", "same", {"x"}, "y")}, tiny::value_info("x", tiny::f32, {"N", "M"}),
                                          {tiny::value_info("y", tiny::f32, {"N", "4"})}),
                              graph);
  for (const std::string binding : {"on", "off"}) {
    TinyRig tested(backend, model, *clock, {.options = {{"io_binding", binding}}});
    tested.stage({{1, 2, 3}});
    tested.run(0, {0});
    tested.run(0, {0});
    EXPECT_THAT(tested.floats(0), ElementsAre(1, 2, 3)) << binding;
    EXPECT_THAT(tested.session->outputs(0)[0].shape, ElementsAre(1, 3)) << binding;
  }
}

TEST_F(OrtSession, OperatorOfAnotherDomainIsRefusedByName) {
  const Error error = refusal(one_node("Mix", "mixer", "com.example"));
  EXPECT_EQ(error.kind(), ErrorKind::refused);
  EXPECT_THAT(error.what(), HasSubstr("'com.example.Mix' (node 'mixer'"));
}

// Integers of this type have no Softmax: the operator's types do not allow them.
TEST_F(OrtSession, MissingKernelIsRefusedByName) {
  const Error error = refusal(one_node("Softmax", "soft", "", tiny::i64));
  EXPECT_EQ(error.kind(), ErrorKind::refused);
  EXPECT_THAT(error.what(), HasSubstr("'Softmax' (node 'soft')"));
}

TEST_F(OrtSession, OnlyThePoolsThreadsAreAdded) {
  const auto model = tiny::doubling(true);
  const TinyRig first(backend, model, *clock);  // the library's own, if it has any
  const size_t before = threads_of_process();
  const TinyRig tested(backend, model, *clock, {.slots = 1, .threads = 3});
  EXPECT_EQ(threads_of_process(), before + 2);
  EXPECT_EQ(before, 1u) << "one thread asked for and no telemetry: the loading thread alone";
}

TEST_F(OrtSession, OptionsAreTaken) {
  const auto model = tiny::doubling(true);
  TinyRig tested(backend, model, *clock,
                 {.threads = 2,
                  .options = {{"execution_mode", "parallel"},
                              {"graph_optimization", "basic"},
                              {"inter_op_threads", "2"},
                              {"spinning", "off"},
                              {"pin", "on"},
                              {"provider", "cpu"}}});
  tested.stage({{1, 2, 3}});
  tested.run(0, {0});
  EXPECT_THAT(tested.floats(0), ElementsAre(2, 4, 6));
}

TEST_F(OrtSession, TellsItsMemory) {
  const auto model = tiny::doubling(true);
  TinyRig tested(backend, model, *clock);
  tested.stage({{1, 2, 3}});
  tested.run(0, {0});
  const MemoryUse use = tested.session->memory();
  EXPECT_GE(use.reserved_bytes, 2 * 2 * (2 * 3 * 4));  // two slots' inputs and outputs at batch 2
  EXPECT_LE(use.in_use_bytes, use.peak_bytes);
}

TEST_F(OrtSession, LayerTimesCarryTheNodesNames) {
  const auto model = tiny::doubling(false);
  TinyRig tested(backend, model, *clock);
  const auto timings = tested.session->layer_timings();
  ASSERT_EQ(timings.size(), 1u);
  EXPECT_EQ(timings[0].name, "twice");
  EXPECT_EQ(timings[0].op, "Add");
  EXPECT_TRUE(tested.statuses.empty()) << "that run is nobody's query";
}

TEST_F(OrtSession, SaysWhatItDoesNotDo) {
  EXPECT_THAT(backend.version(), testing::MatchesRegex("1\\.[0-9]+\\.[0-9]+"));
  EXPECT_TRUE(backend.supports({}, {}).ok);
  const auto reason = [&](Precision precision, const GraphSummary& graph) {
    return backend.supports({.precision = precision}, graph).reason;
  };
  GraphSummary plain, quantized;
  quantized.operators = {{"DequantizeLinear", "", 1, "d"}, {"QuantizeLinear", "", 1, "q"}};
  EXPECT_EQ(reason(Precision::fp32, plain), "");
  EXPECT_EQ(reason(Precision::int8, quantized), "");
  EXPECT_THAT(reason(Precision::bf16, plain), HasSubstr("bf16"));
  EXPECT_THAT(reason(Precision::int8, plain), HasSubstr("needs a quantized file"));
  EXPECT_THAT(reason(Precision::fp32, quantized), HasSubstr("node 'q'"));
  EXPECT_THAT(backend.supports({.placement = {1, {DeviceId{.kind = "tpu"}}}}, {}).reason, HasSubstr("tpu"));
  EXPECT_THAT(backend.tasks(), ElementsAre(Task::infer, Task::generate));
}

TEST_F(OrtSession, ProvidersGoWithTheirDevices) {
  const auto reason = [&](const std::string& kind, const std::string& provider) {
    return backend.supports({.placement = {1, {DeviceId{.kind = kind}}}, .options = {{"provider", provider}}}, {}).reason;
  };
  EXPECT_THAT(reason("cpu", "cuda"), HasSubstr("cuda provider does not run on device cpu"));
  EXPECT_THAT(reason("cuda", "openvino"), HasSubstr("openvino provider does not run on device cuda"));
  for (const OrtProvider provider : {OrtProvider::cuda, OrtProvider::tensorrt, OrtProvider::openvino}) {
    const std::string name = ort_provider_name(provider), defect = ort_provider_defect(provider);
    const std::string said = ort_provider_states().at("provider." + name);
    EXPECT_THAT(said, HasSubstr(defect.empty() ? "available" : defect)) << name;
    if (!defect.empty()) {
      EXPECT_THAT(reason(name == "openvino" ? "cpu" : "cuda", name), HasSubstr(defect));
    }
  }
}

}  // namespace
}  // namespace deepgap
