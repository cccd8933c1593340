#include "run/first_look.h"

#include "record/tenant_set.h"
#include "worker/run_rules.h"

#include <algorithm>
#include <utility>

namespace deepgap {
namespace {

constexpr size_t most_points = 12;

bool is_open_in_length(const Job& job) {
  return job.repeat == 0 && job.stopping.name == "interval" && !tenant_place(job.point) && rules_of(job.point) == nullptr;
}

}  // namespace

FirstLooks first_looks(const std::vector<Job>& runnable, std::chrono::nanoseconds length) {
  std::vector<Job> open;
  std::copy_if(runnable.begin(), runnable.end(), std::back_inserter(open), is_open_in_length);
  FirstLooks looks;
  looks.points = open.size();
  const size_t count = std::min(open.size(), most_points);
  if (count == 0) return looks;
  looks.window = std::clamp<Nanoseconds>(length.count() / static_cast<Nanoseconds>(4 * count), 50'000'000, 500'000'000);
  for (size_t i = 0; i < count; ++i) {
    Job look = open[i * open.size() / count];
    look.check = false;
    look.interleave = false;
    look.stopping.name = "duration";
    look.stopping.duration = looks.window;
    look.stopping.warmup_budget = looks.window;
    looks.jobs.push_back(std::move(look));
  }
  return looks;
}

void take_first_looks(const FirstLooks& looks, const InspectedPlan& plan, uint64_t seed, std::chrono::nanoseconds length,
                      Supervisor& supervisor, const Interrupts& interrupts, TimeEstimate& estimate,
                      const std::function<void(const Record&)>& see) {
  using SteadyClock = std::chrono::steady_clock;
  const auto planner = make_grid_planner(looks.jobs, seed, [&](const Job& job) { return group_key(job, plan); }, {});
  const auto end = SteadyClock::now() + length;
  while (interrupts.count() == 0 && SteadyClock::now() < end) {
    const Batch batch = planner->next();
    if (batch.jobs.empty()) break;
    auto begin = SteadyClock::now();
    supervisor.serve(batch, [&](const Job& job, Record&& record) {
      const auto now = SteadyClock::now();
      estimate.saw(job.point_id, record, std::chrono::duration<double>(now - begin).count());
      begin = now;
      if (record.outcome == Outcome::ok) see(record);
    });
  }
}

}  // namespace deepgap
