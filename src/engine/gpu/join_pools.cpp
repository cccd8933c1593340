#include "engine/gpu/join_pools.h"

#include "engine/gpu/stem.h"

#include <algorithm>

namespace deepgap::gpu {
namespace {

bool reads(const Step& step, BufferId id) { return std::find(step.reads.begin(), step.reads.end(), id) != step.reads.end(); }

// The only step that reads what step `i` makes, where it is a max-pool; else the plan's size.
size_t pool_behind(const GpuPlan& plan, size_t i) {
  const BufferId made = plan.steps[i].roles[role_target];
  size_t found = plan.steps.size();
  if (plan.buffers[static_cast<size_t>(made)].kind != Buffer::Kind::arena) return found;
  for (size_t reader = 0; reader < plan.steps.size(); ++reader) {
    if (!reads(plan.steps[reader], made)) continue;
    if (found != plan.steps.size() || !plan.steps[reader].pool) return plan.steps.size();
    found = reader;
  }
  return found;
}

bool scales_keep_order(const Choice& choice) {
  return std::all_of(choice.scale_bias.begin(), choice.scale_bias.begin() + choice.problem.out_pitch,
                     [](float scale) { return scale >= 0; });
}

}  // namespace

void join_pools(GpuPlan& plan, const Chip& chip) {
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    if (!plan.steps[i].choice || plan.steps[i].choice->problem.pool) continue;
    const size_t behind = pool_behind(plan, i);
    if (behind == plan.steps.size()) continue;
    const Step& pool = plan.steps[behind];
    Step& step = plan.steps[i];
    Convolution both = step.choice->problem;
    both.pool = pool.pool;
    if (!scales_keep_order(*step.choice) || pooled_stem_variants(both, chip).empty()) continue;
    const BufferId made = step.roles[role_target], target = pool.writes.at(0);
    step.choice->problem = both;
    step.name += "+" + pool.name;
    step.roles[role_target] = target;
    std::replace(step.writes.begin(), step.writes.end(), made, target);
    plan.steps.erase(plan.steps.begin() + static_cast<std::ptrdiff_t>(behind));
  }
}

}  // namespace deepgap::gpu
