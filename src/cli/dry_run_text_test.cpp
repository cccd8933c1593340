#include "cli/dry_run_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

DryRun of_one_point(TimeSpan time) {
  DryRun plan;
  plan.points.resize(1);
  plan.points[0].repeats = 2;
  plan.points[0].seconds = time.likely;
  plan.time = time;
  return plan;
}

TEST(DryRunText, TellsARangeWhereTheTimeIsNotKnownWell) {
  EXPECT_NE(dry_run_text(of_one_point({183, 84, 399})).find("; about 3 min 03 s (84 s to 7 min)\n"), std::string::npos);
  EXPECT_NE(dry_run_text(of_one_point({183, 170, 200})).find("; about 3 min 03 s\n"), std::string::npos);
  EXPECT_NE(dry_run_text(of_one_point({})).find("; nothing to measure\n"), std::string::npos);
}

TEST(DryRunText, JsonHasBothEnds) {
  const auto json = nlohmann::json::parse(dry_run_json(of_one_point({183, 84, 399}), "study"));
  EXPECT_EQ(json["seconds"], 183);
  EXPECT_EQ(json["seconds_low"], 84);
  EXPECT_EQ(json["seconds_high"], 399);
  EXPECT_FALSE(nlohmann::json::parse(dry_run_json(of_one_point({183}), "study")).contains("seconds_low")) << "a search's is a guess";
}

}  // namespace
}  // namespace deepgap
