#include "plan/peak_planner.h"

#include "base/quantity.h"
#include "plan/point_fields.h"

#include "record/record_json.h"
#include "record/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

// Runs that only look for the load; those that confirm it or refine it go to their end.
bool ends_early(PeakPhase phase) { return phase == PeakPhase::bracket || phase == PeakPhase::bisect; }

}  // namespace

std::string load_text(double load) { return fmt::format("{:.6g}", load); }

// Shows four significant digits of a load that need not be whole.
std::string shown_load(double load, const PeakOrder& order) { return order.settings.whole ? load_text(load) : short_text(load, 4); }

// Confirming runs are a Point of their own: those that chose the load would speak for it. So are those that refine, of which none ends
// early.
void set_peak_run(Job& job, const PeakOrder& order, double load, PeakPhase phase) {
  set_on_point(job.point, order.axis.name, load_text(load), 1);
  const bool is_short = ends_early(phase);
  set_on_point(job.point, "peak", is_short ? "search" : name_of(phase), 1);
  job.peak_phase = name_of(phase);
  if (!job.stopping.duration) return;
  const Nanoseconds full = full_window(*job.stopping.duration, order, load);
  job.stopping.duration = is_short ? search_window(full, order, load) : full;
}

namespace {

constexpr Nanoseconds shortest_window = 1'000'000'000;
constexpr double far_more = 20;

// Returns the window in which `load` queries a second bring far more than a verdict takes.
Nanoseconds window_of_many(Nanoseconds most, const PeakOrder& order, double load) {
  return static_cast<Nanoseconds>(std::min(far_more * static_cast<double>(order.told_by) / load * 1e9, static_cast<double>(most)));
}

bool is_told_by_rate(const PeakOrder& order) { return order.axis.name == "rate" && order.told_by > 0; }  // else the count is not known

}  // namespace

// A search makes some 35 runs, a third of them to their end, and begins each with a lead and a process.
Nanoseconds full_window(Nanoseconds whole, const PeakOrder& order, double load) {
  constexpr int64_t windows_in_budget = 60;
  if (order.budget == 0 || !is_told_by_rate(order)) return whole;
  return std::min(whole, std::max({shortest_window, order.budget / windows_in_budget, window_of_many(whole, order, load)}));
}

Nanoseconds search_window(Nanoseconds whole, const PeakOrder& order, double load) {
  if (!is_told_by_rate(order)) return whole;
  return std::min(whole, std::max({shortest_window, whole / 5, window_of_many(whole, order, load)}));
}

PeakRun peak_run_of(const Record& record, const PeakOrder& order) {
  PeakRun run;
  run.held = is_sound(record.verdict) || record.verdict == Verdict::unstable;
  run.undecided = record.verdict == Verdict::undecided;
  if (const auto late = record.estimates.find("missed_share"); late != record.estimates.end()) {
    run.queries = static_cast<double>(late->second.n);
    run.late = std::round(late->second.value * run.queries);
  }
  const auto percentile = record.estimates.find(order.percentile_id);
  if (percentile != record.estimates.end() && percentile->second.low && percentile->second.high)
    run.percentile = Interval{*percentile->second.low / order.limit_ms, *percentile->second.high / order.limit_ms};
  return run;
}

PeakPlanner::PeakPlanner(std::vector<Job> searched, PeakOrder order, SearchRun run)
    : searched_(std::move(searched)), order_(std::move(order)), run_(std::move(run)) {}

Batch PeakPlanner::next() {
  while (found_.size() < searched_.size()) {
    if (search_ == nullptr) {
      search_ = std::make_unique<PeakSearch>(order_.settings);
      runs_ = 0;
      tried_.clear();
    }
    const Job job = job_at(search_->load());
    run_.announce(searched_[found_.size()], job);
    if (const auto record = run_.known(job)) {
      done(*record);
      continue;
    }
    const double used = run_.time_used();
    if (used >= 1) {
      search_->give_up();
      finish("the time allowed was over" + budget_that_would_do(used));
    } else if (must_settle(used)) {
      search_->settle();
    } else {
      ++timed_runs_;
      return {run_.group_key(job), {job}, ends_early(search_->phase())};
    }
  }
  return {};
}

Job PeakPlanner::job_at(double load) const {
  Job job = searched_[found_.size()];
  set_peak_run(job, order_, load, search_->phase());
  job.point_id = point_id(job.point);
  job.repeat = runs_;
  return job;
}

// Decides by what runs took so far, each that confirms somewhat more; and keeps one run in hand.
bool PeakPlanner::must_settle(double used) const {
  const bool looks = search_->phase() == PeakPhase::bracket || search_->phase() == PeakPhase::bisect;
  if (!looks || search_->low() <= 0 || timed_runs_ == 0) return false;
  constexpr double longer = 1.5;
  const double each = longer * used / timed_runs_;
  return used + each * (order_.settings.confirm + 1) >= 1;
}

