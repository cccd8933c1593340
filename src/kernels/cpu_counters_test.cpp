#include "kernels/cpu_counters.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>

namespace deepgap {
namespace {

using ::testing::HasSubstr;

TEST(CpuCounters, AddUpThreadsAndSayWhatIsMissing) {
  std::set<int> open;
  int next = 10;
  CounterTable table;
  table.threads = [] { return std::vector<int>{1, 2, 3}; };
  table.open = [&](int type, unsigned long long config, int thread) {
    if (type == PERF_TYPE_HARDWARE && config == PERF_COUNT_HW_CPU_CYCLES) return -EACCES;
    if (type == PERF_TYPE_HW_CACHE) return -ENOENT;
    if (thread == 3) return -ESRCH;  // ended meanwhile
    open.insert(next);
    return next++;
  };
  table.enable = [](int, bool) {};
  table.read = [](int) { return 21.0; };
  table.close = [&](int descriptor) { open.erase(descriptor); };
  CpuCounters counters(table);
  counters.begin();
  EXPECT_FALSE(open.empty());
  const CpuCounts counts = counters.end();
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(counts.counts.at("instructions"), 42);
  EXPECT_FALSE(counts.counts.contains("cycles")) << "never a zero";
  EXPECT_THAT(counts.missing.at("cycles"), HasSubstr("perf_event_paranoid is"));
  EXPECT_THAT(counts.missing.at("first_cache_misses"), HasSubstr("does not offer it"));
}

TEST(CpuCounters, ACounterThatNeverRanIsMissing) {
  CounterTable table;
  table.threads = [] { return std::vector<int>{1}; };
  table.open = [](int, unsigned long long, int) { return 5; };
  table.enable = [](int, bool) {};
  table.read = [](int) { return -1.0; };
  table.close = [](int) {};
  CpuCounters counters(table);
  counters.begin();
  const CpuCounts counts = counters.end();
  EXPECT_TRUE(counts.counts.empty());
  EXPECT_THAT(counts.missing.at("cycles"), HasSubstr("never ran"));
}

CounterTable counting(const std::function<double(int)>& read) {
  CounterTable table;
  table.threads = [] { return std::vector<int>{1, 2}; };
  table.open = [](int, unsigned long long config, int) { return 100 + static_cast<int>(config & 0xffff); };
  table.open_machine = [](int, unsigned long long config, int cpu) { return 10 * static_cast<int>(config) + cpu; };
  table.enable = [](int, bool) {};
  table.read = read;
  table.close = [](int) {};
  return table;
}

TEST(CpuCounters, OperationsAreInstructionsTimesTheirWidth) {
  CounterTable table = counting([](int) { return 5.0; });
  table.width_events = width_events("vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 207\n");
  ASSERT_EQ(table.width_events.size(), width_event_names().size());
  CpuCounters counters(table);
  counters.begin();
  const CpuCounts counts = counters.end();
  EXPECT_EQ(counts.counts.at("fp32_flop_512"), 2 * 5 * 16) << "two threads";
  EXPECT_EQ(counts.counts.at("fp64_flop_scalar"), 2 * 5);
  EXPECT_THAT(counts.missing.at("energy_package_j"), HasSubstr("no perf_event source"));
}

TEST(CpuCounters, NeverBelieveThatNoOperationWasDone) {
  CounterTable table = counting([](int) { return 0.0; });
  table.width_events = width_events("vendor_id : GenuineIntel\ncpu family : 6\nmodel : 207\n");
  CpuCounters counters(table);
  counters.begin();
  const CpuCounts counts = counters.end();
  EXPECT_FALSE(counts.counts.contains("fp32_flop_512"));
  EXPECT_THAT(counts.missing.at("fp32_flop_512"), HasSubstr("read 0"));
  EXPECT_EQ(counts.counts.at("page_faults"), 0) << "which may be none";
}

TEST(CpuCounters, OfMemoryAllControllersCountOrNone) {
  CounterTable table = counting([](int descriptor) { return static_cast<double>(descriptor); });
  table.machine_events = {
      {"dram_bytes_read", 30, 4, {0, 1}, 64}, {"dram_bytes_read", 31, 5, {0}, 64}, {"energy_package_j", 9, 2, {0}, 0.5}};
  CpuCounters counters(table);
  counters.begin();
  CpuCounts counts = counters.end();
  EXPECT_EQ(counts.counts.at("dram_bytes_read"), 64 * (40 + 41 + 50));
  EXPECT_EQ(counts.counts.at("energy_package_j"), 0.5 * 20);
  EXPECT_THAT(counts.missing.at("dram_bytes_written"), HasSubstr("no perf_event source"));
  EXPECT_THAT(counts.missing.at("fp32_flop_256"), HasSubstr("does not know its code"));
  table.open_machine = [](int type, unsigned long long, int) { return type == 31 ? -EACCES : 7; };
  CpuCounters fewer(table);
  fewer.begin();
  counts = fewer.end();
  EXPECT_FALSE(counts.counts.contains("dram_bytes_read"));
  EXPECT_THAT(counts.missing.at("dram_bytes_read"), HasSubstr("perf_event_paranoid"));
}

TEST(MachineEvents, AreReadFromTheFoldersOfPerf) {
  const auto root = std::filesystem::path(::testing::TempDir()) / "machine_events";
  std::filesystem::remove_all(root);
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text << "\n";
  };
  for (const char* controller : {"uncore_imc_0", "uncore_imc_1"}) {
    const std::string folder = controller;
    write(folder + "/type", folder.ends_with('0') ? "40" : "41");
    write(folder + "/cpumask", "0,28");
    write(folder + "/events/cas_count_read", "event=0x05,umask=0xcf");
    write(folder + "/events/cas_count_read.scale", "6.103515625e-5");
    write(folder + "/events/cas_count_read.unit", "MiB");
  }
  write("uncore_imc_free_running_0/type", "50");
  write("uncore_imc_free_running_0/events/data_read", "event=0xff,umask=0x20");
  write("uncore_imc_free_running_0/events/data_read.scale", "6.1e-5");
  write("uncore_imc_free_running_0/events/data_read.unit", "MiB");
  write("power/type", "12");
  write("power/cpumask", "0");
  write("power/events/energy-pkg", "event=0x02");
  write("power/events/energy-pkg.scale", "2.3283064365386962890625e-10");
  write("power/events/energy-pkg.unit", "Joules");
  write("power/events/energy-ram", "event=0x03");  // without a scale it is a count of nothing
  const auto events = machine_events(root.string());
  ASSERT_EQ(events.size(), 3U) << "the free-running counters are the same bytes again";
  EXPECT_EQ(events[0].name, "dram_bytes_read");
  EXPECT_EQ(events[0].type, 40);
  EXPECT_EQ(events[0].config, 0xcf05U);
  EXPECT_EQ(events[0].cpus, (std::vector<int>{0, 28}));
  EXPECT_DOUBLE_EQ(events[0].scale, 64);
  EXPECT_EQ(events[1].type, 41);
  EXPECT_EQ(events[2].name, "energy_package_j");
  EXPECT_DOUBLE_EQ(events[2].scale, 2.3283064365386962890625e-10);
  EXPECT_TRUE(machine_events((root / "nothing").string()).empty());
  EXPECT_TRUE(width_events("vendor_id : AuthenticAMD\ncpu family : 25\nmodel : 17\n").empty());
}

// Whatever this machine allows: a count that can be, or a reason.
TEST(CpuCounters, OfThisMachineAreCountsOrReasons) {
  CpuCounters counters;
  counters.begin();
  volatile double sum = 0;
  for (int i = 0; i < 1'000'000; ++i) sum = sum + i;
  const CpuCounts counts = counters.end();
  EXPECT_EQ(counts.counts.size() + counts.missing.size(), 6 + width_event_names().size() + machine_event_names().size());
  for (const auto& [name, why] : counts.missing) fmt::print("not available here: {}: {}\n", name, why);
  const auto found = counts.counts.find("instructions");
  EXPECT_TRUE(found == counts.counts.end() || found->second > 2e6);
}

}  // namespace
}  // namespace deepgap
