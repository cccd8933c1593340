#include "telemetry/affinity.h"

#include "base/text.h"
#include "telemetry/cgroup.h"
#include "telemetry/environment.h"
#include "telemetry/system_file.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <thread>

namespace deepgap {
namespace {

// The number of CPUs that the kernel may have, not glibc's 1024.
constexpr int most_cpus = 65'536;

struct FreeSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

std::vector<int> mask_of(pid_t thread) {
  const size_t size = CPU_ALLOC_SIZE(most_cpus);
  const std::unique_ptr<cpu_set_t, FreeSet> set(CPU_ALLOC(most_cpus));
  CPU_ZERO_S(size, set.get());
  std::vector<int> cpus;
  if (::sched_getaffinity(thread, size, set.get()) != 0) return cpus;
  // Ends with the last one that is in the set: telemetry asks ten times a second, and 65,536 looks take a tenth of a millisecond.
  auto left = static_cast<size_t>(CPU_COUNT_S(size, set.get()));
  for (int cpu = 0; left > 0 && cpu < most_cpus; ++cpu) {
    if (!CPU_ISSET_S(cpu, size, set.get())) continue;
    cpus.push_back(cpu);
    --left;
  }
  return cpus;
}

const std::vector<int> at_start = mask_of(0);

// One CPU of every core before the second of any, so that a quota of n CPUs gets n cores where there are as many.
std::vector<int> cores_first(const SystemRoot& root, const std::vector<int>& cpus) {
  std::set<std::string> seen;
  std::vector<int> first, rest;
  for (const int cpu : cpus) {
    const std::string siblings = root.text(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
    (siblings.empty() || seen.insert(siblings).second ? first : rest).push_back(cpu);
  }
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

std::vector<int> given_cpus(const SystemRoot& root) {
  if (root.is_real()) return initial_cpus();
  return parse_cpu_list(value_of_key(root.text("/proc/self/status"), "Cpus_allowed_list")).value_or(std::vector<int>{});
}

}  // namespace

const std::vector<int>& initial_cpus() {
  static const std::vector<int> cpus = at_start.empty() ? mask_of(0) : at_start;
  return cpus;
}

std::vector<int> measured_cpus() { return mask_of(::getpid()); }

std::vector<int> allowed_cpus(const std::string& root_path) {
  const SystemRoot root(root_path);
  std::vector<int> cpus = given_cpus(root);
  if (cpus.empty()) {  // a kernel that does not say: all there are
    for (unsigned cpu = 0; cpu < std::max(1U, std::thread::hardware_concurrency()); ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  const auto quota = read_cgroup_limits(root).cpu_quota;
  if (quota && std::ceil(*quota) < static_cast<double>(cpus.size())) {
    cpus = cores_first(root, cpus);
    cpus.resize(std::max<size_t>(1, static_cast<size_t>(std::ceil(*quota))));
    std::sort(cpus.begin(), cpus.end());
  }
  return cpus;
}

void pin_thread(const std::vector<int>& cpus) {
  const size_t size = CPU_ALLOC_SIZE(most_cpus);
  const std::unique_ptr<cpu_set_t, FreeSet> set(CPU_ALLOC(most_cpus));
  CPU_ZERO_S(size, set.get());
  for (const int cpu : cpus) {
    if (cpu < 0 || cpu >= most_cpus) throw Error(ErrorKind::internal, fmt::format("cannot pin to CPU {}: it does not exist", cpu));
    CPU_SET_S(cpu, size, set.get());
  }
  if (::sched_setaffinity(0, size, set.get()) != 0) {
    throw Error(ErrorKind::internal, fmt::format("cannot pin to CPUs {}: {}", fmt::join(cpus, ","), std::strerror(errno)));
  }
}

}  // namespace deepgap
