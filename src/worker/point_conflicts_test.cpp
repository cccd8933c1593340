#include "worker/point_conflicts.h"

#include "base/test_error.h"

#include <gmock/gmock.h>

namespace deepgap {
namespace {

using ::testing::HasSubstr;

Point point_of(const std::string& task, const std::map<std::string, std::string>& options) {
  Point point;
  point.task = *task_from(task);
  point.batch = 1;
  point.options = options;
  return point;
}

std::string refusal(const Point& point) {
  return error_of([&] { refuse_point_conflicts(point); });
}

TEST(PointConflicts, options_of_a_task_need_the_task) {
  EXPECT_THAT(refusal(point_of("infer", {{"prompt_reuse", "off"}})), HasSubstr("add --task generate"));
  EXPECT_THAT(refusal(point_of("infer", {{"bound", "ttft.p99=5ms"}})), HasSubstr("the SLO ttft.p99=5ms applies to generation"));
  EXPECT_THAT(refusal(point_of("infer", {{"mlperf_mode", "x"}})), HasSubstr("mlperf_mode applies to MLPerf runs"));
  EXPECT_EQ(refusal(point_of("generate", {{"prompt_reuse", "on"}, {"bound", "ttft.p99=5ms"}})), "no error");
  EXPECT_EQ(refusal(point_of("infer", {{"mlperf", "v6.0"}, {"mlperf_mode", "x"}})), "no error");
}

TEST(PointConflicts, training_refuses_what_shapes_queries) {
  for (const char* option : {"instances", "max_batch", "mlperf", "end_to_end", "tenants", "peak"}) {
    EXPECT_THAT(refusal(point_of("train", {{option, "2"}})), HasSubstr(std::string(option) + " ")) << option;
    EXPECT_EQ(refusal(point_of("infer", {{option, "2"}})), "no error") << option;
  }
  EXPECT_THAT(refusal(point_of("train", {{"bound", "p99=5ms"}})), HasSubstr("bound does not apply to task train"));
  EXPECT_EQ(refusal(point_of("train", {{"end_to_end", "off"}})), "no error");
}

TEST(PointConflicts, generation_refuses_batches_and_files) {
  for (const char* option : {"max_batch", "end_to_end", "labels", "input"})
    EXPECT_THAT(refusal(point_of("generate", {{option, "2"}})), HasSubstr(std::string(option) + " does not apply to task generate"));
  Point point = point_of("generate", {});
  EXPECT_EQ(refusal(point), "no error");
  point.batch = 2;
  EXPECT_THAT(refusal(point), HasSubstr("leave out --batch"));
}

TEST(PointConflicts, a_power_state_needs_a_busy_gpu) {
  Point point = point_of("infer", {{"power", "sustained"}});
  EXPECT_EQ(refusal(point), "power=sustained needs a GPU whose power limit deepgap can read: give --device cuda:0, or leave it out");
  point.placement.devices = {DeviceId{"", "cuda", 0}};
  EXPECT_EQ(refusal(point), "no error");
  point.scenario = "server";
  EXPECT_EQ(refusal(point), "no error");
  point.options["power"] = "burst";
  EXPECT_THAT(refusal(point), HasSubstr("a load that keeps the GPU busy"));
  EXPECT_EQ(refusal(point_of("infer", {{"power", "either"}})), "no error");
}

TEST(PointConflicts, mlperf_and_end_to_end) {
  EXPECT_THAT(refusal(point_of("infer", {{"mlperf", "v6.0"}, {"bound", "p99=15ms"}})), HasSubstr("mlperf_target_latency"));
  EXPECT_THAT(refusal(point_of("infer", {{"mlperf", "v6.0"}, {"shed", "drop-oldest"}})), HasSubstr("leave out shed"));
  EXPECT_EQ(refusal(point_of("infer", {{"mlperf", "v6.0"}, {"shed", "none"}})), "no error");
  EXPECT_THAT(refusal(point_of("infer", {{"mlperf", "v6.0"}, {"end_to_end", "serial"}})), HasSubstr("leave out --end-to-end"));
  Point point = point_of("infer", {{"end_to_end", "serial"}});
  EXPECT_EQ(refusal(point), "no error");
  point.placement.processes = 2;
  EXPECT_THAT(refusal(point), HasSubstr("one process"));
  point.options["end_to_end"] = "off";
  EXPECT_EQ(refusal(point), "no error");
}

}  // namespace
}  // namespace deepgap
