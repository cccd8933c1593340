#include "run/inspected_plan.h"

#include "analysis/words.h"
#include "base/dump_json.h"
#include "plan/place.h"
#include "record/dataset_hash.h"
#include "record/duel_set.h"
#include "record/record_json.h"
#include "record/tenant_set.h"
#include "run/inspection.h"
#include "run/interleave.h"
#include "run/time_estimate.h"
#include "run/window_note.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace deepgap {
namespace {

// From this many Points on, the inspection takes long enough to be reported.
constexpr size_t long_inspection = 20'000;

// Tenants of one set, or contenders of one duel, by the places of their Jobs in the Plan; those of one repeat follow each other there.
using SetJobs = std::vector<size_t>;

bool is_of_a_set(const Point& point) { return tenant_place(point) || contender_place(point); }

std::string set_key(const Point& point) {
  return tenant_place(point) ? text_of(tenant_set_key(point)) : "duel " + dump_line(point_to_json(duel_of(point)));
}

std::vector<SetJobs> sets_of(const std::vector<Job>& jobs) {
  std::map<std::pair<std::string, int>, SetJobs> sets;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (is_of_a_set(jobs[i].point)) sets[{set_key(jobs[i].point), jobs[i].repeat}].push_back(i);
  }
  std::vector<SetJobs> found;
  for (auto& [key, set] : sets) found.push_back(std::move(set));
  return found;
}

// A changed file beside a tenant makes another Point of it too.
void join_again(std::vector<Job>& jobs, const SetJobs& set) {
  if (!tenant_place(jobs[set.front()].point)) return;
  std::vector<Point> points;
  for (const size_t i : set) points.push_back(jobs[i].point);
  join_tenants(points);
  for (size_t i = 0; i < set.size(); ++i) jobs[set[i]].point = points[i];
}

// One that cannot run is no company: the others are refused with it.
void refuse_together(InspectedPlan& plan, const SetJobs& set) {
  for (const size_t i : set) {
    const Job& refused = plan.jobs[i];
    if (plan.of(refused).supported) continue;
    const bool tenant = tenant_place(refused.point).has_value();
    const std::string reason = fmt::format("{} {} is refused: {}", tenant ? "tenant" : "arm",
                                           tenant ? tenant_name(refused.point) : contender_name(refused.point), plan.of(refused).reason);
    for (const size_t other : set) {
      InspectedPoint& inspected = plan.points.at(plan.jobs[other].point_id);
      if (!inspected.supported) continue;
      inspected.supported = false;
      inspected.reason = reason;
      inspected.refused_by = tenant ? "tenant" : "contender";
    }
    return;
  }
}

// Two Points that differed before the inspection may be one: a file by two paths, its own batch and the same one given.
void measure_each_once(std::vector<Job>& jobs, Progress& progress) {
  std::set<JobId> seen;
  const size_t again = std::erase_if(jobs, [&](const Job& job) { return !is_of_a_set(job.point) && !seen.insert(id_of(job)).second; });
  if (again > 0)
    progress.note(
        fmt::format("{} of the runs {} others by another name, a file of the same content or the batch that it has: each is measured once",
                    again, again == 1 ? "repeats" : "repeat"));
}

std::vector<Job> expanded(const Study& study, int cpus, Progress& progress) {
  std::vector<std::string> notes;
  std::vector<Job> jobs = expand(study, cpus, &notes);
  for (const std::string& note : notes) progress.note(note);
  return jobs;
}

// For a part of a Plan, whose Points were inspected elsewhere: requires that the file is the same.
void require_same_file(const Point& planned, const std::string& hash) {
  if (planned.model_hash == hash) return;
  throw Error(ErrorKind::input, fmt::format("{} is not the file that the plan was made with: its content differs here", planned.model));
}

