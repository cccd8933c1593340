#include "analysis/decide/queue_estimate.h"

#include "stats/random_stream.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

namespace deepgap {
namespace {

constexpr double most_busy = 0.98;  // nearer to all of it, so few queries do not tell how long the queue becomes

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

QueueEstimate serve(const BatchTimes& times, const std::vector<double>& arrivals, double rate, double percent) {
  std::vector<BatchTimes::Times> by_size(static_cast<size_t>(times.largest) + 1);
  for (int64_t size = 1; size <= times.largest; ++size) by_size[static_cast<size_t>(size)] = times.at(size);
  std::vector<double> latencies(arrivals.size());
  double free = 0, busy = 0;
  size_t done = 0, batches = 0;
  while (done < arrivals.size()) {
    const double begin = std::max(free, arrivals[done] / rate);
    size_t end = done + 1;
    while (end < arrivals.size() && end - done < static_cast<size_t>(times.largest) && arrivals[end] <= begin * rate) ++end;
    const auto& taken = by_size[end - done];
    free = begin + taken.busy_s;
    busy += taken.busy_s;
    for (; done < end; ++done) latencies[done] = free + taken.extra_s - arrivals[done] / rate;
    ++batches;
  }
  const auto rank = static_cast<size_t>(std::ceil(percent / 100 * static_cast<double>(latencies.size())));
  const auto at = latencies.begin() + static_cast<std::ptrdiff_t>(std::clamp<size_t>(rank, 1, latencies.size()) - 1);
  std::nth_element(latencies.begin(), at, latencies.end());
  return {*at, busy / free, static_cast<double>(arrivals.size()) / static_cast<double>(batches)};
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
  return serve(times, unit_arrivals(queries), rate, percent);
}

double highest_rate(const BatchTimes& times, double percent, double limit_s, int queries) {
  const BatchTimes::Times alone = times.at(1);
  if (alone.busy_s + alone.extra_s > limit_s) return 0;
  double low = 0, high = 0;
  for (int64_t size = 1; size <= times.largest; ++size) high = std::max(high, static_cast<double>(size) / times.at(size).busy_s);
  high *= most_busy;
  const std::vector<double> arrivals = unit_arrivals(queries);
  const auto held = [&](double rate) { return serve(times, arrivals, rate, percent).latency_s <= limit_s; };
  while (high - low > 0.005 * high) {
    const double middle = (low + high) / 2;
    (held(middle) ? low : high) = middle;
    if (high < 1e-9) break;
  }
  return low;
}

}  // namespace deepgap
