// LoadGen's verdict on a performance phase: its statistics, its early stopping and whether the result is valid.
//
// Percentiles are LoadGen's: of n sorted latencies the one at trunc(n * p). The mean does not wrap where LoadGen's 64-bit sum does.
#pragma once

#include "mlperf/loadgen/drive.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

inline constexpr std::array<double, 6> loadgen_percentiles{0.5, 0.9, 0.95, 0.97, 0.99, 0.999};

// Summary of one kind of latency; all values are 0 if there is none.
struct LoadgenLatencies {
  int64_t min_ns = 0, max_ns = 0, mean_ns = 0;
  std::array<int64_t, loadgen_percentiles.size()> percentile_ns{};
  int64_t target_percentile_ns = 0;  // at the settings' target_latency_percentile
};

// What latencies of tokens add to a verdict. Latencies are 0 in Offline.
struct LoadgenTokenVerdict {
  int64_t count = 0;                          // tokens of all answers
  LoadgenLatencies first, each;               // until the first token, and for each after it
  std::string first_stopping, each_stopping;  // as early_stopping
  // Tokens per second: until the last answer (Offline: of all answers at once), until the last query was issued, by the mean latency.
  std::optional<double> completed_per_s, with_overhead_per_s, without_overhead_per_s;
};

struct LoadgenVerdict {
  bool valid = false;
  bool min_duration_met = false, min_queries_met = false, latency_met = false, early_stopping_met = false;
  std::vector<std::string> reasons;  // for an invalid result: what is wrong and what to change
  std::string early_stopping;        // as LoadGen's summary words it: tools read it; lines without the last end of line

  int64_t samples = 0;
  LoadgenLatencies sample, query;  // query: MultiStream
  int64_t late_queries = 0;        // Server: over the bound

  // Scores. Not of every scenario.
  std::optional<double> scheduled_per_s, completed_per_s;         // Server
  std::optional<double> samples_per_s;                            // Offline
  std::optional<double> qps_with_overhead, qps_without_overhead;  // SingleStream
  int64_t early_stopping_90_ns = 0, early_stopping_99_ns = 0;     // estimates; 0: none. SingleStream both, MultiStream the latter
  std::optional<double> inferred_tokens_per_s;                    // Server, Offline
  std::optional<LoadgenTokenVerdict> tokens;                      // where the settings measure latencies of tokens
};

// `result` is of a performance phase. Sorts its latencies.
LoadgenVerdict judge(const LoadgenSettings& settings, LoadgenPhaseResult& result);

}  // namespace deepgap
