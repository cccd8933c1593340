// LatencySketch: the distribution of a run's latencies in a line of text, so that percentiles of several runs together can be computed
// without their timings; and those percentiles.
//
// Counts in buckets 0.5 % wide: a percentile is known to within 0.25 % of its value. A run whose queries are within 30 % of each other
// takes some 60 of them.
#pragma once

#include "stats/interval.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace deepgap {

class LatencySketch {
 public:
  // Values above 0; infinity for a query that was never answered. Others are left out.
  void add(double value, int64_t count = 1);
  void add(const LatencySketch& other);

  int64_t count() const { return count_; }
  // Nearest rank; infinity where that was never answered, 0 when empty.
  double percentile(double percent) const;
  int64_t count_above(double value) const;  // those in its own bucket taken for smaller

  // "12:3 13:40 -:1" (bucket:count), and back; nullopt for anything else.
  std::string text() const;
  static std::optional<LatencySketch> from_text(std::string_view text);

 private:
  static constexpr int unanswered = std::numeric_limits<int>::max();
  using Bucket = std::pair<int, int64_t>;  // and how many are in it
  void add_to(int bucket, int64_t count);
  std::vector<Bucket> buckets_;  // ascending
  int64_t count_ = 0;
};

struct PooledPercentile {
  double value = 0;
  std::optional<double> low, high;  // each with 97.5 %; absent where there are too few queries or runs
};

// The percentile of all runs' queries together. Runs are a sample of processes, and queries of one resemble each other, so the interval is
// that of a cluster sample: the share of each run's queries above the percentile gives the variance of the share above it (with Student's t
// for k - 1 runs), on the logit, and the ends are the pooled percentiles at the ends of that share; never narrower than the binomial ranks
// for as many independent queries give.
//   Woodruff, "Confidence intervals for medians and other position measures", JASA 47 (1952); Francisco and Fuller, "Quantile estimation
//   with a complex survey design", Annals of Statistics 19 (1991).
// No end can lie beyond what the runs have shown, so that of few runs which differ much it covers too little: where each has queries enough
// for a percentile of its own, their scatter is to be taken in besides (analysis/point_summary.cpp).
// nullopt below two runs with queries. bench/coverage percentiles shows coverage.
std::optional<PooledPercentile> pooled_percentile(std::span<const LatencySketch> runs, double percent,
                                                  double confidence = default_confidence);

}  // namespace deepgap
