#include "kernels/cpu_counters.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cerrno>
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

// Whatever this machine allows: a count that can be, or a reason.
TEST(CpuCounters, OfThisMachineAreCountsOrReasons) {
  CpuCounters counters;
  counters.begin();
  volatile double sum = 0;
  for (int i = 0; i < 1'000'000; ++i) sum = sum + i;
  const CpuCounts counts = counters.end();
  EXPECT_EQ(counts.counts.size() + counts.missing.size(), 6U);
  for (const auto& [name, why] : counts.missing) fmt::print("not available here: {}: {}\n", name, why);
  const auto found = counts.counts.find("instructions");
  EXPECT_TRUE(found == counts.counts.end() || found->second > 2e6);
}

}  // namespace
}  // namespace deepgap
