// The plan that `deepgap run --dry-run` reports.
#include "base/file.h"
#include "base/hash.h"
#include "base/quantity.h"
#include "base/text.h"
#include "plan/auto_repeats.h"
#include "record/load_axis.h"
#include "record/record_json.h"
#include "run/child_process.h"
#include "run/finished_records.h"
#include "run/first_look.h"
#include "run/inspected_plan.h"
#include "run/past_searches.h"
#include "run/run_study.h"
#include "run/time_estimate.h"
#include "store/store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

namespace deepgap {
namespace {

// The part of the Plan that an existing Store knows; empty if there is no Store.
struct Past {
  std::set<JobId> finished;
  PastSearches searches;
  std::map<std::string, double> seconds;
};

Past read_past(const Study& study, const RunSettings& settings, const InspectedPlan& plan, Progress& progress) {
  Past past;
  std::error_code error;
  if (!std::filesystem::exists(settings.store_path, error)) return past;
  const Store store(settings.store_path, Store::Mode::read);
  if (settings.resume && settings.peak) {
    past.searches = read_past_searches(store, settings.own_study ? study.name : std::optional<std::string>());
  } else if (settings.resume) {
    std::set<JobId> planned;
    for (const Job& job : plan.jobs) planned.insert(id_of(job));
    past.finished = EarlierRecords(store, study, settings, plan, progress).finished(planned, [](Record&&) {}).jobs;
  }
  store.each([&](Record&& record) {
    if (record.outcome == Outcome::ok) past.seconds[point_id(record.point)] = seconds_of(record);
  });
  return past;
}

// Plays the search through what is known of it, up to the run that it would make next.
void plan_search(const Job& from, const PeakOrder& order, const PastSearches& past, const TimeEstimate& estimate, PlannedPoint& planned) {
  SearchRun run;
  run.group_key = [](const Job&) { return ""; };
  run.time_used = [] { return 0.0; };
  run.announce = [](const Job&, const Job&) {};
  run.known = [&](const Job& job) -> std::optional<Record> {
    const auto found = past.find(id_of(job));
    if (found == past.end() || found->second.stopping != job.stopping) return std::nullopt;
    ++planned.done_before;
    return found->second;
  };
  PeakPlanner planner({from}, order, run);
  const Batch next = planner.next();
  planned.repeats = planned.done_before;
  if (next.jobs.empty()) {
    planned.search = peak_text(planner.found().front(), order);
    return;
  }
  const int usual = std::max(usual_peak_runs - planned.done_before, 2 * order.settings.confirm);
  const int refining = order.settings.interval > 0 ? order.settings.most_refining : 0;
  const int most = order.settings.most_runs + refining - planned.done_before;
  const double one = estimate.seconds(from);
  const auto time = [](double seconds) { return format_duration(static_cast<int64_t>(seconds * 1e9)); };
  planned.repeats += usual;
  planned.seconds = usual * one;
  planned.search = fmt::format("searches from {} {} ({}); usually some {} runs, about {}; at most {}, {}",
                               short_text(load_of(next.jobs.front().point).value_or(0), 6), order.axis.unit, next.jobs.front().peak_phase,
                               usual, time(planned.seconds), most, time(most * one));
}

// Looks at what is not known from earlier runs, if a person waits for the answer.
void look(const Study& study, const RunSettings& settings, const InspectedPlan& plan, const Past& past, Interrupts& interrupts,
          Progress& progress, TimeEstimate& estimate) {
  std::vector<Job> open;
  for (const Job& job : plan.jobs) {
    const bool runs = job.skip_reason.empty() && plan.of(job).supported;
    if (runs && past.finished.count(id_of(job)) == 0 && !estimate.knows(job)) open.push_back(job);
  }
  const FirstLooks looks = first_looks(open, *settings.first_look);
  if (looks.jobs.empty()) return;
  progress.begin(looks.jobs.size());
  make_directories(settings.cache_dir);
  const SupervisorSettings of_looks{settings.timeout, random_id(), study.name, settings.cache_dir, "", true, false};
  ProcessHost host(interrupts);
  Supervisor supervisor(
      of_looks, host,
      [&](const Job& job, const std::string& phase, uint64_t done) {
        const std::string units = done > 0 ? units_text(done, unit_of_work(job.point)) : "";
        progress.under_way("first look: " + point_label(job.point), phase, units, {});
      },
      [](const Job&, Record&) {});
  take_first_looks(looks, plan, study.seed, *settings.first_look, supervisor, interrupts, estimate, [](const Record&) {});
}

}  // namespace

DryRun plan_study(const Study& study, const RunSettings& settings) {
  DryRun result;
  Interrupts interrupts;
  Progress progress(settings.progress, ::isatty(::fileno(settings.progress)) == 1, settings.words);
  const InspectedPlan plan = inspect_plan(study, settings, inspect_in_child, interrupts, progress);
  result.interrupted = plan.interrupted;
  if (plan.interrupted) return result;
  Past past = read_past(study, settings, plan, progress);
  TimeEstimate estimate(std::move(past.seconds), query_times(plan));
  if (settings.first_look && !settings.peak && !settings.tune) look(study, settings, plan, past, interrupts, progress, estimate);
  progress.clear();
  std::map<std::string, size_t> index;
  std::vector<const Job*> to_run;
  PeakOrder order = settings.peak.value_or(PeakOrder());
  const auto runs = [&](const Job& job) { return job.skip_reason.empty() && plan.of(job).supported; };
  order.searches = std::max(1, static_cast<int>(std::count_if(plan.jobs.begin(), plan.jobs.end(), runs)));
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
    if (settings.peak && !planned.skipped && !planned.refused) {
      plan_search(job, order, past.searches, estimate, planned);
    } else if (past.finished.count(id_of(job)) != 0) {
      ++planned.done_before;
    } else if (!planned.skipped && !planned.refused) {
      planned.seconds += estimate.seconds(job);
      to_run.push_back(&job);
    }
  }
  result.time = estimate.of(to_run);
  if (settings.peak) {
    double searches = 0;
    for (const PlannedPoint& planned : result.points) searches += planned.seconds;
    result.time = {searches};
  }
  if (settings.auto_repeats) result.time.low *= static_cast<double>(fewest_auto_repeats) / most_auto_repeats;  // the Plan holds the most
  if (settings.search_time) result.time = result.time.at_most(std::chrono::duration<double>(*settings.search_time).count());
  return result;
}

}  // namespace deepgap
