#include "worker/standstill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
using Options = std::map<std::string, std::string>;

std::string found(const Options& backend, const std::string& scenario = "batch", const Options& of_scenario = {}) {
  Point point;
  point.backend = "null";
  point.scenario = scenario;
  PointOptions options;
  options.backend = backend;
  options.scenario = of_scenario;
  for (const auto& [name, value] : backend) point.options["null." + name] = value;
  return standstill(point, options);
}

Options scripted(Options options) {
  options["clock"] = "virtual";
  return options;
}

TEST(Standstill, IsWhereQueriesTakeNoTime) {
  for (const Options& script : {Options{{"latency", "0ns"}},
                                {{"latency", "0s"}, {"per_sample", "0ns"}},
                                {{"latency", "0ns"}, {"drift", "1"}},
                                {{"latency", "0ns"}, {"distribution", "exponential"}},
                                {{"latency", "0ns"}, {"distribution", "steps"}, {"steps", "10:0ns/20:0ms"}}})
    EXPECT_THAT(found(scripted(script)), HasSubstr("null: latency=0")) << script.rbegin()->second;
  EXPECT_THAT(found(scripted({{"steps", "0:0ns"}})), HasSubstr("null: steps=0:0ns")) << "it replaces the latency";
}

TEST(Standstill, IsNoneWhereSomeTakeTime) {
  for (const Options& script : {Options{},
                                {{"latency", "1ns"}},
                                {{"latency", "0ns"}, {"per_sample", "1us"}},
                                {{"latency", "1ms"}, {"steps", "10:0ns"}},
                                {{"latency", "0ns"}, {"steps", "10:0ns/20:1ms"}},
                                {{"steps", "0:1ms"}},
                                {{"latency", "soon"}}})
    EXPECT_EQ(found(scripted(script)), "");
}

TEST(Standstill, IsNoneInRealTime) {
  EXPECT_EQ(found({{"latency", "0ns"}}), "");
  EXPECT_EQ(found({{"latency", "0ns"}, {"clock", "real"}}), "");
}

TEST(Standstill, IsNoneWhereQueriesComeByTheClock) {
  const Options still = scripted({{"latency", "0ns"}});
  for (const char* scenario : {"single-stream", "offline", "multi-stream", "concurrency"})
    EXPECT_NE(found(still, scenario), "") << scenario;
  for (const char* scenario : {"server", "constant", "bursty", "burst", "trace"}) EXPECT_EQ(found(still, scenario), "") << scenario;
  EXPECT_EQ(found(still, "multi-stream", {{"period", "10ms"}}), "");
  EXPECT_EQ(found(still, "concurrency", {{"think_time", "10ms"}}), "");
  EXPECT_NE(found(still, "concurrency", {{"think_time", "0s"}}), "");
}

TEST(Standstill, IsOfTrainingsToo) {
  Point point;
  point.backend = "null";
  point.task = Task::train;
  point.options = {{"clock", "virtual"}};
  PointOptions options;
  options.backend = {{"latency", "0ns"}};
  EXPECT_NE(standstill(point, options), "");
  options.dispatch.max_delay = 1;
  EXPECT_EQ(standstill(point, options), "") << "a batch waits";
}

}  // namespace
}  // namespace deepgap
