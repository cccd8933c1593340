// UrgentShare: a Target around a Dispatcher that makes a share of the queries urgent, which go before all others, and keeps the latencies
// of both classes apart.
#pragma once

#include "stats/log_histogram.h"

#include <deepgap/record.h>
#include <deepgap/target.h>

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace deepgap {

class UrgentShare final : public Target {
 public:
  // `share` between 0 and 1 of the queries, evenly spread. The target and the clock outlive it.
  UrgentShare(Target& target, double share, Clock& clock) : target_(target), share_(share), clock_(clock) {}

  TargetLimits limits() const override { return target_.limits(); }
  void on_completion(TargetCompletion completion) override;
  void load(std::span<const uint32_t> indices) override { target_.load(indices); }
  void unload(std::span<const uint32_t> indices) override { target_.unload(indices); }
  void submit(std::span<const Query> queries) override;
  void flush() override { target_.flush(); }
  void cancel() override { target_.cancel(); }

  // "urgent_latency_p50_ms", "_p99_ms", and "other_latency_..." of what was answered. Empty where no query was.
  std::map<std::string, Estimate> estimates() const;

 private:
  enum Class : size_t { urgent, other };
  struct Waiting {
    Nanoseconds scheduled = 0;
    uint32_t remaining = 0;  // samples
    Class of = other;
  };
  void settle(const Completed& completed, Nanoseconds now);

  Target& target_;
  double share_;
  Clock& clock_;
  double owed_ = 0;  // urgent queries that the share asks for by now
  std::vector<Query> marked_;
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, Waiting> waiting_;
  std::array<LogHistogram, 2> latencies_;
};

}  // namespace deepgap
