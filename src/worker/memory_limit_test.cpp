#include "worker/memory_limit.h"

#include "telemetry/fake_root.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

TEST(MemoryLimit, IsNineTenthsOfWhatIsAvailable) {
  FakeRoot fake;
  fake.with("/proc/meminfo", "MemTotal: 9000 kB\nMemAvailable: 1000 kB\n");
  EXPECT_EQ(memory_for_worker(SystemRoot(fake.path())), 921'600u);
}

TEST(MemoryLimit, ASmallerControlGroupHolds) {
  FakeRoot fake;
  fake.with("/proc/meminfo", "MemAvailable: 1000 kB\n").with("/proc/self/cgroup", "0::/a\n").with("/sys/fs/cgroup/a/memory.max", "1000\n");
  EXPECT_EQ(memory_for_worker(SystemRoot(fake.path())), 900u);
}

TEST(MemoryLimit, WithoutASourceThereIsNone) {
  FakeRoot fake;
  EXPECT_FALSE(memory_for_worker(SystemRoot(fake.path())));
  fake.with("/proc/meminfo", "MemAvailable: much\n");
  EXPECT_FALSE(memory_for_worker(SystemRoot(fake.path())));
}

}  // namespace
}  // namespace deepgap