// Each once, and of very many only some.
void tell_of_windows(const std::vector<Job>& jobs, Progress& progress) {
  constexpr size_t most_shown = 5;
  std::vector<std::string> notes;
  for (const Job& job : jobs) {
    const std::string note = window_note(job);
    if (!note.empty() && std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  }
  for (size_t i = 0; i < std::min(notes.size(), most_shown); ++i) progress.note(notes[i]);
  if (notes.size() > most_shown) progress.note(fmt::format("{} more rates give too few queries for their SLO", notes.size() - most_shown));
}

// Returns a line about the largest number of threads that must share CPUs; empty where each has one.
std::string threads_note(const std::vector<Job>& jobs, int cpus) {
  int most = 0;
  for (const Job& job : jobs) {
    if (job.point.placement.devices.front().kind == "cpu") most = std::max(most, job.point.threads);
  }
  if (most <= cpus) return {};
  return fmt::format("note: {} threads share the {} of this process and wait for each other (--threads {} gives each a CPU)", most,
                     count_of(cpus, "CPU", "CPUs"), cpus);
}

// A plan's Points, each once, as the inspection is asked for them.
struct Distinct {
  std::vector<Point> points;
  std::map<std::string, size_t> places;  // by the point_id that it had before

  explicit Distinct(const std::vector<Job>& jobs) {
    for (const Job& job : jobs) {
      if (!places.emplace(job.point_id, points.size()).second) continue;
      points.push_back(job.point);
      if (job.own_batch) points.back().batch = 0;
    }
  }
};

// Says of what is wrong with a Point where it was written.
Inspected inspected(const Study& study, const RunSettings& settings, const std::vector<Point>& points, const Inspector& inspect,
                    Interrupts& interrupts) {
  try {
    return inspect(points, settings.cache_dir, interrupts);
  } catch (const PointError& error) {
    Point point = points.at(error.point());
    if (point.batch == 0) point.batch = Point{}.batch;
    throw Error(error.kind(), at_place(place_of(study, point, error.axis(), settings.cpus), error.what()));
  }
}

// Makes what the inspection saw part of the Points.
void take_in(const std::vector<InspectedPoint>& seen, const Distinct& distinct, bool is_part, InspectedPlan& plan) {
  const auto of = [&](const Job& job) -> const InspectedPoint& { return seen[distinct.places.at(job.point_id)]; };
  for (Job& job : plan.jobs) {
    const InspectedPoint& point = of(job);
    if (is_part) require_same_file(job.point, point.model_hash);
    job.point.model_hash = point.model_hash;  // a changed file is another Point
    if (!point.dataset_hash.empty()) job.point.options[dataset_hash_option] = point.dataset_hash;
    if (job.own_batch) job.point.batch = point.batch;
  }
  for (const SetJobs& set : sets_of(plan.jobs)) join_again(plan.jobs, set);
  for (Job& job : plan.jobs) {
    const InspectedPoint& point = of(job);
    const bool changed = !point.model_hash.empty() || !point.dataset_hash.empty() || job.own_batch;
    if (changed || is_of_a_set(job.point)) job.point_id = point_id(job.point);
    plan.points.emplace(job.point_id, point);
  }
}

}  // namespace

InspectedPlan inspect_plan(const Study& study, const RunSettings& settings, const Inspector& inspect, Interrupts& interrupts,
                           Progress& progress) {
  InspectedPlan plan;
  plan.jobs = settings.part ? *settings.part : expanded(study, settings.cpus, progress);
  const Distinct distinct(plan.jobs);
  if (distinct.points.size() >= long_inspection)
    progress.note(fmt::format("{} points are inspected before the first is timed", distinct.points.size()));
  Inspected found = inspected(study, settings, distinct.points, inspect, interrupts);
  plan.interrupted = found.interrupted;
  if (plan.interrupted) return plan;
  tell_of_windows(plan.jobs, progress);
  if (const std::string note = threads_note(plan.jobs, settings.cpus); !note.empty()) progress.note(note);
  if (found.points.size() != distinct.points.size()) throw Error(ErrorKind::internal, "the inspection left points out");
  plan.environment = std::move(found.environment);
  plan.child = std::move(found.child);
  take_in(found.points, distinct, settings.part.has_value(), plan);
  measure_each_once(plan.jobs, progress);
  for (const SetJobs& set : sets_of(plan.jobs)) refuse_together(plan, set);
  if (const std::string note = choose_interleaved(plan); !note.empty()) progress.note(note);
  return plan;
}

// Returns the canonical text of a Point that has only what a process is loaded with.
std::string group_key(const Job& job, const InspectedPlan& plan) {
  Point point = job.point;
  if (is_of_a_set(point)) return set_key(point);
  if (job.interleave) return "interleaved " + interleaved_group(job);
  point.batch = 0;
  point.dataset = point.scenario = "";
  point.options = {{"process", plan.of(job).process_key}};
  return dump_line(point_to_json(point));
}

std::map<std::string, double> query_times(const InspectedPlan& plan) {
  std::map<std::string, double> seconds;
  for (const Job& job : plan.jobs) {
    const double flop = static_cast<double>(plan.of(job).flop_per_item) * static_cast<double>(job.point.batch);
    seconds.emplace(job.point_id, guessed_query_s(flop, job.point.threads));
  }
  return seconds;
}

}  // namespace deepgap