// Returns what a search of usual length takes, by what each run took so far.
std::string PeakPlanner::budget_that_would_do(double used) const {
  if (order_.budget == 0 || timed_runs_ == 0) return {};
  const double each_s = used * static_cast<double>(order_.budget) / 1e9 / timed_runs_;
  const double all_s = each_s * usual_peak_runs * static_cast<double>(searched_.size());
  if (all_s <= 120) return fmt::format("; --budget {:.0f}s should do", 10 * std::ceil(all_s / 10));
  return fmt::format("; --budget {:.0f}m should do", std::ceil(all_s / 60));
}

void PeakPlanner::done(const Record& record) {
  ++runs_;
  if (record.outcome != Outcome::ok) {
    search_->give_up();
    return finish(fmt::format("{}: {}", name_of(record.outcome), record.reason));
  }
  const PeakRun run = peak_run_of(record, order_);
  if (!run.undecided) tried_[search_->load()].add(run.held);
  search_->add(run);
  if (search_->finished()) finish(search_->result().ending == PeakResult::Ending::confirmed ? std::string() : record.reason);
}

void PeakPlanner::finish(std::string reason) {
  const double used = run_.time_used();
  if (used > 1) reason += fmt::format("{}it took {:.0f} % of its budget", reason.empty() ? "" : "; ", 100 * used);
  Point point = searched_[found_.size()].point;
  point.options.erase(order_.axis.name);
  point.options.erase("peak");
  found_.push_back({std::move(point), search_->result(), std::move(reason)});
  if (search_->result().ending == PeakResult::Ending::gave_up) tell_best_so_far(found_.back().result);
  search_.reset();
}

// The search itself knows what it has settled: not a load of which it wanted another run, nor that a candidate was not run yet. But a user
// sees all runs in the table.
void PeakPlanner::tell_best_so_far(PeakResult& result) const {
  const auto best =
      std::find_if(tried_.rbegin(), tried_.rend(), [](const auto& tried) { return 2 * tried.second.held > tried.second.runs; });
  const LoadTally none, &tally = best == tried_.rend() ? none : best->second;
  result.load = best == tried_.rend() ? 0 : best->first;
  result.held = tally.held;
  result.runs = tally.runs;
}

namespace {

// Describes the load at which the SLO is just met in the long run, which is above what nearly all runs meet.
std::string crossing_text(const PeakResult& result) {
  std::string runs = fmt::format("; {} runs in all", result.all_runs);
  if (!result.crossing || !result.crossing->interval) return runs;
  const auto& [low, high] = *result.crossing->interval;
  return fmt::format("{}, by which it is just met at {} ({} to {})", runs, short_text(result.crossing->load, 4), short_text(low, 4),
                     short_text(high, 4));
}

// Describes what is known about loads above a confirmed one.
std::string above_text(const PeakResult& result, const PeakOrder& order) {
  if (result.above == 0) return "no larger load was tried: the time allowed was over";
  const std::string above = shown_load(result.above, order);
  if (result.above_runs > 0) return fmt::format("one step above, {}, {} of {} did", above, result.above_held, result.above_runs);
  const bool one_step = result.above <= result.load * (1 + order.settings.ratio) + (order.settings.whole ? 1 : 0);
  if (one_step) return fmt::format("one step above, {}, was not run: the time allowed was over", above);
  return fmt::format("{}, the next load that was tried, did not: the time allowed was too short for a closer search", above);
}

}  // namespace

std::string peak_text(const FoundPeak& found, const PeakOrder& order) {
  const PeakResult& result = found.result;
  const std::string load = fmt::format("{} {}", shown_load(result.load, order), order.axis.unit);
  switch (result.ending) {
    case PeakResult::Ending::confirmed:
      return fmt::format("peak: {}{} meet {}: {} of {} runs did (with {:.0f} % confidence at least half of all do); {}{}{}",
                         result.above == 0 ? "at least " : "", load, order.bound, result.held, result.runs, 100 * result.confidence(),
                         above_text(result, order), crossing_text(result), found.reason.empty() ? "" : "; " + found.reason);
    case PeakResult::Ending::not_held:
      return fmt::format("no peak: {} is not met even at the lowest load, {}: {}", order.bound, load, found.reason);
    case PeakResult::Ending::no_limit:
      return fmt::format("no peak: {} is still met at {}, the largest load that is tried", order.bound, load);
    case PeakResult::Ending::undecided:
      return fmt::format("no peak: not clear whether {} {} meet {}: {}{}", shown_load(result.untold, order), order.axis.unit, order.bound,
                         found.reason, result.load == 0 ? "" : fmt::format("; {} did", load));
    default:
      if (result.load == 0) return fmt::format("no peak: no load was found that meets {}: {}", order.bound, found.reason);
      return fmt::format("peak not confirmed: {} met {} so far, in {} of {} runs; the search ended early{}", load, order.bound, result.held,
                         result.runs, found.reason.empty() ? "" : ": " + found.reason);
  }
}

}  // namespace deepgap
