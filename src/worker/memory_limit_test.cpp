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

TEST(MemoryLimit, LargeInputsAreSeenByTheirDeclaredSizes) {
  const std::vector<TensorInfo> inputs{{"x", DataType::f32, Dims{{1, ""}, {1000, ""}}}, {"open", DataType::i64, Dims{{1, "N"}}}};
  EXPECT_EQ(sample_bytes(inputs), 4008);
  EXPECT_EQ(lack_of_memory(inputs, 4, 1, 5 * 4008), "");
  EXPECT_EQ(lack_of_memory(inputs, 4, 1, std::nullopt), "");
  EXPECT_EQ(lack_of_memory(inputs, 4, 1, 5 * 4008 - 1).find("memory does not suffice: 4 samples of 3.9 KiB and a batch of 1 need 19.6 KiB"),
            0U)
      << lack_of_memory(inputs, 4, 1, 5 * 4008 - 1);
  const int64_t most = int64_t{1} << 62;
  EXPECT_NE(lack_of_memory({{"x", DataType::f32, Dims{{most, ""}, {most, ""}}}}, 4, 1, UINT64_MAX), "") << "no product overflows";
}

}  // namespace
}  // namespace deepgap
