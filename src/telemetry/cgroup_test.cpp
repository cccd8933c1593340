#include "telemetry/cgroup.h"

#include "telemetry/environment.h"
#include "telemetry/fake_root.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap {
namespace {

CgroupLimits limits_of(const FakeRoot& fake) { return read_cgroup_limits(SystemRoot(fake.path())); }

TEST(Cgroup, VersionTwo) {
  FakeRoot fake;
  fake.with("/proc/self/cgroup", "0::/a/b\n").with("/sys/fs/cgroup/a/b/cpu.max", "150000 100000\n");
  fake.with("/sys/fs/cgroup/a/b/memory.max", "max\n").with("/sys/fs/cgroup/a/memory.max", "1073741824\n");
  const auto limits = limits_of(fake);
  EXPECT_EQ(limits.version, "2");
  EXPECT_DOUBLE_EQ(limits.cpu_quota.value(), 1.5);
  EXPECT_EQ(limits.memory_bytes, int64_t{1} << 30) << "the limit of an ancestor holds";
}

TEST(Cgroup, TheTightestAncestorHolds) {
  FakeRoot fake;
  fake.with("/proc/self/cgroup", "0::/a/b\n").with("/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
  fake.with("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
  EXPECT_DOUBLE_EQ(limits_of(fake).cpu_quota.value(), 2);
}

TEST(Cgroup, VersionOne) {
  FakeRoot fake;
  fake.with("/proc/self/cgroup", "5:memory:/job\n4:cpu,cpuacct:/job\n1:name=systemd:/\n");
  fake.with("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "250000").with("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000");
  fake.with("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1").with("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  fake.with("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712");
  const auto limits = limits_of(fake);
  EXPECT_EQ(limits.version, "1");
  EXPECT_DOUBLE_EQ(limits.cpu_quota.value(), 2.5);
  EXPECT_FALSE(limits.memory_bytes) << "that number means no limit";
}

TEST(Cgroup, APathOfTheHostFallsBackToTheMount) {
  FakeRoot fake;
  fake.with("/proc/self/cgroup", "0::/docker/0123\n").with("/sys/fs/cgroup/cpu.max", "100000 100000\n");
  EXPECT_DOUBLE_EQ(limits_of(fake).cpu_quota.value(), 1);
}

TEST(Cgroup, NothingOrNonsenseIsNoLimit) {
  FakeRoot fake;
  EXPECT_EQ(limits_of(fake).version, "");
  fake.with("/proc/self/cgroup", "rubbish\n0::/x\n").with("/sys/fs/cgroup/x/cpu.max", "max 100000\n");
  EXPECT_FALSE(limits_of(fake).cpu_quota);
  fake.with("/sys/fs/cgroup/x/cpu.max", "1 0\n").with("/sys/fs/cgroup/x/memory.max", "much\n");
  EXPECT_FALSE(limits_of(fake).cpu_quota);
  EXPECT_FALSE(limits_of(fake).memory_bytes);
}

TEST(AllowedCpus, MaskCutDownToTheQuota) {
  FakeRoot fake;
  fake.with("/proc/self/status", "Name:\tx\nCpus_allowed_list:\t2-7\n");
  EXPECT_EQ(allowed_cpus(fake.path()), (std::vector<int>{2, 3, 4, 5, 6, 7}));
  fake.with("/proc/self/cgroup", "0::/\n").with("/sys/fs/cgroup/cpu.max", "250000 100000\n");
  EXPECT_EQ(allowed_cpus(fake.path()), (std::vector<int>{2, 3, 4})) << "2.5 CPUs of time keep three busy";
}

TEST(AllowedCpus, AQuotaTakesCoresBeforeTheirSecondThreads) {
  FakeRoot fake;
  fake.with("/proc/self/status", "Cpus_allowed_list:\t0-3\n").with("/proc/self/cgroup", "0::/\n");
  fake.with("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  for (const int cpu : {0, 1}) fake.with("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list", "0-1\n");
  for (const int cpu : {2, 3}) fake.with("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list", "2-3\n");
  EXPECT_EQ(allowed_cpus(fake.path()), (std::vector<int>{0, 2}));
}

TEST(AllowedCpus, AtLeastOneWhateverIsBroken) {
  FakeRoot fake;
  EXPECT_GE(allowed_cpus(fake.path()).size(), 1u);
  fake.with("/proc/self/status", "Cpus_allowed_list:\tnonsense\n").with("/proc/self/cgroup", "0::/\n");
  fake.with("/sys/fs/cgroup/cpu.max", "1000 100000\n");
  EXPECT_EQ(allowed_cpus(fake.path()).size(), 1u);
}

TEST(Pinning, StaysOnWhatWasGivenAndDoesNotChangeTheAnswer) {
  const auto before = allowed_cpus();
  ASSERT_FALSE(before.empty());
  pin_thread({before.front()});
  EXPECT_EQ(allowed_cpus(), before);
  pin_thread(before);
  EXPECT_THROW(pin_thread({-1}), Error);
  EXPECT_THROW(pin_thread({60'000}), Error) << "no such CPU here";
}

}  // namespace
}  // namespace deepgap
