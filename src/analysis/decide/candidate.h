// Candidate: one way to run a model, as a Point measured it, with what it would take to carry a demand. Plain values and pure functions;
// the pointers lead into the Points given.
//
// Numbers are taken at their worse end: a rate by the low end of its interval, a latency by the high end, two repeats by the worse one.
// What a Candidate can carry comes from the best of these that there is: Points of scenario `server` of the same device, engine and
// precision, confirmed ones where a peak search confirmed some (basis `measured`); else a queue in virtual time over the Points of its Line
// (basis `estimated`, queue_estimate.h); without a rate, or without a bound, the Point's own throughput and latency (basis `measured`).
#pragma once

#include "analysis/decide/queue_estimate.h"
#include "analysis/lines.h"
#include "stats/latency_bound.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace deepgap {

enum class Goal { cost, energy, devices, latency };
std::string_view name_of(Goal goal);

struct Demand {
  std::vector<LatencyBound> bounds;
  std::optional<double> rate;           // items a second, all devices together
  std::optional<double> accuracy_loss;  // top-1, as a share: at most
  Goal goal = Goal::cost;
  // Names what is accepted although it is a weak basis: "unstable", "invalid", "undecided", "unchecked", "published".
  std::set<std::string> allowed;
};

enum class Basis { measured, estimated };

struct Candidate {
  const PointSummary* point = nullptr;
  const Line* line = nullptr;
  Basis basis = Basis::measured;
  double capacity = 0;                  // items a second that the Point's devices carry within the bounds
  std::optional<double> latency_s;      // the first bound's percentile (p99 without one) at each device's rate
  std::optional<double> accuracy_loss;  // at most, as far as is known
  int64_t devices = 0;                  // for the rate; without one, the Point's own
  std::optional<double> cost_per_hour;  // cost of all devices; without a rate, of the Point's devices
  std::optional<double> cost_per_1000;  // items at that rate
  std::optional<double> energy_j_per_item;
  std::optional<BatchTimes> times;  // where the basis is estimated
};

// Why a Point is no Candidate.
enum class Lack {
  unusable,
  no_throughput,
  computes_nothing,
  unchecked,
  published,
  accuracy_unknown,
  accuracy,
  latency,
  latency_unknown,
  price,
  energy,
  superseded
};
struct Rejected {
  const PointSummary* point = nullptr;
  const Line* line = nullptr;
  Lack lack = Lack::unusable;
  double excess = 0;  // latency or accuracy_loss: how many times the bound it is
};

struct Candidates {
  std::vector<Candidate> fit;  // all bounds are held
  std::vector<Rejected> rejected;
};
// Returns the candidates of one Workload. Points that are candidates of a peak search count with the load that was offered to them.
Candidates candidates_for(const Workload& workload, const Demand& demand);

// Sets the Candidate's devices, cost and latency for another rate.
void carry(Candidate& candidate, const Demand& demand);

// Orders by the goal, then by what is left of cost, energy, devices and latency: nothing chosen is dominated by what comes behind.
bool goes_before(const Candidate& a, const Candidate& b, const Demand& demand);

// Returns the value that the goal optimizes; nullopt where the Candidate does not have it.
std::optional<double> value_of(const Candidate& candidate, Goal goal, const Demand& demand);

}  // namespace deepgap
