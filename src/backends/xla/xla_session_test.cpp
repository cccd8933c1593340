#include "backends/common/tiny_onnx.h"
#include "backends/common/tiny_rig.h"
#include "backends/xla/pjrt_client.h"
#include "backends/xla/xla_backend.h"
#include "base/clocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace deepgap {
namespace {

// Tests what this engine does; what every engine must do is in tests/conformance.
class XlaSessionTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      backend_ = std::make_unique<XlaBackend>();
    } catch (const Error& missing) {
      GTEST_SKIP() << missing.what();
    }
    const auto devices = backend_->devices();
    if (devices.empty() || devices.front().id.kind != "cpu") GTEST_SKIP() << "there is no plug-in of XLA for CPUs";
  }
  std::unique_ptr<XlaBackend> backend_;
  std::unique_ptr<Clock> clock_ = make_real_clock();
};

TEST_F(XlaSessionTest, BatchesOfAnyLoadedSizeAndSmaller) {
  const auto model = tiny_onnx::doubling(false);
  TinyRig rig(*backend_, model, *clock_, {.batches = {1, 3}});
  rig.stage({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}});
  rig.run(0, {2, 0, 1});
  EXPECT_THAT(rig.floats(0), testing::ElementsAre(14, 16, 18, 2, 4, 6, 8, 10, 12));
  rig.run(1, {1, 2});
  EXPECT_THAT(rig.floats(1), testing::ElementsAre(8, 10, 12, 14, 16, 18));
  EXPECT_THAT(rig.marks,
              testing::ElementsAre(MarkId::enqueued, MarkId::h2d_begin, MarkId::compute_begin, MarkId::compute_end, MarkId::returned));
}

TEST_F(XlaSessionTest, HalvesAreComputedAsHalves) {
  const auto model = tiny_onnx::doubling(false);
  for (const Precision precision : {Precision::fp16, Precision::bf16}) {
    TinyRig rig(*backend_, model, *clock_, {.batches = {1}, .precision = precision});
    rig.stage({{1, 2, 4097}});
    rig.run(0, {0});
    EXPECT_THAT(rig.floats(0), testing::ElementsAre(2, 4, 8192));  // 16 bits round 4097 to 4096
  }
}

// Each W is transposed before anything runs, so its bytes are made, and might be freed, with each batch size.
TEST_F(XlaSessionTest, WeightsThatAreMadeStayThoseOfTheirNodes) {
  constexpr int64_t products = 8, columns = 32;
  Graph graph;
  graph.name = "transposed";
  graph.opset = 17;
  const auto value = [&](const std::string& name, const Dims& dims) {
    graph.values.push_back({name, DataType::f32, dims});
    return static_cast<ValueId>(graph.values.size() - 1);
  };
  const ValueId x = value("x", {{1, batch_symbol}, {3, ""}});
  std::vector<ValueId> parts;
  for (int64_t i = 0; i < products; ++i) {
    const std::string n = std::to_string(i);
    const ValueId w = value("w" + n, {{columns, ""}, {3, ""}}), turned = value("t" + n, {{3, ""}, {columns, ""}});
    Tensor weights = make_tensor(DataType::f32, {columns, 3});
    for (float& one : writable<float>(weights)) one = static_cast<float>(i);
    graph.constants.emplace(w, weights);
    parts.push_back(value("p" + n, {{1, batch_symbol}, {columns, ""}}));
    graph.nodes.push_back({"turn" + n, "Transpose", "", {w}, {turned}, {}});
    graph.nodes.push_back({"times" + n, "MatMul", "", {x, turned}, {parts.back()}, {}});
  }
  const ValueId y = value("y", {{1, batch_symbol}, {products * columns, ""}});
  graph.nodes.push_back({"join", "Concat", "", parts, {y}, {{"axis", int64_t{1}}}});
  graph.inputs = {x};
  graph.outputs = {y};
  const TestModel model(graph);
  TinyRig rig(*backend_, model, *clock_, {.batches = {1, 2, 3, 4}});
  rig.stage({{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {1, 2, 3}});
  for (const std::vector<uint32_t>& samples : {std::vector<uint32_t>{0}, {0, 1}, {0, 1, 2}, {0, 1, 2, 3}}) {
    rig.run(0, samples);
    const std::vector<float> found = rig.floats(0);
    for (size_t i = 0; i < products; ++i)
      EXPECT_EQ(found[i * columns], 6 * static_cast<float>(i)) << samples.size() << " samples, product " << i;
  }
}

TEST_F(XlaSessionTest, MoreSamplesThanLoadedForAreAFailedQuery) {
  const auto model = tiny_onnx::doubling(false);
  TinyRig rig(*backend_, model, *clock_, {.batches = {1}});
  rig.stage({{1, 2, 3}, {4, 5, 6}});
  rig.run(0, {0, 1});
  EXPECT_THAT(rig.statuses, testing::ElementsAre(Status::failed));
  EXPECT_THAT(rig.error, testing::HasSubstr("2 samples, loaded for at most 1"));
}

TEST(PjrtLibrary, AnotherLibraryIsNamed) {
  try {
    const PjrtLibrary library("libm.so.6");
    FAIL() << "opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    EXPECT_THAT(error.what(), testing::HasSubstr("libm.so.6 is not a plug-in of XLA: it has no function GetPjrtApi"));
  }
}

}  // namespace
}  // namespace deepgap
