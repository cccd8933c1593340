#include "telemetry/machine_load.h"

#include "telemetry/fake_root.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

TEST(MachineLoad, SharesOfTheLook) {
  FakeRoot fake;
  fake.with("/proc/12/stat", "12 (a (b) c) R 1 1 1 0 -1 0 0 0 0 0 100 0 0 0 20 0 1 0 5 0 0");
  fake.with("/proc/stat", "cpu  0 0 0 0 0 0 0 0\n").with("/proc/vmstat", "pswpin 5\n");
  const auto load = watch_machine(SystemRoot(fake.path()), [&] {  // 100 s later: 30 busy, 60 idle, 10 stolen
    fake.with("/proc/12/stat", "12 (a (b) c) R 1 1 1 0 -1 0 0 0 0 0 900 600 0 0 20 0 1 0 5 0 0");
    fake.with("/proc/stat", "cpu  3000 0 0 6000 0 0 0 1000\n").with("/proc/vmstat", "pswpin 12\n");
  });
  ASSERT_TRUE(load);
  EXPECT_NEAR(load->others, 0.30, 0.01);  // less what this test itself has used
  EXPECT_DOUBLE_EQ(load->steal.value(), 0.10);
  EXPECT_EQ(load->pages_swapped_in, 7);
  ASSERT_TRUE(load->busiest);
  EXPECT_EQ(load->busiest->process, 12);
  EXPECT_EQ(load->busiest->name, "a (b) c");
  EXPECT_NEAR(load->busiest->share, 0.14, 0.001);
}

TEST(MachineLoad, StandingStillOrAbsentIsNotQuiet) {
  FakeRoot fake;
  EXPECT_FALSE(watch_machine(SystemRoot(fake.path()), 1));
  fake.with("/proc/stat", fake_stat);
  EXPECT_FALSE(watch_machine(SystemRoot(fake.path()), 1));
}

}  // namespace
}  // namespace deepgap
