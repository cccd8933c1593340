#include "engine/cpu/team.h"

#include <omp.h>

namespace deepgap {
namespace {

void stay_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);  // best effort: the CPU may have been taken away since
}

// A team's threads live on between regions, and new ones inherit the affinity of whoever made them: each remembers where it was put.
thread_local int pinned_cpu = -1;

}  // namespace

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

TeamScope::TeamScope(int threads, const std::vector<int>& cpus)
    : previous_threads_(omp_get_max_threads()), pinned_(static_cast<int>(cpus.size()) >= threads) {
  omp_set_num_threads(threads);
  if (!pinned_) return;
  sched_getaffinity(0, sizeof previous_, &previous_);
#pragma omp parallel num_threads(threads)
  {
    const int cpu = cpus[static_cast<size_t>(omp_get_thread_num())];
    if (pinned_cpu != cpu) stay_on(cpu);
    pinned_cpu = cpu;
  }
}

TeamScope::~TeamScope() {
  omp_set_num_threads(previous_threads_);
  if (!pinned_) return;
  sched_setaffinity(0, sizeof previous_, &previous_);
  pinned_cpu = -1;
}

}  // namespace deepgap
