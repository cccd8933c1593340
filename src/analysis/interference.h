// Interference: what it costs tenants (record/tenant_set.h) to run beside each other, as ratios to each of them alone. Pure functions; the
// pointers lead into the Points given, which must outlive the result.
#pragma once

#include "analysis/comparison.h"
#include "analysis/point_summary.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

struct TenantInterference {
  const PointSummary* together = nullptr;
  const PointSummary* alone = nullptr;
  std::optional<Comparison> throughput, latency_p99;  // together over alone
};

struct TenantSet {
  std::vector<TenantInterference> tenants;  // in their order

  std::string label() const;  // "resnet50 beside mobilenet_v2, batch 8, CPUs shared"
  // The number of devices' work that the set does: the sum of the throughput ratios, if every tenant takes all it can get. More than 1:
  // sharing the device beats giving it to one tenant after the other.
  //   Eyerman and Eeckhout, "System-level performance metrics for multiprogram workloads", IEEE Micro 28(3), 2008 (there: STP).
  struct Sum {
    double value = 0;
    std::optional<Interval> interval;
  };
  std::optional<Sum> work() const;
};

// The sets of which every tenant ran, both with the others and alone; in the order of the Points.
std::vector<TenantSet> tenant_sets(std::span<const PointSummary> points);

// "resnet50 batch=8 keeps 0.52 (0.50 to 0.54) of its throughput alone; its p99 latency is 1.93 (1.80 to 2.10) times that alone"
std::string interference_words(const TenantInterference& tenant);
// "Together they do the work of 1.04 devices (1.01 to 1.07)."; empty where that is not known.
std::string work_words(const TenantSet& set);

}  // namespace deepgap
