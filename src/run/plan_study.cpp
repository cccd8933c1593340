// What `deepgap run --dry-run` tells.
#include "record/record_json.h"
#include "run/inspected_plan.h"
#include "run/run_study.h"
#include "run/time_estimate.h"
#include "store/store.h"

#include <unistd.h>

#include <filesystem>
#include <set>

namespace deepgap {
namespace {

// What an existing Store says of the Plan; nothing where there is none.
struct Past {
  std::set<JobId> finished;
  std::map<std::string, double> seconds;
};

Past read_past(const RunSettings& settings) {
  Past past;
  std::error_code error;
  if (!std::filesystem::exists(settings.store_path, error)) return past;
  const Store store(settings.store_path, Store::Mode::read);
  if (settings.resume) past.finished = store.finished();
  store.each([&](Record&& record) {
    if (record.outcome == Outcome::ok) past.seconds[point_id(record.point)] = seconds_of(record);
  });
  return past;
}

}  // namespace

DryRun plan_study(const Study& study, const RunSettings& settings) {
  DryRun result;
  Interrupts interrupts;
  Progress progress(settings.progress, ::isatty(::fileno(settings.progress)) == 1);
  const InspectedPlan plan = inspect_plan(study, settings, interrupts, progress);
  result.interrupted = plan.interrupted;
  if (plan.interrupted) return result;
  Past past = read_past(settings);
  const TimeEstimate estimate(std::move(past.seconds), query_times(plan));
  std::map<std::string, size_t> index;
  for (const Job& job : plan.jobs) {
    const auto [found, added] = index.emplace(job.point_id, result.points.size());
    if (added) result.points.emplace_back();
    PlannedPoint& planned = result.points[found->second];
    planned.point = job.point;
    planned.point_id = job.point_id;
    const InspectedPoint& inspected = plan.of(job);
    planned.skipped = !job.skip_reason.empty();
    planned.refused = !planned.skipped && !inspected.supported;
    planned.reason = planned.skipped ? job.skip_reason : inspected.reason;
    ++planned.repeats;
    if (past.finished.count(id_of(job)) != 0) {
      ++planned.done_before;
    } else if (!planned.skipped && !planned.refused) {
      planned.seconds += estimate.seconds(job);
    }
  }
  for (const PlannedPoint& planned : result.points) result.seconds += planned.seconds;
  return result;
}

}  // namespace deepgap
