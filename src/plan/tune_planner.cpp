#include "plan/tune_planner.h"

#include "plan/point_fields.h"

#include "record/record_json.h"
#include "record/search_marks.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

std::unique_ptr<TuneSearch> make_search(size_t configurations, const TuneOrder& order) {
  TuneSettings settings;
  settings.configurations = configurations;
  settings.finalists = order.finalists;
  settings.seed = order.seed;
  return order.peak ? make_peak_race(settings, order.peak->settings) : make_throughput_race(settings);
}

TuneRun run_of(const Record& record, const TuneOrder& order) {
  TuneRun run;
  run.failed = record.outcome != Outcome::ok;
  if (run.failed) return run;
  if (order.peak) run.peak = peak_run_of(record, *order.peak);
  const auto throughput = record.estimates.find("throughput");
  if (throughput == record.estimates.end()) return run;
  run.throughput = throughput->second.value;
  if (throughput->second.low && throughput->second.high)
    run.throughput_interval = Interval{*throughput->second.low, *throughput->second.high};
  return run;
}

}  // namespace

TunePlanner::TunePlanner(std::vector<Job> candidates, TuneOrder order, SearchRun run)
    : candidates_(std::move(candidates)),
      order_(std::move(order)),
      run_(std::move(run)),
      search_(make_search(candidates_.size(), order_)),
      tried_(candidates_.size()) {}

Batch TunePlanner::next() {
  while (const auto trial = search_->next(run_.time_used())) {
    trial_ = *trial;
    const Job job = job_of(trial_);
    run_.announce(candidates_[trial_.configuration], job);
    const auto record = run_.known(job);
    if (!record) return {run_.group_key(job), {job}};
    done(*record);
  }
  finished_ = true;
  return {};
}

Job TunePlanner::job_of(const TuneTrial& trial) const {
  Job job = candidates_[trial.configuration];
  set_on_point(job.point, tuning_mark, name_of(trial.stage), 1);
  if (order_.peak) set_peak_run(job, *order_.peak, *trial.load, trial.phase);
  job.point_id = point_id(job.point);
  job.repeat = trial.number;
  return job;
}

void TunePlanner::done(const Record& record) {
  if (record.outcome == Outcome::interrupted) return;
  tried_[trial_.configuration] = true;
  if (record.outcome != Outcome::ok) {
    reason_ = fmt::format("{}: {}", name_of(record.outcome), record.reason);
  } else if (record.verdict == Verdict::invalid || record.verdict == Verdict::undecided) {
    reason_ = record.reason;
  }
  search_->add(trial_, run_of(record, order_));
}

TuneResult TunePlanner::tuned() const {
  TuneResult result;
  result.configurations = candidates_.size();
  result.tried = static_cast<size_t>(std::count(tried_.begin(), tried_.end(), true));
  result.reason = reason_;
  for (const TuneStanding& standing : search_->standings()) {
    Point point = without_search_marks(candidates_[standing.configuration].point);
    if (order_.peak) set_on_point(point, order_.peak->axis.name, load_text(standing.value), 1);
    result.finalists.push_back({std::move(point), standing});
  }
  return result;
}

}  // namespace deepgap
