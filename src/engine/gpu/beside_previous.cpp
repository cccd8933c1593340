#include "engine/gpu/beside_previous.h"

#include <algorithm>

namespace deepgap::gpu {
namespace {

bool meet(const std::vector<BufferId>& some, const std::vector<BufferId>& others) {
  return std::any_of(some.begin(), some.end(), [&](BufferId id) { return std::find(others.begin(), others.end(), id) != others.end(); });
}

// Its text has the words of kernels/launch_order.cuh.
bool is_ordered(const Launch& launch) {
  const auto has = [&](const char* words) { return launch.source.find(words) != std::string::npos; };
  return !launch.library && launch.overlaps_previous && has("let_next_begin();") && has("wait_for_previous();");
}

// Returns how many multiprocessors the kernel's blocks would fill, by their threads or their shared memory.
double filled(const Launch& launch, const Chip& chip) {
  constexpr double most_threads = 2048;
  const double blocks = double{1} * launch.grid[0] * launch.grid[1] * launch.grid[2];
  const double threads = double{1} * launch.block[0] * launch.block[1] * launch.block[2];
  return blocks * std::max(threads / most_threads, static_cast<double>(launch.shared_bytes) / static_cast<double>(chip.shared_bytes));
}

// The kernel before waits at its begin: when it has, all that came before it has ended.
bool may_begin_beside(const Step& step, const Step& before, const Chip& chip) {
  if (before.beside_previous || step.launches.size() != 1 || before.launches.empty()) return false;
  if (!is_ordered(step.launches.front()) || !is_ordered(before.launches.back())) return false;
  if (filled(step.launches.front(), chip) + filled(before.launches.back(), chip) > chip.multiprocessors) return false;
  return !meet(step.reads, before.writes) && !meet(step.writes, before.reads) && !meet(step.writes, before.writes);
}

}  // namespace

void let_steps_begin_beside(GpuPlan& plan, const Chip& chip) {
  for (size_t i = 1; i < plan.steps.size(); ++i) {
    Step &step = plan.steps[i], &before = plan.steps[i - 1];
    if (!may_begin_beside(step, before, chip)) continue;
    step.beside_previous = true;
    step.launches.front().source.insert(0, "#define WAITS_AT_ITS_END\n");
    before.launches.back().source.insert(0, "#define NEXT_BEGINS_AFTER_WAIT\n");
  }
}

}  // namespace deepgap::gpu
