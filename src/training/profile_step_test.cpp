#include "worker/plugin.h"
#include "worker/profile_point.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap {
namespace {

Point training(const char* device) {
  Point point;
  point.task = Task::train;
  point.model = "mobilenet_v1:width=0.125,classes=10,image=32";
  point.backend = "libtorch";
  point.scenario = "batch";
  point.batch = 4;
  point.threads = 1;
  point.placement.devices = {{"", device, 0}};
  return point;
}

TEST(ProfileStep, ATrainingHasAProfileOnAGpuAlone) {
  EXPECT_NE(why_not_profiled(training("cpu")), "");
  EXPECT_EQ(why_not_profiled(training("cuda")), "");
  Point together = training("cuda");
  together.placement.processes = 2;
  EXPECT_NE(why_not_profiled(together), "");
}

// On a CPU there is nothing to watch, but steps run and are timed as on a GPU.
TEST(ProfileStep, TimesSteps) {
  try {
    open_plugin("libtorch");
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const LayerProfile profile = profile_point({training("cpu"), ""});
  EXPECT_EQ(profile.batch, 4);
  EXPECT_GE(profile.rounds, 5);
  EXPECT_GT(profile.whole_ns, 0);
  EXPECT_TRUE(profile.layers.empty());
  EXPECT_GT(profile.step_flop, 0);
  EXPECT_GT(profile.step_bytes, 0);
  EXPECT_FALSE(profile.trace.has_value());
  EXPECT_FALSE(profile.counters.has_value());
}

}  // namespace
}  // namespace deepgap
