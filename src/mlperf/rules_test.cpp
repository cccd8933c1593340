#include "worker/run_rules.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap {
namespace {

Point server_point() {
  Point point;
  point.model = "resnet50";
  point.scenario = "server";
  return point;
}

TEST(MlperfRules, OptionsAreLookedAtBeforeAnythingRuns) {
  Point point = server_point();
  EXPECT_EQ(rules_of(point), nullptr);
  EXPECT_EQ(library_size(point), 0U);
  point.options = {{"mlperf", "v6.0"}, {"rate", "50"}};
  const RunRules* rules = rules_of(point);
  ASSERT_NE(rules, nullptr);
  rules->check(point);
  EXPECT_EQ(library_size(point), 50000U);
  EXPECT_EQ(rules->seconds(point), 600);
  EXPECT_EQ(scenario_of(point)->name(), "batch");  // what warms up
  for (const auto& [name, value] : {std::pair("mlperf_target_qps", "60"), std::pair("mlperf_mode", "x")}) {
    Point wrong = point;
    wrong.options[name] = value;
    EXPECT_THROW(rules->check(wrong), Error) << name;
  }
}

TEST(MlperfRules, ARunWritesOneSetOfLogs) {
  Point point = server_point();
  point.options = {{"mlperf", "v6.0"}, {"mlperf_mode", "accuracy"}};
  const RunRules* rules = rules_of(point);
  ASSERT_NE(rules, nullptr);
  EXPECT_EQ(rules->log_name(point), "v6.0-accuracy");
  point.options["mlperf_test"] = "TEST01";
  EXPECT_EQ(rules->log_name(point), "v6.0-TEST01");
  EXPECT_TRUE(rules->spread_support(point, {}).ok);
  DispatchOptions urgent;
  urgent.urgent = 0.5;
  EXPECT_EQ(rules->spread_support(point, urgent).reason, "MLPerf's queries have no classes: leave urgent out");
  point.placement.processes = 2;
  EXPECT_EQ(rules->spread_support(point, {}).reason, "an MLPerf run is one process: it writes one set of logs");
}

}  // namespace
}  // namespace deepgap
