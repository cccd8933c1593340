#include "analysis/decide/candidate.h"

#include "analysis/latency_percentile.h"
#include "record/load_axis.h"
#include "record/point_option.h"
#include "record/published.h"
#include "record/scripted.h"
#include "record/verdict.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace deepgap {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double seconds_per_hour = 3600;

// The worse end of what is known. Two repeats have an interval that says nothing but how few they are: the worse of them stands for it.
double low_end(const MetricSummary& metric) {
  if (!is_of_two(metric)) return metric.estimate.low.value_or(metric.estimate.value);
  double low = metric.estimate.value;
  for (const RepeatValue& repeat : metric.repeats) low = std::min(low, repeat.value);
  return low;
}

double high_end(const MetricSummary& metric) {
  if (!is_of_two(metric)) return metric.estimate.high.value_or(metric.estimate.value);
  double high = metric.estimate.value;
  for (const RepeatValue& repeat : metric.repeats) high = std::max(high, repeat.value);
  return high;
}

double limit_s(const LatencyBound& bound) { return static_cast<double>(bound.limit) / 1e9; }

// Returns whether users who know nothing of each other send the queries, as the demand's rate assumes.
bool is_server(const Point& point) { return scenario_traits(point.scenario).poisson && load_of(point).has_value(); }

std::optional<double> latency_s(const PointSummary& point, double percent) {
  const MetricSummary* latency = point.find(latency_percentile_column(percent));
  return latency == nullptr ? std::nullopt : std::optional(high_end(*latency) / 1e3);
}

// The Point ran under a bound at least as strict, and its verdict, from the queries that missed it, is that it is held.
bool held_own_bound(const PointSummary& point, const LatencyBound& asked) {
  const auto own = latency_bound_from(option_of(point.point, "bound"));
  return own && own->percent == asked.percent && own->limit <= asked.limit && point.verdict == Verdict::valid;
}

// Returns the latency that a Point is held against a bound with; nullopt: not known. If it held a bound of its own that is as strict, the
// latency is at most that limit, by the count of late queries in each run: the interval of the percentile within a run cannot say more. How
// much runs differ is in the interval over repeats alone, so where there are several, latency_s counts.
std::optional<double> latency_for(const PointSummary& point, const LatencyBound& bound) {
  const auto latency = latency_s(point, bound.percent);
  if (!held_own_bound(point, bound)) return latency;
  const MetricSummary* metric = point.find(latency_percentile_column(bound.percent));
  return metric != nullptr && metric->over_repeats ? latency : std::min(limit_s(bound), latency.value_or(limit_s(bound)));
}

// Returns the largest known loss of accuracy: from labels if there are some, else from how often the answer differs from the reference's.
std::optional<double> loss_of(const PointSummary& point) {
  if (const MetricSummary* loss = point.find("accuracy_loss")) return std::max(0.0, high_end(*loss));
  if (point.point.precision == Precision::fp32 && !point.unchecked) return 0;
  if (point.check && point.check->top1_agreement) return 1 - *point.check->top1_agreement;
  return std::nullopt;
}

using Way = std::tuple<std::string, std::string, Precision, size_t>;  // device, engine, precision, devices of it

Way way_of(const PointSummary& point) {
  return {point.identity.device, point.point.backend, point.point.precision, point.point.placement.devices.size()};
}

class Finder {
 public:
  Finder(const Workload& workload, const Demand& demand) : workload_(workload), demand_(demand) {
    for (const Line& line : workload.lines) {
      for (const PointSummary* point : line.points) {
        if (!is_server(point->point) || lack_of_trust(*point)) continue;
        served_.insert(way_of(*point));
        if (option_of(point->point, "peak") == "confirm") confirmed_.insert(way_of(*point));
      }
    }
  }

  Candidates find() {
    for (const Line& line : workload_.lines) {
      for (const PointSummary* point : line.points) consider(line, *point);
    }
    return std::move(found_);
  }

 private:
  void reject(const Line& line, const PointSummary& point, Lack lack, double excess = 0) {
    found_.rejected.push_back({&point, &line, lack, excess});
  }

