#include "telemetry/environment.h"

#include "telemetry/fake_root.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace deepgap {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string text(const Facts& facts, const std::string& key) {
  const auto found = facts.find(key);
  if (found == facts.end()) return "(no such key)";
  const auto* value = std::get_if<std::string>(&found->second);
  return value == nullptr ? "(no text)" : *value;
}

TEST(Environment, ReadsAFakeMachine) {
  FakeRoot fake;
  fake.with("/proc/cpuinfo", fake_cpuinfo).with("/etc/os-release", "NAME=x\nPRETTY_NAME=\"Example Linux 1\"\n");
  fake.with("/proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 400 kB\nSwapTotal: 100 kB\nSwapFree: 30 kB\n");
  fake.with("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n");
  fake.with("/sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "performance\n");
  fake.with("/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n").with("/sys/devices/system/cpu/smt/active", "1\n");
  fake.with("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n").with("/proc/self/cgroup", "0::/\n");
  fake.with("/var/lib/dpkg/status",
            "Package: a\nVersion: 1\n\nPackage: libgomp1\nStatus: x\nVersion: 12.2.0-14\n\nPackage: z\nVersion: 9\n");
  const Facts facts = capture_environment(fake.path());
  EXPECT_EQ(text(facts, "cpu.model"), "Example CPU @ 2.10GHz");
  EXPECT_EQ(text(facts, "cpu.flags"), "sse4_2 avx avx2 avx512f amx_tile");
  EXPECT_EQ(std::get<int64_t>(facts.at("cpu.family")), 6);
  EXPECT_EQ(std::get<int64_t>(facts.at("cpu.model_number")), 207);
  EXPECT_EQ(text(facts, "cpu.hypervisor"), "none");
  EXPECT_EQ(text(facts, "cpu.governor"), "performance, powersave");
  EXPECT_EQ(std::get<bool>(facts.at("cpu.turbo")), true);
  EXPECT_EQ(std::get<bool>(facts.at("cpu.smt")), true);
  EXPECT_EQ(std::get<int64_t>(facts.at("memory.total_bytes")), 1'024'000);
  EXPECT_EQ(std::get<int64_t>(facts.at("memory.swap_used_bytes")), 70 * 1024);
  EXPECT_EQ(text(facts, "memory.transparent_hugepages"), "madvise");
  EXPECT_EQ(text(facts, "cgroup.cpu_quota"), "none");
  EXPECT_EQ(text(facts, "os.name"), "Example Linux 1");
  EXPECT_EQ(text(facts, "library.libgomp"), "12.2.0-14");
}

// The same keys whatever is missing, each with a reason.
TEST(Environment, AnEmptyMachineIsAllReasons) {
  FakeRoot fake;
  const Facts facts = capture_environment(fake.path());
  for (const auto& [key, fact] : facts) {
    if (key == "library.glibc") continue;
    EXPECT_THAT(text(facts, key), StartsWith("not available: ")) << key;
  }
  for (const auto& [key, fact] : capture_environment()) EXPECT_EQ(facts.count(key), 1u) << key;
}

TEST(Environment, ThisMachineKnowsItself) {
  const Facts facts = capture_environment();
  EXPECT_GE(std::get<int64_t>(facts.at("cpu.cores")), 1);
  EXPECT_GE(std::get<int64_t>(facts.at("cpu.threads")), static_cast<int64_t>(allowed_cpus().size()));
  EXPECT_GT(std::get<int64_t>(facts.at("memory.total_bytes")), 0);
  EXPECT_THAT(text(facts, "os.kernel"), testing::Not(StartsWith("not available")));
}

Advice about(const std::vector<Advice>& advice, const std::string& subject) {
  const auto found = std::find_if(advice.begin(), advice.end(), [&](const Advice& a) { return a.subject == subject; });
  return found == advice.end() ? Advice{Advice::Level::ok, "", "(none)", ""} : *found;
}

TEST(Examine, WorstFirstAndEveryFaultHasARemedy) {
  FakeRoot fake;
  const Facts facts{{"cpu.governor", std::string("powersave")},
                    {"cpu.turbo", true},
                    {"cgroup.cpu_quota", 1.5},
                    {"memory.total_bytes", int64_t{1000}},
                    {"memory.available_bytes", int64_t{50}},
                    {"memory.swap_used_bytes", int64_t{4096}},
                    {"cpu.hypervisor", std::string("KVMKVMKVM")},
                    {"cpu.threads_per_core", int64_t{2}},
                    {"cpu.cores", int64_t{8}}};
  const auto advice = examine_machine(facts, fake.path());
  EXPECT_TRUE(std::is_sorted(advice.begin(), advice.end(), [](auto& a, auto& b) { return a.level > b.level; }));
  for (const Advice& a : advice) {
    EXPECT_FALSE(a.finding.empty()) << a.subject;
    EXPECT_EQ(a.remedy.empty(), a.level <= Advice::Level::unknown) << a.subject;
  }
  EXPECT_EQ(about(advice, "governor").level, Advice::Level::warning);
  EXPECT_EQ(about(advice, "CPU quota").level, Advice::Level::warning);
  EXPECT_EQ(about(advice, "memory").level, Advice::Level::warning);
  EXPECT_EQ(about(advice, "turbo").level, Advice::Level::note);
  EXPECT_EQ(about(advice, "swap").level, Advice::Level::note);
  EXPECT_EQ(about(advice, "virtual machine").level, Advice::Level::note);
  EXPECT_THAT(about(advice, "threads per core").remedy, HasSubstr("--threads 8"));
  EXPECT_EQ(about(advice, "other processes").level, Advice::Level::note) << "not seen is not quiet";
}

TEST(Examine, AQuietTunedMachineIsFine) {
  FakeRoot fake;
  const Facts facts{{"cpu.governor", std::string("performance")},
                    {"cpu.frequency_driver", std::string("intel_pstate")},
                    {"cpu.turbo", false},
                    {"cgroup.cpu_quota", std::string("none")},
                    {"cgroup.memory_limit_bytes", std::string("none")},
                    {"cpu.hypervisor", std::string("none")},
                    {"memory.total_bytes", int64_t{1000}},
                    {"memory.available_bytes", int64_t{900}},
                    {"memory.swap_used_bytes", int64_t{0}},
                    {"cpu.threads_per_core", int64_t{1}},
                    {"cpu.cores", int64_t{8}}};
  for (const Advice& a : examine_machine(facts, fake.path())) {
    if (a.subject == "other processes" || a.subject == "threads") continue;  // these describe this machine, not the fake one
    const bool unseen = a.subject == "steal" || a.subject == "huge pages";   // the fake machine says nothing of them
    EXPECT_EQ(a.level, unseen ? Advice::Level::unknown : Advice::Level::ok) << a.subject << ": " << a.finding;
  }
}

}  // namespace
}  // namespace deepgap
