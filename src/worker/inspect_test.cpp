// Tests what is found out about Points before anything is timed, with the null backend.
#include "worker/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using ::testing::HasSubstr;

Point point_of(const std::string& scenario = "batch", int64_t batch = 1) {
  Point point;
  point.model = "mobilenet_v1:width=0.125,classes=10,image=32";
  point.backend = "null";
  point.scenario = scenario;
  point.batch = batch;
  point.threads = 1;
  return point;
}

InspectedPoint inspect(const Point& point, const BrokenBackends& broken = {}) {
  return inspect_points({point}, "", broken, [](const InspectionStep&) {}).front();
}

// The mistake's axis and its words.
std::pair<std::string, std::string> mistake_in(const std::vector<Point>& points) {
  try {
    inspect_points(points, "", {}, [](const InspectionStep&) {});
  } catch (const PointError& error) {
    return {error.axis(), error.what()};
  }
  return {"none", ""};
}

TEST(Inspection, TellsWhatItKnowsOfAPointThatCanRun) {
  Point asked = point_of("batch", 0);
  const InspectedPoint found = inspect(asked);
  EXPECT_TRUE(found.supported) << found.reason;
  EXPECT_EQ(found.refused_by, "");
  EXPECT_EQ(found.batch, 1) << "0 is the model's own";
  EXPECT_GT(found.parameters, 0);
  EXPECT_GT(found.macs_per_item, 0);
  EXPECT_EQ(found.backend_version, "1");
  EXPECT_EQ(found.model_hash, "") << "a zoo name is no file";
  EXPECT_EQ(inspected_to_json(inspected_from_json(inspected_to_json(found))), inspected_to_json(found));
}

TEST(Inspection, SaysWhoRefuses) {
  const InspectedPoint broken = inspect(point_of(), {{"null", "it died before"}});
  EXPECT_FALSE(broken.supported);
  EXPECT_EQ(broken.reason, "it died before");
  EXPECT_EQ(broken.refused_by, "null");

  Point elsewhere = point_of();
  elsewhere.placement.devices = {{"", "abacus", 0}};
  EXPECT_EQ(inspect(elsewhere).refused_by, "null");
  EXPECT_THAT(inspect(elsewhere).reason, HasSubstr("null has no device abacus:0 here"));

  Point twice = point_of();
  twice.placement.devices = {DeviceId{}, DeviceId{}};
  EXPECT_EQ(inspect(twice).refused_by, "deepgap");
  EXPECT_THAT(inspect(twice).reason, HasSubstr("is listed twice"));
}

TEST(Inspection, BlamesTheAxisOfAMistake) {
  Point model = point_of();
  model.model = "mobilnet_v1";
  EXPECT_EQ(mistake_in({point_of(), model}).first, "model");
  EXPECT_THAT(mistake_in({model}).second, HasSubstr("did you mean 'mobilenet_v1'"));
  Point option = point_of();
  option.options["latncy"] = "1ms";
  EXPECT_THAT(mistake_in({option}).second, HasSubstr("unknown option of null 'latncy'"));
  EXPECT_EQ(mistake_in({point_of("single-stream", 2)}).first, "batch");
  EXPECT_EQ(mistake_in({point_of()}).first, "none");
}

TEST(Inspection, RefusesARunWhoseTimeWouldStandStill) {
  Point still = point_of();
  still.options = {{"null.clock", "virtual"}, {"null.latency", "0ns"}};
  EXPECT_THAT(mistake_in({still}).second, HasSubstr("queries take no time"));
  still.options["null.clock"] = "real";
  EXPECT_EQ(mistake_in({still}).first, "none");
}

TEST(Inspection, TurnsToEachModelAndBackendOnce) {
  std::vector<std::string> subjects;
  inspect_points({point_of(), point_of("batch", 2)}, "", {}, [&](const InspectionStep& step) { subjects.push_back(step.subject); });
  EXPECT_EQ(std::count(subjects.begin(), subjects.end(), "model " + point_of().model), 1);
  EXPECT_EQ(subjects.front(), "backend null");
}

}  // namespace
}  // namespace deepgap
