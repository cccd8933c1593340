#include "backends/common/tiny_onnx.h"
#include "backends/common/tiny_rig.h"
#include "backends/tensorflow/tf_backend.h"
#include "base/clocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace deepgap {
namespace {

// Tests what this engine does; what every engine must do is in tests/conformance.
class TfSessionTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      backend_ = std::make_unique<TfBackend>();
    } catch (const Error& missing) {
      GTEST_SKIP() << missing.what();
    }
  }
  std::unique_ptr<TfBackend> backend_;
  std::unique_ptr<Clock> clock_ = make_real_clock();
};

TEST_F(TfSessionTest, BatchesOfAnyLoadedSizeAndSmaller) {
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

TEST_F(TfSessionTest, MoreSamplesThanLoadedForAreAFailedQuery) {
  const auto model = tiny_onnx::doubling(false);
  TinyRig rig(*backend_, model, *clock_, {.batches = {1}});
  rig.stage({{1, 2, 3}, {4, 5, 6}});
  rig.run(0, {0, 1});
  EXPECT_THAT(rig.statuses, testing::ElementsAre(Status::failed));
  EXPECT_THAT(rig.error, testing::HasSubstr("2 samples, loaded for at most 1"));
}

TEST_F(TfSessionTest, ProfilesNameTheGraphsNodes) {
  const auto model = tiny_onnx::doubling(false);
  for (const char* grappler : {"on", "off"}) {
    TinyRig rig(*backend_, model, *clock_, {.options = {{"grappler", grappler}}});
    std::vector<std::string> names;
    for (const LayerTiming& layer : rig.session->layer_timings()) names.push_back(layer.name);
    EXPECT_THAT(names, testing::Contains("twice")) << grappler;
  }
}

}  // namespace
}  // namespace deepgap
