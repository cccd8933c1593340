#include "run/inspected_plan.h"

#include "record/record_json.h"
#include "run/inspection.h"
#include "run/time_estimate.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

// From so many Points on it takes long enough to be told.
constexpr size_t long_inspection = 20'000;

}  // namespace

InspectedPlan inspect_plan(const Study& study, const RunSettings& settings, Interrupts& interrupts, Progress& progress) {
  InspectedPlan plan;
  plan.jobs = expand(study, settings.cpus);
  std::vector<Point> distinct;
  std::map<std::string, size_t> index;
  for (const Job& job : plan.jobs) {
    if (index.emplace(job.point_id, distinct.size()).second) distinct.push_back(job.point);
  }
  if (distinct.size() >= long_inspection) progress.note(fmt::format("{} points are looked at before the first is timed", distinct.size()));
  Inspected inspected = inspect_in_child(distinct, settings.cache_dir, interrupts);
  plan.interrupted = inspected.interrupted;
  if (plan.interrupted) return plan;
  if (inspected.points.size() != distinct.size()) throw Error(ErrorKind::internal, "the inspection left points out");
  plan.environment = std::move(inspected.environment);
  for (Job& job : plan.jobs) {
    const InspectedPoint& point = inspected.points[index.at(job.point_id)];
    if (!point.model_hash.empty()) {
      job.point.model_hash = point.model_hash;  // a changed file is another Point
      job.point_id = point_id(job.point);
    }
    plan.points.emplace(job.point_id, point);
  }
  return plan;
}

std::string group_key(const Job& job, const InspectedPlan& plan) {
  const Point& point = job.point;
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}", point.task, point.model, point.model_hash, point.weights, point.backend,
                     placement_name(point.placement), point.precision, point.threads, plan.of(job).process_key);
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
