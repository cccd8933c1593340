#include "analysis/decide/recommend.h"

#include "analysis/point_labels.h"
#include "analysis/words.h"
#include "record/averaged.h"
#include "record/load_axis.h"
#include "record/point_command.h"
#include "record/point_option.h"
#include "record/published.h"
#include "record/record_json.h"
#include "record/search_marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace deepgap {
namespace {

constexpr size_t most_runners_up = 3;
using Way = std::tuple<std::string, std::string, Precision>;

Way way_of(const Candidate& candidate) {
  const PointSummary& point = *candidate.point;
  return {point.identity.device, point.point.backend, point.point.precision};
}

const Candidate* best_of(const std::vector<Candidate>& candidates, const Demand& demand) {
  const auto best = std::min_element(candidates.begin(), candidates.end(),
                                     [&](const Candidate& a, const Candidate& b) { return goes_before(a, b, demand); });
  return best == candidates.end() ? nullptr : &*best;
}

std::vector<Candidate> runners_up_of(const std::vector<Candidate>& sorted) {
  std::vector<Candidate> others;
  std::set<Way> seen{way_of(sorted.front())};
  for (const Candidate& candidate : sorted) {
    if (others.size() < most_runners_up && seen.insert(way_of(candidate)).second) others.push_back(candidate);
  }
  return others;
}

// Up to which price of the choice's device it stays the cheapest.
void add_price(const Recommendation& found, const Demand& demand, std::vector<BreakEven>& changes) {
  const Candidate& choice = *found.choice;
  if (demand.goal != Goal::cost || !choice.cost_per_hour) return;
  for (const Candidate& other : found.runners_up) {
    if (other.point->identity.device == choice.point->identity.device || !other.cost_per_1000) continue;
    const double now = *choice.cost_per_hour / static_cast<double>(choice.devices);
    changes.push_back({"price", now, now * *other.cost_per_1000 / *choice.cost_per_1000, other});
    return;
  }
}

// The nearest rate below and above at which another Point is the better one, in steps of a twelfth of an octave, to a 64th and 64 times.
void add_rates(std::vector<Candidate> among, const Candidate& choice, const Demand& demand, std::vector<BreakEven>& changes) {
  if (!demand.rate || demand.goal == Goal::latency) return;
  for (Candidate& candidate : among) candidate.times.reset();  // devices and cost are what changes here
  constexpr int steps = 72;
  for (const int way : {-1, 1}) {
    for (int step = 1; step <= steps; ++step) {
      Demand other = demand;
      other.rate = *demand.rate * std::exp2(way * step / 12.0);
      for (Candidate& candidate : among) carry(candidate, other);
      const Candidate* best = best_of(among, other);
      if (way_of(*best) == way_of(choice)) continue;
      changes.push_back({"rate", *demand.rate, *other.rate, *best});
      break;
    }
  }
}

// Adds break-evens for the first bound, to an eighth and 8 times.
void add_bounds(const Workload& workload, const Candidate& choice, const Demand& demand, std::vector<BreakEven>& changes) {
  if (demand.bounds.empty()) return;
  constexpr double factors[] = {1.25, 1.5, 2, 3, 4, 8};
  for (const bool larger : {false, true}) {
    for (const double factor : factors) {
      Demand other = demand;
      LatencyBound& bound = other.bounds.front();
      bound.limit = static_cast<Nanoseconds>(static_cast<double>(bound.limit) * (larger ? factor : 1 / factor));
      const std::vector<Candidate> fit = candidates_for(workload, other).fit;
      const Candidate* best = best_of(fit, other);
      if (best == nullptr || way_of(*best) == way_of(choice)) continue;
      changes.push_back({"bound", static_cast<double>(demand.bounds.front().limit) / 1e9, static_cast<double>(bound.limit) / 1e9, *best});
      break;
    }
  }
}

// Returns the `deepgap run` that measures one way. Empty for what others published: their engine need not be one of ours.
std::string run_command(const PointSummary& point, const std::string& more) {
  if (is_published(point.point)) return {};
  Point p = without_search_marks(without_load(point.point));
  p.scenario = Point().scenario;
  for (const char* of_load : {"bound", "streams", "max_batch", "max_delay", "labels", averaged_option}) p.options.erase(of_load);
  return run_command_of(p) + more;
}

// Returns the command for a server, whose queries are of one sample.
std::string peak_command(PointSummary point, const std::string& more) {
  point.point.batch = 1;
  return run_command(point, more);
}

std::string accuracy_command(PointSummary point) {
  point.point.dataset = Point().dataset;
  return run_command(point, " --dataset DIR --labels FILE");
}

// "p50 and p99"
std::string percentiles_of(const Demand& demand) {
  std::vector<std::string> names;
  for (const LatencyBound& bound : demand.bounds) names.push_back(percentile_name(bound));
  return names.empty() ? "p99" : list_of(names);
}

void add_unknowns(const Candidates& found, const Demand& demand, Recommendation& result) {
  if (result.choice && result.choice->basis == Basis::estimated) {
    const PointSummary& point = *result.choice->point;
    result.unknown.push_back(
        {"its capacity under the SLO is an estimate, from a simulated queue over its batches",
         peak_command(point, fmt::format(" --scenario server --slo {} --find-peak --max-batch {} --peak-from {:.0f}",
                                         demand.bounds.front().text, point.point.batch, result.choice->capacity / 2))});
  }
  std::map<std::pair<Lack, std::string>, std::pair<int64_t, const PointSummary*>> lacking;
  for (const Rejected& each : found.rejected) {
    const std::string of =
        each.lack == Lack::price ? each.point->identity.device : way_label(*each.point).substr(0, way_label(*each.point).rfind(" \u00b7 "));
    auto& entry = lacking[{each.lack, of}];
    ++entry.first;
    entry.second = each.point;
  }
  for (const auto& [key, entry] : lacking) {
    const auto& [lack, of] = key;
    const std::string count = count_of(entry.first, "point", "points");
    if (lack == Lack::price) {
      result.unknown.push_back(
          {of.empty() ? fmt::format("{} name no device, so they have no price", count)
                      : fmt::format("no price for {}: {} left out; add it to the --prices file by [[price]] with device = \"{}\"", of,
                                    count, short_device_name(of)),
           ""});
    } else if (lack == Lack::accuracy_unknown) {
      result.unknown.push_back({fmt::format("how accurate {} is: {} left out", of, count), accuracy_command(*entry.second)});
    } else if (lack == Lack::energy) {
      result.unknown.push_back({fmt::format("what energy {} takes: {} left out, whose power nothing measured", of, count), ""});
    } else if (lack == Lack::unchecked) {
      result.unknown.push_back({fmt::format("whether {} is right: {} unchecked", of, count), run_command(*entry.second, " --check on")});
    } else if (lack == Lack::unusable) {
      const char* own = entry.first == 1 ? "its own" : "their own";
      result.unknown.push_back({fmt::format("{}: {} that did not settle, missed an SLO of {} or failed", of, count, own), ""});
    } else if (lack == Lack::no_throughput) {
      result.unknown.push_back(
          {fmt::format("load that {} serves: {} left out, because throughput or batch is missing or throughput may be 0", of, count), ""});
    } else if (lack == Lack::latency_unknown) {
      result.unknown.push_back({fmt::format("how late {} answers: {} left out, without {}", of, count, percentiles_of(demand)), ""});
    } else if (lack == Lack::computes_nothing) {
      result.unknown.push_back({fmt::format("{}: {} left out, since that engine computes nothing", of, count), ""});
    } else if (lack == Lack::published) {
      result.unknown.push_back({fmt::format("{}: {} published by others; --allow published takes them", of, count), ""});
    }
  }
}

std::optional<Rejected> nearest_of(const std::vector<Rejected>& rejected) {
  std::optional<Rejected> nearest;
  for (const Rejected& each : rejected) {
    if (each.lack != Lack::latency && each.lack != Lack::accuracy) continue;
    if (!nearest || each.excess < nearest->excess) nearest = each;
  }
  return nearest;
}

}  // namespace

std::string way_label(const PointSummary& point) {
  const std::string device =
      point.identity.device.empty() ? placement_name(point.point.placement) : short_device_name(point.identity.device);
  std::string label = fmt::format("{} \u00b7 {} \u00b7 {}", device, point.point.backend, name_of(point.point.precision));
  const size_t devices = point.point.placement.devices.size();
  if (devices > 1) label = fmt::format("{} x {}", devices, label);
  return fmt::format("{} \u00b7 {}", label, batch_words(point.point));
}

Recommendation recommend(const Workload& workload, const Demand& demand) {
  Candidates found = candidates_for(workload, demand);
  std::stable_sort(found.fit.begin(), found.fit.end(), [&](const Candidate& a, const Candidate& b) { return goes_before(a, b, demand); });
  Recommendation result;
  if (found.fit.empty()) {
    result.nearest = nearest_of(found.rejected);
  } else {
    result.choice = found.fit.front();
    result.runners_up = runners_up_of(found.fit);
    add_price(result, demand, result.would_change);
    add_rates(found.fit, *result.choice, demand, result.would_change);
    add_bounds(workload, *result.choice, demand, result.would_change);
  }
  add_unknowns(found, demand, result);
  return result;
}

}  // namespace deepgap
