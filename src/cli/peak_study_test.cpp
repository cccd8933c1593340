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

TEST(PeakStudy, ABudgetThatCannotAnswerIsRefusedBeforeTheFirstRun) {
  const auto prepare = [](double budget_s, bool own_window, bool resumes) -> std::string {
    Study study = study_of("server");
    PeakFlags flags;
    flags.budget = static_cast<Nanoseconds>(budget_s * 1e9);
    flags.resumes = resumes;
    if (own_window) study.grids[0].stopping = {.name = "duration", .duration = 10'000'000'000};
    try {
      prepare_peak_search(study, flags);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(prepare(5, false, false),
            "--find-peak cannot answer within --budget 5 s: its shortest runs alone take 6 s; give --budget 18s or more");
  EXPECT_THAT(prepare(30, true, false),
              HasSubstr("its shortest runs alone take 41 s; give --budget 123s or more, or a shorter --duration"));
  EXPECT_EQ(prepare(5, false, true), "") << "runs that the store has take no time";
  EXPECT_EQ(prepare(20, false, false), "");
}

}  // namespace
}  // namespace deepgap
