#include "plan/conflicts.h"

#include "base/test_error.h"

#include <gmock/gmock.h>

namespace deepgap {
namespace {

using ::testing::HasSubstr;

std::string error_of(std::vector<Axis> axes, std::vector<TenantAxes> tenants = {}) {
  Grid grid;
  grid.axes = std::move(axes);
  grid.tenants = std::move(tenants);
  return deepgap::error_of([&] { refuse_conflicts(grid); });
}

TEST(Conflicts, WhatChangesNothingIsRefusedWithItsPlace) {
  EXPECT_EQ(error_of({{"max_delay", {"2ms"}, {"--max-delay"}}}),
            "--max-delay: max_delay needs batches of several queries: give max_batch (--max-batch 8), or leave it out");
  EXPECT_THAT(error_of({{"pad", {"power-of-two"}}}), HasSubstr("pad needs batches"));
  EXPECT_THAT(error_of({{"shed_allowed", {"1%"}}}), HasSubstr("give shed="));
  EXPECT_THAT(error_of({{"shed_allowed", {"1%"}}, {"shed", {"none"}}}), HasSubstr("give shed="));
  EXPECT_THAT(error_of({{"quantize.method", {"entropy"}, {"s.toml:4"}}}), HasSubstr("s.toml:4: quantize.method applies to precision int8"));
}

TEST(Conflicts, WhatSomePointsUseIsNone) {
  EXPECT_EQ(error_of({{"max_delay", {"0"}}}), "no error");
  EXPECT_EQ(error_of({{"max_delay", {"0", "2ms"}}, {"max_batch", {"1", "8"}}}), "no error");
  EXPECT_EQ(error_of({{"shed_allowed", {"1%"}}, {"shed", {"none", "drop-oldest"}}}), "no error");
  EXPECT_EQ(error_of({{"quantize.method", {"entropy"}}, {"precision", {"fp32", "int8"}}}), "no error");
  EXPECT_EQ(error_of({{"quantize.method", {"entropy"}}}, {{{"precision", {"int8"}}}, {{"model", {"a"}}}}), "no error");
}

TEST(Conflicts, AnEngineThatNoPointHas) {
  EXPECT_EQ(
      error_of({{"openvino.hint", {"latency"}, {"--axis openvino.hint"}}}),
      "--axis openvino.hint: openvino.hint applies to backend openvino, which none of the points has: add it to the backends, or leave "
      "it out");
  EXPECT_THAT(error_of({{"openvino.hint", {"latency"}}, {"backend", {"native", "onnxruntime"}}}), HasSubstr("backend openvino"));
  EXPECT_EQ(error_of({{"openvino.hint", {"latency"}}, {"backend", {"native", "OV"}}}), "no error");
  EXPECT_EQ(error_of({{"native.isa", {"avx2"}}}), "no error") << "native is the usual backend";
  EXPECT_EQ(error_of({{"openvino.hint", {"latency"}}}, {{{"backend", {"openvino"}}}, {{"model", {"a"}}}}), "no error");
  EXPECT_EQ(error_of({{"env.OMP_NUM_THREADS", {"2"}}}), "no error");
}

TEST(Conflicts, ThreadsThatDecodeNeedImageFiles) {
  EXPECT_EQ(error_of({{"decode_threads", {"2"}, {"s.toml:3"}}, {"end_to_end", {"off"}}}),
            "s.toml:3: decode_threads applies to end-to-end queries: add --end-to-end serial or overlapped, or leave it out");
  EXPECT_EQ(error_of({{"decode_threads", {"2"}}, {"end_to_end", {"off", "serial"}}}), "no error");
}

TEST(Conflicts, APowerStateIsThatOfAPointMeasuredAlone) {
  Grid grid;
  grid.axes = {{"power", {"either", "burst"}, {"--power"}}};
  const auto refusal = [](const Grid& given) { return deepgap::error_of([&] { refuse_conflicts(given); }); };
  EXPECT_EQ(refusal(grid), "no error");
  grid.duel = "backend";
  EXPECT_THAT(refusal(grid), HasSubstr("--power: power=burst applies to points that are measured alone"));
}

TEST(Conflicts, ASearchComparesWindowsOfOneLengthAndRepeatsByItself) {
  Grid grid;
  grid.find_peak = true;
  grid.place = "s.toml:1";
  const auto refusal = [](const Grid& given) { return deepgap::error_of([&] { refuse_conflicts(given); }); };
  EXPECT_EQ(refusal(grid), "no error");
  Grid counted = grid;
  counted.stopping.name = "counts";
  EXPECT_THAT(refusal(counted), HasSubstr("s.toml:1: --find-peak compares windows of one length"));
  Grid timed = grid;
  timed.stopping.name = "duration";
  EXPECT_EQ(refusal(timed), "no error");
  grid.sweeps = 2;
  EXPECT_THAT(refusal(grid), HasSubstr("leave out --repeats and --sweeps"));
}

TEST(Conflicts, ADuelHasNoWindowForEnergy) {
  Grid grid;
  grid.duel = "backend";
  grid.energy = true;
  EXPECT_THAT(deepgap::error_of([&] { refuse_conflicts(grid); }), HasSubstr("leave out --energy or --duel"));
}

TEST(Conflicts, TwoEndsOfARun) {
  Grid grid;
  grid.axes = {{"total_samples", {"1000"}}};
  EXPECT_NO_THROW(refuse_conflicts(grid));
  grid.stopping.iterations = 5;
  EXPECT_THAT(deepgap::error_of([&] { refuse_conflicts(grid); }), HasSubstr("leave one of them out"));
}

}  // namespace
}  // namespace deepgap
