#include "record/load_axis.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

const bool declared = declare_scenario("surge", {LoadAxis{"height", "metres"}, true, "wave"});

Point surge() {
  Point point;
  point.scenario = "surge";
  point.options = {{"height", "2.5"}, {"seed", "1"}};
  return point;
}

TEST(LoadAxis, IsWhatTheScenarioDeclared) {
  ASSERT_TRUE(declared);
  EXPECT_EQ(load_axis("surge")->name, "height");
  EXPECT_EQ(load_of(surge()), 2.5);
  EXPECT_EQ(without_load(surge()).options, (std::map<std::string, std::string>{{"seed", "1"}}));
  EXPECT_TRUE(scenario_traits("surge").draws_arrivals);
}

TEST(LoadAxis, OfAScenarioThatIsNotKnownThereIsNone) {
  Point point = surge();
  point.scenario = "of a newer version";
  EXPECT_FALSE(load_axis(point.scenario));
  EXPECT_FALSE(load_of(point));
  EXPECT_EQ(without_load(point), point);
}

TEST(Task, SortsByNameAndIsFoundByIt) {
  for (const Task task : all_tasks) {
    EXPECT_EQ(task_from(name_of(task)), task);
    for (const Task other : all_tasks) EXPECT_EQ(task < other, name_of(task) < name_of(other));
  }
  EXPECT_EQ(task_from("chat"), std::nullopt);
}

TEST(UnitOfWork, IsTheRecordsOwnOrThatOfItsPoint) {
  Record record;
  record.point = surge();
  EXPECT_EQ(unit_of_work(record), "wave");
  record.facts["unit"] = std::string("tile");
  EXPECT_EQ(unit_of_work(record), "tile");
  Point trains;
  trains.task = Task::train;
  EXPECT_EQ(unit_of_work(trains), "step");
  EXPECT_EQ(units_text(1, "query"), "1 query");
  EXPECT_EQ(units_text(12, "query"), "12 queries");
  EXPECT_EQ(units_text(0, "batch"), "0 batches");
  EXPECT_EQ(units_text(3, "step"), "3 steps");
}

}  // namespace
}  // namespace deepgap
