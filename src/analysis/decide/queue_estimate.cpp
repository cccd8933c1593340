#include "analysis/decide/queue_estimate.h"

#include "stats/random_stream.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

namespace deepgap {
namespace {

constexpr double most_busy = 0.98;  // share of the time; above it, so few queries do not show how long the queue becomes

// Times of arrival at rate 1; the same for every estimate, so that estimates differ by what is estimated alone.
std::vector<double> make_arrivals(int queries) {
  RandomStream random(1, "queue estimate");
  std::vector<double> arrivals(static_cast<size_t>(queries));
  double now = 0;
  for (double& arrival : arrivals) arrival = now += random.exponential();
  return arrivals;
}

std::vector<double> unit_arrivals(int queries) {
  static const std::vector<double> most = make_arrivals(queue_queries);
  if (queries > queue_queries) return make_arrivals(queries);
  return {most.begin(), most.begin() + queries};
}

// Returns times by size of a batch; entry 0 is empty.
std::vector<BatchTimes::Times> times_by_size(const BatchTimes& times) {
  std::vector<BatchTimes::Times> by_size(static_cast<size_t>(times.largest) + 1);
  for (int64_t size = 1; size <= times.largest; ++size) by_size[static_cast<size_t>(size)] = times.at(size);
  return by_size;
}

// Returns how many of so many latencies are at most the percentile.
size_t rank_of(double percent, size_t count) {
  return std::clamp<size_t>(static_cast<size_t>(std::ceil(percent / 100 * static_cast<double>(count))), 1, count);
}

struct Served {
  double free = 0, busy = 0;  // when the engine is free after the last, and how long it was not
  size_t batches = 0;
};

// Calls `on_query` with the number and the latency of each query, and stops simulating when `on_query` returns false.
template <typename OnQuery>
Served serve(const std::vector<BatchTimes::Times>& by_size, const std::vector<double>& arrivals, double rate, const OnQuery& on_query) {
  const size_t largest = by_size.size() - 1;
  Served served;
  size_t done = 0;
  while (done < arrivals.size()) {
    const double begin = std::max(served.free, arrivals[done] / rate);
    size_t end = done + 1;
    while (end < arrivals.size() && end - done < largest && arrivals[end] <= begin * rate) ++end;
    const auto& taken = by_size[end - done];
    served.free = begin + taken.busy_s;
    served.busy += taken.busy_s;
    for (; done < end; ++done)
      if (!on_query(done, served.free + taken.extra_s - arrivals[done] / rate)) return served;
    ++served.batches;
  }
  return served;
}

// Returns whether the percentile at this rate is within the limit. If not, the first queries, which come in order, often decide it.
bool holds(const std::vector<BatchTimes::Times>& by_size, const std::vector<double>& arrivals, double rate, double percent,
           double limit_s) {
  size_t may_be_late = arrivals.size() - rank_of(percent, arrivals.size());
  bool held = true;
  serve(by_size, arrivals, rate, [&](size_t /*query*/, double latency_s) {
    if (latency_s <= limit_s) return true;
    held = may_be_late > 0;
    if (held) --may_be_late;
    return held;
  });
  return held;
}

}  // namespace

BatchTimes::Times BatchTimes::at(int64_t size) const {
  const auto above = by_size.lower_bound(size);
  if (above == by_size.begin()) return above->second;
  if (above == by_size.end()) return by_size.rbegin()->second;
  const auto below = std::prev(above);
  const double part = static_cast<double>(size - below->first) / static_cast<double>(above->first - below->first);
  return {std::lerp(below->second.busy_s, above->second.busy_s, part), std::lerp(below->second.extra_s, above->second.extra_s, part)};
}

QueueEstimate estimate_queue(const BatchTimes& times, double rate, double percent, int queries) {
  const std::vector<double> arrivals = unit_arrivals(queries);
  std::vector<double> latencies(arrivals.size());
  const Served served = serve(times_by_size(times), arrivals, rate, [&](size_t query, double latency_s) {
    latencies[query] = latency_s;
    return true;
  });
  const auto at = latencies.begin() + static_cast<std::ptrdiff_t>(rank_of(percent, latencies.size()) - 1);
  std::nth_element(latencies.begin(), at, latencies.end());
  return {*at, served.busy / served.free, static_cast<double>(arrivals.size()) / static_cast<double>(served.batches)};
}

double highest_rate(const BatchTimes& times, double percent, double limit_s, int queries) {
  const BatchTimes::Times alone = times.at(1);
  if (alone.busy_s + alone.extra_s > limit_s) return 0;
  double low = 0, high = 0;
  for (int64_t size = 1; size <= times.largest; ++size) high = std::max(high, static_cast<double>(size) / times.at(size).busy_s);
  high *= most_busy;
  const std::vector<double> arrivals = unit_arrivals(queries);
  const std::vector<BatchTimes::Times> by_size = times_by_size(times);
  while (high - low > 0.005 * high) {
    const double middle = (low + high) / 2;
    (holds(by_size, arrivals, middle, percent, limit_s) ? low : high) = middle;
    if (high < 1e-9) break;
  }
  return low;
}

}  // namespace deepgap
