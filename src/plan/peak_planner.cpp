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

// Returns the budget of one search into which its windows have to fit; 0: they need not.
Nanoseconds budget_of_windows(const PeakOrder& order) { return order.own_window ? 0 : order.budget / order.searches; }

// Near saturation a queue takes seconds to become as long as it usually is, so that too few queries are late in a window that is short.
Nanoseconds refining_window(Nanoseconds full, const PeakOrder& order) {
  return order.own_window || budget_of_windows(order) > 0 ? full : 2 * full;
}

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
  const Nanoseconds long_enough = phase == PeakPhase::refine ? refining_window(full, order) : full;
  job.stopping.duration = is_short ? search_window(full, order, load) : long_enough;
}

namespace {

constexpr int fewest_confirming = 3;  // that all hold: PeakSettings::least_confidence
constexpr Nanoseconds shortest_window = 1'000'000'000;
constexpr double far_more = 20;
constexpr double barely_more = 1.5;  // since arrivals are random

// Returns the window in which `load` queries a second bring so many times more than a verdict takes.
Nanoseconds window_of(double times_more, Nanoseconds most, const PeakOrder& order, double load) {
  return static_cast<Nanoseconds>(std::min(times_more * static_cast<double>(order.decided_by) / load * 1e9, static_cast<double>(most)));
}

bool is_decided_by_rate(const PeakOrder& order) {
  return order.axis.name == "rate" && order.decided_by > 0;
}  // else the count is not known

}  // namespace

// A search makes some 35 runs, a third of them to their end, and begins each with a lead and a process. Loops whose queries wait for
// answers go on by themselves until they have enough.
Nanoseconds full_window(Nanoseconds whole, const PeakOrder& order, double load) {
  constexpr int64_t windows_in_budget = 60, fewer_windows = 30;
  const Nanoseconds budget = budget_of_windows(order);
  if (budget == 0) return whole;
  const Nanoseconds least = std::max(shortest_window, budget / windows_in_budget);
  if (!is_decided_by_rate(order)) return std::min(whole, least);
  const Nanoseconds many = std::min(window_of(far_more, whole, order, load), budget / fewer_windows);
  return std::min(whole, std::max({least, many, window_of(barely_more, whole, order, load)}));
}

Nanoseconds search_window(Nanoseconds full, const PeakOrder& order, double load) {
  if (!is_decided_by_rate(order)) return budget_of_windows(order) == 0 ? full : std::min(full, std::max(shortest_window, full / 5));
  return std::min(full, std::max({shortest_window, full / 5, window_of(far_more, full, order, load)}));
}

