#include "telemetry/machine_load.h"

#include "telemetry/fake_root.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>

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

// A build runs many compilers one after the other: those that ended are in what their parent waited for, those that run have one name.
TEST(MachineLoad, ShortProcessesCountTogether) {
  const auto stat = [](int process, const char* name, int own, int children) {
    return fmt::format("{} ({}) R 1 1 1 0 -1 0 0 0 0 0 {} 0 {} 0 20 0 1 0 5 0 0", process, name, own, children);
  };
  FakeRoot fake;
  fake.with("/proc/stat", "cpu  0 0 0 0 0 0 0 0\n").with("/proc/20/stat", stat(20, "editor", 0, 0));
  fake.with("/proc/30/stat", stat(30, "ninja", 10, 5000));
  const auto compilers = watch_machine(SystemRoot(fake.path()), [&] {
    fake.with("/proc/stat", "cpu  6000 0 0 4000 0 0 0 0\n").with("/proc/20/stat", stat(20, "editor", 900, 0));
    for (int process = 41; process < 45; ++process) fake.with(fmt::format("/proc/{}/stat", process), stat(process, "cc1plus", 500, 0));
  });
  ASSERT_TRUE(compilers && compilers->busiest);
  EXPECT_EQ(compilers->busiest->name, "cc1plus");
  EXPECT_EQ(compilers->busiest->count, 4);
  EXPECT_NEAR(compilers->busiest->share, 0.20, 0.001);
  EXPECT_THAT(disturbance_words(compilers), testing::HasSubstr("most of all cc1plus (4 processes, 20 %)"));

  fake.with("/proc/stat", "cpu  0 0 0 0 0 0 0 0\n");
  const auto ended = watch_machine(SystemRoot(fake.path()), [&] {
    fake.with("/proc/stat", "cpu  6000 0 0 4000 0 0 0 0\n").with("/proc/30/stat", stat(30, "ninja", 20, 9500));
  });
  ASSERT_TRUE(ended && ended->busiest);
  EXPECT_EQ(ended->busiest->process, 30);
  EXPECT_THAT(disturbance_words(ended), testing::HasSubstr("most of all processes started by ninja (process 30, 45 %)"));
}

// A process that ran for an hour and ends during the look used of the look what it used since: its parent gets all of it at once.
TEST(MachineLoad, WhatEndedUsedBeforeTheLookDoesNotCount) {
  const auto stat = [](int process, int parent, int own, int children) {
    return fmt::format("{} (p{}) R {} 1 1 0 -1 0 0 0 0 0 {} 0 {} 0 20 0 1 0 5 0 0", process, process, parent, own, children);
  };
  FakeRoot fake;
  fake.with("/proc/stat", "cpu  0 0 0 0 0 0 0 0\n").with("/proc/30/stat", stat(30, 1, 10, 0));
  fake.with("/proc/31/stat", stat(31, 30, 200, 0)).with("/proc/32/stat", stat(32, 31, 360'000, 0));
  const auto load = watch_machine(SystemRoot(fake.path()), [&] {
    fake.with("/proc/stat", "cpu  6000 0 0 4000 0 0 0 0\n").with("/proc/30/stat", stat(30, 1, 20, 361'200));
    fake.with("/proc/31/stat", "").with("/proc/32/stat", "");
  });
  ASSERT_TRUE(load && load->busiest);
  EXPECT_EQ(load->busiest->process, 30);
  EXPECT_NEAR(load->busiest->share, 0.101, 0.0001);
}

// A worker of the kernel is named for what it does now; what it used before the look does not count. Another process with its number does.
TEST(MachineLoad, AProcessIsKnownByItsStart) {
  const auto stat = [](const char* name, int own, int started) {
    return fmt::format("12 ({}) R 1 1 1 0 -1 0 0 0 0 0 {} 0 0 0 20 0 1 0 {} 0 0", name, own, started);
  };
  FakeRoot fake;
  const auto share_of = [&](const std::string& now) {
    fake.with("/proc/stat", "cpu  0 0 0 0 0 0 0 0\n").with("/proc/12/stat", stat("kworker/u8:0-events", 90000, 5));
    const auto load =
        watch_machine(SystemRoot(fake.path()), [&] { fake.with("/proc/stat", "cpu  6000 0 0 4000 0 0 0 0\n").with("/proc/12/stat", now); });
    return load && load->busiest ? load->busiest->share : 0;
  };
  EXPECT_NEAR(share_of(stat("kworker/u8:0-writeback", 90500, 5)), 0.05, 0.001);
  EXPECT_NEAR(share_of(stat("cc1plus", 700, 9)), 0.07, 0.001);
}

TEST(MachineLoad, WhatDisturbedARunIsNamedFromATenthOn) {
  EXPECT_EQ(disturbance_words(std::nullopt), "");
  EXPECT_EQ(disturbance_words(MachineLoad{0.09, 0.09, 0, BusyProcess{7, "sh", 0.09}}), "");
  EXPECT_EQ(disturbance_words(MachineLoad{0.61, 0.2, 0, BusyProcess{4711, "sh", 0.5}}),
            "other processes used 61 % of its CPU time, most of all sh (process 4711, 50 %). Stop them and run again");
  EXPECT_EQ(disturbance_words(MachineLoad{0.61, {}, 0, {}}), "other processes used 61 % of its CPU time. Stop them and run again");
  EXPECT_EQ(disturbance_words(MachineLoad{0, 0.2, 0, {}}),
            "its host gave 20 % of the CPU time to other machines. Use dedicated CPUs, or run again at a quieter hour");
}

// Workers have ended when a run has: what they used is the run's own.
TEST(MachineLoad, ChildrenThatEndedAreNoOthers) {
  FakeRoot fake;
  fake.with("/proc/stat", "cpu  0 0 0 0 0 0 0 0\n").with("/proc/vmstat", "pswpin 5\n");
  const auto load = watch_machine(SystemRoot(fake.path()), [&] {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const std::clock_t enough = std::clock() + CLOCKS_PER_SEC / 10;
      while (std::clock() < enough) {
      }
      ::_exit(0);
    }
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    fake.with("/proc/stat", "cpu  10 0 0 10 0 0 0 0\n");  // a tenth of a second busy, as the child was
  });
  ASSERT_TRUE(load);
  EXPECT_LT(load->others, 0.05);
}

TEST(MachineLoad, StandingStillOrAbsentIsNotQuiet) {
  FakeRoot fake;
  EXPECT_FALSE(watch_machine(SystemRoot(fake.path()), 1));
  fake.with("/proc/stat", fake_stat);
  EXPECT_FALSE(watch_machine(SystemRoot(fake.path()), 1));
}

}  // namespace
}  // namespace deepgap
