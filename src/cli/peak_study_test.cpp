#include "cli/peak_study.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::HasSubstr;

Study study_of(const std::string& scenario) {
  Study study;
  study.grids.resize(1);
  study.grids[0].axes = {{"model", {"resnet50"}}, {"scenario", {scenario}}, {"bound", {"p99=15ms"}}};
  return study;
}

TEST(PeakStudy, TheLoadIsWhatTheScenarioSaysItIs) {
  for (const auto& [scenario, axis] : {std::pair("server", "rate"), {"multi-stream", "batch"}, {"concurrency", "clients"}}) {
    Study study = study_of(scenario);
    const PeakOrder order = prepare_peak_search(study, {});
    EXPECT_EQ(order.axis.name, axis);
    EXPECT_EQ(order.bound, "p99=15ms");
    EXPECT_DOUBLE_EQ(order.limit_ms, 15);
    EXPECT_EQ(order.percentile_id, "latency_p99_ms");
    EXPECT_NE(find_axis(study.grids[0].axes, axis), nullptr) << "the search's first value";
  }
}

TEST(PeakStudy, AScenarioWithoutALoadIsRefused) {
  Study study = study_of("single-stream");
  EXPECT_THROW(prepare_peak_search(study, {}), Error);
  Study fixed = study_of("server");
  fixed.grids[0].axes.push_back({"rate", {"10"}});
  EXPECT_THROW(prepare_peak_search(fixed, {}), Error) << "the load is the search's to choose";
}

}  // namespace
}  // namespace deepgap
