// UrgentShare: a Target around a Dispatcher that makes a share of the queries urgent, which go before all others, and records the
// latencies of both classes separately.
#pragma once

#include "scenario/forwarding_target.h"
#include "stats/log_histogram.h"

#include <deepgap/record.h>

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace deepgap {

class UrgentShare final : public ForwardingTarget {
 public:
  // `share` between 0 and 1 of the queries, evenly spread. The target and the clock outlive it.
  UrgentShare(Target& target, double share, Clock& clock) : ForwardingTarget(target), share_(share), clock_(clock) {}

  void on_completion(TargetCompletion completion) override;
  void submit(std::span<const Query> queries) override;

  // "urgent_latency_p50_ms", "_p99_ms", and "other_latency_..." of what was answered. Empty where no query was.
  std::map<std::string, Estimate> estimates() const;
  void restart();  // forgets what was answered before

 private:
  enum Class : size_t { urgent, other };
  struct Waiting {
    Nanoseconds scheduled = 0;
    uint32_t remaining = 0;  // samples
    Class of = other;
  };
  void settle(const Completed& completed, Nanoseconds now);

  double share_;
  Clock& clock_;
  double owed_ = 0;  // urgent queries that the share asks for by now
  std::vector<Query> marked_;
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, Waiting> waiting_;
  std::array<LogHistogram, 2> latencies_;
};

}  // namespace deepgap
