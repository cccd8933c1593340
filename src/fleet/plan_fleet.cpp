#include "fleet/plan_fleet.h"

#include "base/hash.h"
#include "base/text.h"
#include "plan/place.h"
#include "run/inspected_plan.h"
#include "run/time_estimate.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <utility>

namespace deepgap {
namespace {

// A task may use this share of the time limit, since estimates are guesses.
constexpr double limit_share = 0.7;

// A path from the root names a file of this machine, which nodes may have elsewhere, another of, or not at all.
void refuse_absolute_paths(const Study& study, const Fleet& fleet) {
  if (fleet.options.count("absolute-paths") != 0) return;
  constexpr std::array<std::string_view, 5> files{"model", "dataset", "weights", "labels", "trace"};
  for (const Grid& grid : study.grids) {
    for (const Axis& axis : grid.axes) {
      if (std::find(files.begin(), files.end(), axis.name) == files.end()) continue;
      for (size_t i = 0; i < axis.values.size(); ++i) {
        if (!axis.values[i].starts_with("/")) continue;
        const std::string place = i < axis.places.size() ? axis.places[i] : grid.place;
        throw Error(ErrorKind::usage,
                    at_place(place, fmt::format("'{}' is an absolute path, which other machines may not have: give it relative to "
                                                "the folder that tasks work in, or add --absolute-paths where all have it",
                                                axis.values[i])));
      }
    }
  }
}

void refuse_searches(const Study& study) {
  for (const Grid& grid : study.grids) {
    if (grid.find_peak)
      throw Error(ErrorKind::usage,
                  at_place(grid.place, "a fleet measures grids; find_peak searches one node at a time: run it with `deepgap run`"));
  }
}

// The files of a Study with a relative path are looked for where tasks work.
void require_limit(const PlannedFleet& planned, double limit_s) {
  if (limit_s <= 0) return;
  for (const TaskGroup& task_group : planned.fleet.task_groups) {
    if (task_group.longest_s <= limit_s) continue;
    throw Error(
        ErrorKind::usage,
        fmt::format("the time limit of {} is too short: what is compared stays together, and of {} on {} that takes about {}; give more "
                    "--time, fewer repeats or shorter windows",
                    format_duration(static_cast<int64_t>(limit_s * 1e9)), task_group.model, task_group.device,
                    format_duration(static_cast<int64_t>(task_group.longest_s * 1e9))));
  }
}

}  // namespace

std::optional<PlannedFleet> plan_fleet(const Study& study, Fleet fleet, const CutSettings& cut, Scheduler& scheduler,
                                       const RunSettings& settings) {
  refuse_searches(study);
  refuse_absolute_paths(study, fleet);
  PlannedFleet planned;
  planned.fleet = std::move(fleet);
  const double limit_s = scheduler.prepare(planned.fleet);
  RunSettings inspected = settings;
  inspected.cpus = planned.fleet.cpus;
  Interrupts interrupts;
  Progress progress(settings.progress, ::isatty(::fileno(settings.progress)) == 1, settings.words);
  InspectedPlan plan = inspect_plan(study, inspected, inspect_in_child, interrupts, progress);
  progress.clear();
  if (plan.interrupted) return std::nullopt;
  const TimeEstimate estimate({}, query_times(plan));
  CutSettings lengths = cut;
  if (limit_s > 0) lengths.task_s = std::min(lengths.task_s, limit_share * limit_s);
  planned.fleet.id = random_id().substr(0, 8);
  planned.fleet.study = study.name;
  planned.fleet.seed = study.seed;
  planned.fleet.created_unix =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  planned.points = static_cast<int64_t>(plan.points.size() * planned.fleet.kinds.size());
  for (const Job& job : plan.jobs) planned.skipped += job.skip_reason.empty() ? 0 : 1;
  plan.points.clear();
  planned.common = -static_cast<int64_t>(plan.jobs.size() * planned.fleet.kinds.size());
  planned.jobs = cut_plan(planned.fleet, std::move(plan.jobs), lengths, [&](const Job& job) { return estimate.seconds(job); });
  planned.common += planned.fleet.records();
  require_limit(planned, limit_s);
  planned.notes = scheduler.check(planned.fleet);
  return planned;
}

}  // namespace deepgap
