#include "run/run_planner.h"

#include "plan/auto_repeats.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace deepgap {
namespace {

// Returns the share of --budget that is used. It counts the time of each run's own clock, so that a busy machine changes nothing in
// virtual time.
std::function<double()> time_used(const RunContext& run) {
  return [&run, begin = std::chrono::steady_clock::now()] {
    if (!run.settings.search_time) return 0.0;
    const double spent_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() + run.virtual_ahead_s;
    return spent_s / std::chrono::duration<double>(*run.settings.search_time).count();
  };
}

std::unique_ptr<Planner> as_many_as_needed(RunContext& run, std::unique_ptr<Planner> grid, const std::vector<Record>& before) {
  run.progress.begin(0);
  run.left.wait_for_unknown();
  auto planner = std::make_unique<AutoRepeats>(std::move(grid), [used = time_used(run)] { return used() >= 1; });
  for (const Record& record : before) planner->done(record);
  return planner;
}

// A Point of a search differs from the one that the search began from in its load alone, so the inspection of that one holds for it.
SearchRun search_run(RunContext& run, const EarlierWork& earlier) {
  const auto key = [&run](const Job& job) { return group_key(job, run.plan); };
  const auto announce = [&run](const Job& from, const Job& job) {
    run.plan.points.emplace(job.point_id, InspectedPoint(run.plan.of(from)));
    run.plan.jobs.push_back(job);
  };
  return {key, time_used(run), announce, earlier.known};
}

}  // namespace

std::unique_ptr<Planner> make_run_planner(RunContext& run, std::vector<Job> runnable, const EarlierWork& earlier) {
  if (!run.searches()) {
    const auto key = [&run](const Job& job) { return group_key(job, run.plan); };
    auto grid = make_grid_planner(std::move(runnable), run.study.seed, key, earlier.finished);
    return run.settings.auto_repeats ? as_many_as_needed(run, std::move(grid), earlier.before) : std::move(grid);
  }
  run.left.wait_for_unknown(std::max<size_t>(runnable.size(), 1));
  std::erase_if(run.plan.jobs, [&](const Job& job) { return run.runs(job); });
  run.progress.begin(0);
  SearchRun search = search_run(run, earlier);
  if (run.settings.tune) return std::make_unique<TunePlanner>(std::move(runnable), *run.settings.tune, std::move(search));
  PeakOrder order = *run.settings.peak;
  order.searches = std::max(1, static_cast<int>(runnable.size()));
  return std::make_unique<PeakPlanner>(std::move(runnable), order, std::move(search));
}

}  // namespace deepgap