  std::optional<Lack> lack_of_trust(const PointSummary& point) const {
    const auto allowed = [&](const char* what) { return demand_.allowed.contains(what); };
    if (point.outcome != Outcome::ok) return Lack::unusable;
    if (is_scripted(point.point)) return Lack::computes_nothing;
    if (point.find("throughput") == nullptr) return Lack::no_throughput;
    if (is_published(point.point)) return allowed("published") ? std::nullopt : std::optional(Lack::published);
    const char* verdict = point.verdict == Verdict::unstable    ? "unstable"
                          : point.verdict == Verdict::invalid   ? "invalid"
                          : point.verdict == Verdict::undecided ? "undecided"
                                                                : nullptr;
    if (verdict != nullptr && !allowed(verdict)) return Lack::unusable;
    if (verdict == nullptr && !is_sound(point.verdict)) return Lack::unusable;
    if (point.unchecked && !allowed("unchecked")) return Lack::unchecked;
    return std::nullopt;
  }

  bool queued() const { return demand_.rate && !demand_.bounds.empty(); }

  void consider(const Line& line, const PointSummary& point) {
    if (const auto lack = lack_of_trust(point)) return reject(line, point, *lack);
    Candidate candidate;
    candidate.point = &point;
    candidate.line = &line;
    candidate.accuracy_loss = loss_of(point);
    if (demand_.accuracy_loss && !candidate.accuracy_loss) return reject(line, point, Lack::accuracy_unknown);
    if (demand_.accuracy_loss && *candidate.accuracy_loss > *demand_.accuracy_loss)
      return reject(line, point, Lack::accuracy, *candidate.accuracy_loss / std::max(*demand_.accuracy_loss, 1e-9));
    if (is_server(point.point)) {
      if (confirmed_.contains(way_of(point)) && option_of(point.point, "peak") != "confirm") return reject(line, point, Lack::superseded);
    } else if (queued() && served_.contains(way_of(point))) {
      return reject(line, point, Lack::superseded);
    }
    if (!within_bounds(line, point, candidate)) return;
    carry(candidate, demand_);
    if (demand_.goal == Goal::cost && !candidate.cost_per_1000) return reject(line, point, Lack::price);
    if (demand_.goal == Goal::energy && !candidate.energy_j_per_item) return reject(line, point, Lack::energy);
    if (demand_.goal == Goal::latency && !candidate.latency_s) return reject(line, point, Lack::latency_unknown);
    found_.fit.push_back(std::move(candidate));
  }

  // Fills capacity and latency; rejects what does not fit.
  bool within_bounds(const Line& line, const PointSummary& point, Candidate& candidate) {
    candidate.capacity = low_end(*point.find("throughput"));
    if (const auto load = is_server(point.point) ? load_of(point.point) : std::nullopt)
      candidate.capacity = *load * static_cast<double>(std::max<int64_t>(point.point.batch, 1));
    if (queued() && scenario_traits(point.point.scenario).one_by_one) return within_bounds_queued(line, point, candidate);
    for (const LatencyBound& bound : demand_.bounds) {
      const auto latency = latency_for(point, bound);
      if (!latency) return reject(line, point, Lack::latency_unknown), false;
      if (*latency > limit_s(bound)) return reject(line, point, Lack::latency, *latency / limit_s(bound)), false;
    }
    candidate.latency_s = demand_.bounds.empty() ? latency_s(point, 99) : latency_for(point, demand_.bounds.front());
    return true;
  }

  bool within_bounds_queued(const Line& line, const PointSummary& point, Candidate& candidate) {
    candidate.basis = Basis::estimated;
    candidate.times = times_of(line, point);
    if (!candidate.times) return reject(line, point, Lack::no_throughput), false;
    double capacity = infinite, worst = 0;
    const auto alone = candidate.times->at(1);
    for (const LatencyBound& bound : demand_.bounds) {
      capacity = std::min(capacity, highest_rate(*candidate.times, bound.percent, limit_s(bound)));
      worst = std::max(worst, (alone.busy_s + alone.extra_s) / limit_s(bound));
    }
    if (!(capacity > 0)) return reject(line, point, Lack::latency, std::max(worst, 1.0)), false;
    candidate.capacity = capacity;
    return true;
  }