Nanoseconds least_peak_budget(const PeakOrder& order, Nanoseconds window) {
  constexpr double with_lead = 1.2, some_load = 1e12;
  const Nanoseconds full = full_window(window, order, some_load), look = search_window(full, order, some_load);
  const auto runs = static_cast<double>(2 * look + fewest_confirming * full);
  return static_cast<Nanoseconds>(with_lead * runs * order.searches);
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
    const double used = run_.time_used();
    note_time(used);
    if (search_ == nullptr) {
      search_ = std::make_unique<PeakSearch>(order_.settings);
      runs_ = 0;
      tried_.clear();
      search_ends_ = used + (1 - used) / static_cast<double>(remaining());
    }
    const Job job = job_at(search_->load());
    run_.announce(searched_[found_.size()], job);
    if (const auto record = run_.known(job)) {
      done(*record);
      continue;
    }
    const double load = search_->load();
    if (used >= 1 || !settle_in_time(used)) {
      const std::string budget = budget_that_would_do();
      search_->give_up();
      const bool answers = search_->result().ending == PeakResult::Ending::confirmed;
      finish((used >= 1 || answers ? "the time allowed was over" : "the time left is too short to confirm a load") + budget);
    } else if (search_->load() == load && job.peak_phase == name_of(search_->phase())) {
      last_run_ = TimedRun{!costs_.known() || !ends_early(search_->phase())};
      last_run_->asked_s = static_cast<double>(job.stopping.duration.value_or(0)) / 1e9;
      used_before_ = used;
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

void PeakPlanner::note_time(double used) {
  if (!last_run_) return;
  last_run_->seconds = (used - used_before_) * static_cast<double>(order_.budget) / 1e9;
  costs_.add(*last_run_);
  last_run_.reset();
}

double PeakPlanner::left_s(double used) const { return (search_ends_ - used) * static_cast<double>(order_.budget) / 1e9; }

double PeakPlanner::confirming_s(double load) const {
  const auto& whole = searched_[found_.size()].stopping.duration;
  return costs_.confirming_s(whole ? static_cast<double>(full_window(*whole, order_, load)) / 1e9 : 0);
}

double PeakPlanner::looking_s(double load) const {
  const auto& whole = searched_[found_.size()].stopping.duration;
  return costs_.looking_s(whole ? static_cast<double>(search_window(full_window(*whole, order_, load), order_, load)) / 1e9 : 0);
}

// Predicts the runs still needed from what those so far took. A search that looks keeps the time of all confirming runs and of one more,
// which a miss may take; one that confirms takes larger steps down where the time suffices for one more candidate only.
bool PeakPlanner::settle_in_time(double used) {
  if (order_.budget == 0 || !costs_.known()) return true;
  const double left = left_s(used);
  const auto confirm = static_cast<double>(order_.settings.confirm);
  if (!ends_early(search_->phase())) {
    const PeakResult& result = search_->result();
    if (left < confirming_s(search_->load()) * std::max(1, search_->fewest_to_answer())) return false;
    if (left < confirming_s(result.load) * (confirm - result.runs + fewest_confirming)) search_->settle();
    return true;
  }
  const double low = search_->low(), next = search_->load(), after_next = left - looking_s(next);
  if (low <= 0) return after_next >= fewest_confirming * confirming_s(next);
  // Where no load missed yet, a bracket is worth more than the last of the confirming runs; and at higher loads windows are shorter.
  const bool upwards = search_->high() <= 0 && after_next >= fewest_confirming * confirming_s(low);
  if (!upwards && after_next < (confirm + 1) * confirming_s(low)) search_->settle();
  return left >= fewest_confirming * confirming_s(low);
}

// Returns what a search of usual length takes, by what each run took so far.
std::string PeakPlanner::budget_that_would_do() const {
  if (order_.budget == 0 || !costs_.known() || search_ == nullptr) return {};
  const double looks = usual_peak_runs - 2 * order_.settings.confirm;
  const bool none_held = search_->low() <= 0;
  const double load = none_held ? search_->load() : search_->low();
  const double each_s = looks * looking_s(load) + 2 * order_.settings.confirm * confirming_s(load);
  const double all_s = std::max(each_s * order_.searches, 1.5 * static_cast<double>(order_.budget) / 1e9);
  const std::string budget =
      all_s <= 120 ? fmt::format("{:.0f}s", 10 * std::ceil(all_s / 10)) : fmt::format("{:.0f}m", std::ceil(all_s / 60));
  return none_held ? fmt::format("; if the SLO can be met, --budget {} should do", budget) : fmt::format("; --budget {} should do", budget);
}

void PeakPlanner::done(const Record& record) {
  ++runs_;
  if (record.outcome != Outcome::ok) {
    search_->give_up();
    return finish(fmt::format("{}: {}", name_of(record.outcome), record.reason));
  }
  const PeakRun run = peak_run_of(record, order_);
  if (last_run_) {
    last_run_->held = run.held;
    for (const Window& window : record.windows)
      if (window.name == "steady") last_run_->window_s = static_cast<double>(window.end - window.begin) / 1e9;
  }
  if (!run.undecided) tried_[search_->load()].add(run.held);
  search_->add(run);
  if (search_->finished()) finish(search_->result().ending == PeakResult::Ending::confirmed ? std::string() : record.reason);
}

void PeakPlanner::finish(std::string reason) {
  const double used = run_.time_used();
  const PeakResult& result = search_->result();
  if (result.ending == PeakResult::Ending::confirmed && result.runs >= order_.settings.confirm) reason.clear();  // it says what is missing
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

// Returns whether the load above held in all its runs until time ended: the peak may then be there, or beyond.
bool may_be_higher(const PeakResult& result) {
  return result.above == 0 || (result.above_runs > 0 && result.above_held == result.above_runs);
}

// Describes what is known about loads above a confirmed one.
std::string above_text(const PeakResult& result, const PeakOrder& order) {
  if (result.above == 0) return "no larger load was tried: the time allowed was over";
  constexpr double rounding = 1e-4;  // loads have six digits
  const bool one_step = result.above <= result.load * (1 + order.settings.ratio) * (1 + rounding) + (order.settings.whole ? 1 : 0);
  const std::string where = one_step ? "one step" : percent_text(result.above / result.load - 1);
  const std::string above = fmt::format("{} above, {}, ", where, shown_load(result.above, order));
  const std::string why = one_step ? "" : ", and the time allowed was too short for a closer search";
  if (result.above_runs > 0)
    return fmt::format("{}{} of {} did{}{}", above, result.above_held, result.above_runs, why,
                       may_be_higher(result) ? ", then the time allowed was over" : "");
  if (result.above_missed) return above + "runs of the search did not" + why;
  return above + "was not run: the time allowed was over";
}

}  // namespace

std::string peak_text(const FoundPeak& found, const PeakOrder& order) {
  const PeakResult& result = found.result;
  const std::string load = fmt::format("{} {}", shown_load(result.load, order), order.axis.unit);
  switch (result.ending) {
    case PeakResult::Ending::confirmed:
      return fmt::format(
          "peak: {}{} meet {}: {} of {} runs did{} (with {:.0f} % confidence at least half of all do); {}{}{}",
          may_be_higher(result) ? "at least " : "", load, order.bound, result.held, result.runs,
          result.higher_runs == 0 ? "" : fmt::format(", and {} of {} somewhat above", result.higher_held, result.higher_runs),
          100 * result.confidence(), above_text(result, order), crossing_text(result), found.reason.empty() ? "" : "; " + found.reason);
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
