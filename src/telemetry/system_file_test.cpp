#include "telemetry/system_file.h"

#include "telemetry/fake_root.h"
#include "telemetry/proc_stat.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

TEST(SystemRoot, SaysWhyThereIsNothing) {
  FakeRoot fake;
  fake.with("/proc/x", " 42 \n").with("/proc/folder/inside", "");
  const SystemRoot root(fake.path());
  EXPECT_EQ(root.integer("/proc/x"), 42);
  EXPECT_EQ(std::get<std::string>(root.read("/proc/x").fact()), "42");
  EXPECT_EQ(std::get<std::string>(root.read("/proc/y").fact()), "not available: no /proc/y");
  EXPECT_FALSE(root.read("/proc/folder").text);
  EXPECT_FALSE(root.read("/proc/folder").reason.empty());
  EXPECT_EQ(root.list("/proc"), (std::vector<std::string>{"folder", "x"}));
  EXPECT_TRUE(root.list("/nowhere").empty());
}

TEST(SystemFile, KeysAreWhole) {
  const std::string text = "model name\t: Example\nmodel\t\t: 207\ncpu0 9\ncpu  1 2\nVmRSS:\t  12 kB\nempty\t:\n";
  EXPECT_EQ(value_of_key(text, "model"), "207");
  EXPECT_EQ(value_of_key(text, "model name"), "Example");
  EXPECT_EQ(value_of_key(text, "cpu"), "1 2");
  EXPECT_EQ(value_of_key(text, "VmRSS"), "12 kB");
  EXPECT_EQ(value_of_key(text, "empty"), "");
  EXPECT_EQ(value_of_key(text, "absent"), "");
}

TEST(SystemFile, CpuLists) {
  EXPECT_EQ(parse_cpu_list("0-2,5\n"), (std::vector<int>{0, 1, 2, 5}));
  EXPECT_EQ(parse_cpu_list("7"), (std::vector<int>{7}));
  for (const char* wrong : {"", "a", "3-1", "-1", "1-", "0-99999999", "1,,2"}) EXPECT_FALSE(parse_cpu_list(wrong)) << wrong;
}

TEST(ProcStat, AddsUpWhatIsBusy) {
  const auto times = parse_proc_stat(fake_stat);  // ticks of 10 ms
  ASSERT_TRUE(times);
  EXPECT_DOUBLE_EQ(times->busy_s, 16.3);
  EXPECT_DOUBLE_EQ(times->idle_s, 82);
  EXPECT_DOUBLE_EQ(times->steal_s.value(), 0.7);
  EXPECT_EQ(times->runnable, 3);
}

TEST(ProcStat, OldAndBrokenOnes) {
  const auto old = parse_proc_stat("cpu 1 1 1 1 1 1 1\n");
  ASSERT_TRUE(old);
  EXPECT_FALSE(old->steal_s) << "a kernel that does not count steal has not seen none";
  EXPECT_FALSE(parse_proc_stat(""));
  EXPECT_FALSE(parse_proc_stat("cpu 1 2 x\n"));
  EXPECT_FALSE(parse_proc_stat("cpu0 1 2 3 4 5 6 7 8\n"));
}

}  // namespace
}  // namespace deepgap