  // Collects the times of the Line's trusted Points up to this one's batch.
  std::optional<BatchTimes> times_of(const Line& line, const PointSummary& largest) const {
    BatchTimes times;
    times.largest = largest.point.batch;
    for (const PointSummary* point : line.points) {
      const int64_t batch = point->point.batch;
      if (batch < 1 || batch > largest.point.batch || lack_of_trust(*point)) continue;
      const MetricSummary* throughput = point->find("throughput");
      const MetricSummary* latency = point->find("latency_mean_ms");
      if (!(low_end(*throughput) > 0)) continue;
      const double busy = static_cast<double>(batch) / low_end(*throughput);
      times.by_size[batch] = {busy, latency == nullptr ? 0 : std::max(0.0, high_end(*latency) / 1e3 - busy)};
    }
    return times.by_size.contains(largest.point.batch) ? std::optional(times) : std::nullopt;
  }

  const Workload& workload_;
  const Demand& demand_;
  Candidates found_;
  std::set<Way> served_, confirmed_;  // ways that have usable server Points; confirmed ones
};

// An estimate scatters a little from rate to rate: where the share of one is just beyond the bound, it takes one more. Fills the latency.
double enough_for_bounds(Candidate& candidate, const Demand& demand, double copies) {
  const double most = 1.1 * copies + 2;
  for (;; ++copies) {
    bool held = true;
    candidate.latency_s.reset();
    for (const LatencyBound& bound : demand.bounds) {
      const double latency = estimate_queue(*candidate.times, *demand.rate / copies, bound.percent).latency_s;
      if (!candidate.latency_s) candidate.latency_s = latency;
      held = held && latency <= limit_s(bound);
    }
    if (held || copies >= most) return copies;
  }
}

}  // namespace

std::string_view name_of(Goal goal) {
  constexpr std::string_view names[] = {"cost", "energy", "devices", "latency"};
  return names[static_cast<size_t>(goal)];
}

Candidates candidates_for(const Workload& workload, const Demand& demand) { return Finder(workload, demand).find(); }

void carry(Candidate& candidate, const Demand& demand) {
  const PointSummary& point = *candidate.point;
  const auto own = static_cast<int64_t>(point.point.placement.devices.size());
  double copies = demand.rate ? std::max(1.0, std::ceil(*demand.rate / candidate.capacity * (1 - 1e-12))) : 1;
  if (candidate.times && demand.rate) copies = enough_for_bounds(candidate, demand, copies);
  candidate.devices = own * static_cast<int64_t>(std::min(copies, 1e15));
  const double rate = demand.rate.value_or(candidate.capacity);
  if (const MetricSummary* hourly = point.find("cost_per_hour")) {
    candidate.cost_per_hour = high_end(*hourly) * copies;
    candidate.cost_per_1000 = *candidate.cost_per_hour / seconds_per_hour / rate * 1000;
  }
  const MetricSummary* energy = point.find("energy_long_run_j_per_item");  // what it will take, not what one window took
  if (energy == nullptr) energy = point.find("energy_j_per_item");
  if (energy != nullptr) candidate.energy_j_per_item = high_end(*energy);
}

std::optional<double> value_of(const Candidate& candidate, Goal goal, const Demand& demand) {
  if (goal == Goal::cost) return candidate.cost_per_1000;
  if (goal == Goal::energy) return candidate.energy_j_per_item;
  if (goal == Goal::latency) return candidate.latency_s;
  // Without a rate, the goal is how many devices one item a second takes.
  return static_cast<double>(candidate.devices) / (demand.rate ? 1 : candidate.capacity);
}

bool goes_before(const Candidate& a, const Candidate& b, const Demand& demand) {
  const auto key = [&](const Candidate& candidate) {
    const auto worst_if_unknown = [&](Goal goal) { return value_of(candidate, goal, demand).value_or(infinite); };
    return std::tuple(worst_if_unknown(demand.goal), worst_if_unknown(Goal::cost), worst_if_unknown(Goal::energy),
                      worst_if_unknown(Goal::devices), worst_if_unknown(Goal::latency), -candidate.capacity, candidate.point->point.batch);
  };
  return key(a) < key(b);
}

}  // namespace deepgap
