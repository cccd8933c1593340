#include "run/interleave.h"

#include "base/dump_json.h"
#include "base/text.h"
#include "record/duel_set.h"
#include "record/load_axis.h"
#include "record/point_option.h"
#include "record/record_json.h"
#include "record/task_traits.h"
#include "record/tenant_set.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace deepgap {
namespace {

constexpr size_t most_arms = 16;

// Queries that overlap would be cut at the beginning and the end of a slice.
std::string several_in_flight(const Point& point) {
  for (const char* option : {"streams", "instances", "in_flight"}) {
    if (const std::string value = option_of(point, option, "1"); value != "1") return fmt::format("{}={}", option, value);
  }
  const std::string end_to_end = option_of(point, "end_to_end", "off");
  return end_to_end == "off" ? "" : "end_to_end=" + end_to_end;
}

std::string why_set_apart(const std::vector<Job*>& jobs) {
  std::set<std::string> engines;
  for (const Job* job : jobs) engines.insert(job->point.backend);
  if (engines.size() < jobs.size()) return "an option of one engine has several values";
  if (jobs.size() > most_arms) return fmt::format("more than {} engines", most_arms);
  return why_apart(*jobs.front());
}

}  // namespace

std::string why_apart(const Job& job) {
  const Point& point = job.point;
  if (!task_traits(point.task).takes_turns) return fmt::format("task {} has no queries that could take turns", name_of(point.task));
  if (!scenario_traits(point.scenario).one_by_one)
    return fmt::format("scenario {} cannot pause between time slices as batch and single-stream can", point.scenario);
  if (is_remote(point.placement)) return "a server may do other work between time slices";
  if (point.placement.processes > 1) return "each point has several processes";
  if (point.placement.devices.size() != 1) return "each point has several devices";
  const std::string& kind = point.placement.devices.front().kind;
  if (kind != "cpu") return fmt::format("on {} the power that one engine draws sets the clocks of the next", kind);
  if (job.energy) return "energy is measured in a window without other engines";
  const std::string overlaps = several_in_flight(point);
  return overlaps.empty() ? "" : fmt::format("{} keeps several queries in flight", overlaps);
}

std::string interleave_key(const Job& job) {
  const Point common = without_engine(job.point);
  return dump_line(nlohmann::json{point_to_json(common), stopping_to_json(job.stopping), job.check});
}

std::string interleaved_group(const Job& job) {
  Point common = without_engine(job.point);
  common.batch = 0;
  common.dataset = common.scenario = "";
  return dump_line(point_to_json(common));
}

std::vector<std::vector<size_t>> interleaved_sets(const std::vector<Job>& jobs) {
  std::vector<std::vector<size_t>> sets;
  std::map<std::pair<std::string, int>, size_t> places;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto [place, is_new] = places.try_emplace({interleave_key(jobs[i]), jobs[i].repeat}, sets.size());
    if (is_new) sets.emplace_back();
    sets[place->second].push_back(i);
  }
  return sets;
}

std::string choose_interleaved(InspectedPlan& plan) {
  std::map<std::pair<std::string, int>, std::vector<Job*>> sets;
  for (Job& job : plan.jobs) {
    const bool runs = job.skip_reason.empty() && plan.of(job).supported;
    if (job.interleave && runs) sets[{interleave_key(job), job.repeat}].push_back(&job);
    job.interleave = false;
  }
  std::map<std::string, size_t> reasons;
  size_t interleaved = 0;
  for (const auto& [key, jobs] : sets) {
    if (jobs.size() < 2) continue;
    const std::string& engine = jobs.front()->point.backend;
    const bool one_engine = std::all_of(jobs.begin(), jobs.end(), [&](const Job* job) { return job->point.backend == engine; });
    if (one_engine) continue;
    const std::string why = why_set_apart(jobs);
    if (!why.empty()) reasons[why] += jobs.size();
    if (!why.empty()) continue;
    for (Job* job : jobs) job->interleave = true;
    interleaved += jobs.size();
  }
  if (reasons.empty()) return "";
  const auto most = std::max_element(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const std::string which = interleaved == 0 ? "engines" : "some engines";
  return fmt::format("note: {} are measured one after the other, not interleaved: {}", which, most->first);
}

Nanoseconds slice_length(const StoppingSettings& stopping) {
  constexpr Nanoseconds shortest = 100'000'000, longest = 1'000'000'000, slices = 20;
  return std::clamp(stopping.duration.value_or(stopping.budget) / slices, shortest, longest);
}

}  // namespace deepgap
