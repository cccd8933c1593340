// Estimates what a device that was measured batch by batch would do as a server: queries come by Poisson, wait in one queue, and whenever
// the engine is free it takes what waits, at most `largest`. It is used if no Point with scenario `server` was measured, and is computed in
// virtual time, query by query, from the same random numbers each time. Real dispatchers also pad, wait for more and lose time between
// batches, so a measured server may do less. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <map>

namespace deepgap {

// Times of one batch by its size: interpolated between sizes; below the smallest and above the largest, those of the nearest.
struct BatchTimes {
  struct Times {
    double busy_s = 0;   // until the engine can take the next: batch / throughput
    double extra_s = 0;  // what its latency has more than that, where several batches are on their way
  };
  std::map<int64_t, Times> by_size;  // not empty
  int64_t largest = 1;               // that the engine takes

  Times at(int64_t size) const;
};

struct QueueEstimate {
  double latency_s = 0;  // the percentile asked for
  double busy_share = 0;
  double mean_batch = 0;
};
inline constexpr int queue_queries = 20'000;

// Estimates `rate` queries a second. If they come faster than they can be answered, the latency is that of so many queries in a row.
QueueEstimate estimate_queue(const BatchTimes& times, double rate, double percent, int queries = queue_queries);

// The highest rate that keeps the percentile within `limit_s`, to 1 %; 0 where even a lone query takes longer.
double highest_rate(const BatchTimes& times, double percent, double limit_s, int queries = queue_queries);

}  // namespace deepgap
