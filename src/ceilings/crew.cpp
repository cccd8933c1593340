#include "ceilings/crew.h"

#include <sched.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <thread>

namespace deepgap {
namespace {

using Moment = std::chrono::steady_clock::time_point;

void stay_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

std::vector<double> run_together(const std::vector<int>& cpus, int rounds, const std::function<void(size_t)>& work) {
  struct alignas(64) Span {
    Moment begin, end;
  };
  const auto count = static_cast<size_t>(rounds);
  std::vector<std::vector<Span>> spans(cpus.size(), std::vector<Span>(count));
  std::barrier together(static_cast<std::ptrdiff_t>(cpus.size()));
  {
    std::vector<std::jthread> crew;
    for (size_t i = 0; i < cpus.size(); ++i)
      crew.emplace_back([&, i] {
        stay_on(cpus[i]);
        for (size_t round = 0; round < count; ++round) {
          together.arrive_and_wait();
          spans[i][round].begin = std::chrono::steady_clock::now();
          work(i);
          spans[i][round].end = std::chrono::steady_clock::now();
        }
      });
  }
  std::vector<double> seconds;
  for (size_t round = 0; round < count; ++round) {
    Moment begin = Moment::max(), end = Moment::min();
    for (const auto& own : spans) {
      begin = std::min(begin, own[round].begin);
      end = std::max(end, own[round].end);
    }
    seconds.push_back(std::chrono::duration<double>(end - begin).count());
  }
  return seconds;
}

}  // namespace deepgap
