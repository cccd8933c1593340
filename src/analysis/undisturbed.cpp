#include "analysis/undisturbed.h"

#include "analysis/steady.h"
#include "base/quantity.h"
#include "record/point_option.h"
#include "stats/correlated.h"
#include "stats/cut_short.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace deepgap {
namespace {

constexpr const char* sliced_window = "turns";  // an interleaved arm has it: its time slices and what lies between them
constexpr double wait_allowed = 0.01;           // share of a slice
constexpr double others_allowed = 0.05;         // share of all CPUs
constexpr double tick_s = 0.01;                 // in which /proc/stat counts
constexpr double least_share = 0.05;            // share of the window
constexpr int64_t fewest_queries = 32;
constexpr size_t most_queries = 1'000'000;  // more say no more, and each takes 32 bytes and a place in a sorted order
constexpr double unseen_allowed = 0.02;     // share of the queries: longer than any that ran undisturbed

// Joins what overlaps.
Stretches joined(Stretches stretches) {
  std::sort(stretches.begin(), stretches.end());
  Stretches all;
  for (const auto& [begin, end] : stretches) {
    if (!all.empty() && begin <= all.back().second) {
      all.back().second = std::max(all.back().second, end);
    } else {
      all.emplace_back(begin, end);
    }
  }
  return all;
}

// Slices in which threads waited, with as much time before as they had waited by then, and the slice behind.
void add_waits(const Series& delay, Stretches& disturbed) {
  for (size_t i = 1; i < delay.times.size(); ++i) {
    const Nanoseconds length = delay.times[i] - delay.times[i - 1];
    const auto waited = static_cast<Nanoseconds>((delay.values[i] - delay.values[i - 1]) * 1e9);
    if (static_cast<double>(waited) <= wait_allowed * static_cast<double>(length)) continue;
    disturbed.emplace_back(std::min(delay.times[i - 1], delay.times[i] - waited), delay.times[std::min(i + 1, delay.times.size() - 1)]);
  }
}

// Readings of the machine as a whole, between which others were busy.
bool add_others(const Record& record, Stretches& disturbed) {
  const Series* busy = find_series(record, "proc", "machine_busy");
  const Series* idle = find_series(record, "proc", "machine_idle");
  const Series* own = find_series(record, "proc", "cpu_time");
  const Series* steal = find_series(record, "proc", "machine_steal");
  if (busy == nullptr || idle == nullptr || own == nullptr || busy->times.size() < 2) return false;
  if (idle->times != busy->times || own->times != busy->times) return false;
  const bool knows_steal = steal != nullptr && steal->times == busy->times;
  for (size_t i = 1; i < busy->times.size(); ++i) {
    const auto grew = [i](const Series& series) { return series.values[i] - series.values[i - 1]; };
    const double taken = knows_steal ? grew(*steal) : 0;
    const double others = grew(*busy) - grew(*own), all = grew(*busy) + grew(*idle) + taken;
    if (taken > 0 || others > others_allowed * all + tick_s) disturbed.emplace_back(busy->times[i - 1], busy->times[i]);
  }
  return true;
}

// Returns what is left of the window without `disturbed`.
Stretches rest_of(const Window& window, const Stretches& disturbed) {
  Stretches rest;
  Nanoseconds from = window.begin;
  for (const auto& [begin, end] : disturbed) {
    if (begin >= window.end) break;
    if (begin > from) rest.emplace_back(from, begin);
    from = std::max(from, end);
  }
  if (from < window.end) rest.emplace_back(from, window.end);
  return rest;
}

struct Seen {
  std::vector<CutShort> cycles;  // from one query's end to the next one's, in ms
  std::vector<double> latencies_ms, items;
};

// Returns queries that begin in an undisturbed stretch, in order; samples very many by an odd step, so that alternating ones are seen.
// Between time slices others have worked, so there a cycle begins with its query.
Seen queries_within(const Record& record, const Window& window, const Stretches& stretches) {
  Seen seen;
  size_t at = 0, number = 0;
  const size_t every = (record.timings.size() / most_queries) | 1;
  const bool sliced = window.name == sliced_window;
  Nanoseconds begin = window.begin;
  for (const Timing& timing : record.timings) {
    if (sliced) begin = timing.begin;
    while (at < stretches.size() && stretches[at].second <= begin) ++at;
    if (at == stretches.size()) break;
    if (number++ % every == 0 && stretches[at].first <= begin && timing.status == Status::ok) {
      const bool whole = timing.end <= stretches[at].second;
      const Nanoseconds end = whole ? timing.end : stretches[at].second;
      seen.cycles.push_back({static_cast<double>(end - begin) / 1e6, whole});
      seen.latencies_ms.push_back(static_cast<double>(timing.end - timing.scheduled) / 1e6);
      seen.items.push_back(timing.samples);
    }
    begin = timing.end;
  }
  return seen;
}

Estimate weighed_throughput(const Seen& seen, const std::vector<double>& weights) {
  RatioSeries series;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0) series.add(weights[i] * seen.cycles[i].duration / 1e3, weights[i] * seen.items[i]);
  }
  Estimate estimate{series.sum_x() / series.sum_y(), {}, {}, series.count()};
  const auto seconds = series.estimate();
  if (!seconds || seconds->interval().low <= 0) return estimate;
  estimate.low = 1 / seconds->interval().high;
  estimate.high = 1 / seconds->interval().low;
  return estimate;
}

// The interval: values at which the share of queries below is as far from a half as that share is uncertain (Woodruff, JASA 47, 1952).
Estimate weighed_median(const std::vector<double>& values, const std::vector<double>& weights) {
  std::vector<size_t> order;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto at_share = [&](double share) {
    double below = 0;
    for (const size_t i : order) {
      below += weights[i];
      if (below >= share * all) return values[i];
    }
    return values[order.back()];
  };
  Estimate estimate{at_share(0.5), {}, {}, static_cast<int64_t>(order.size())};
  RatioSeries below;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0) below.add(values[i] <= estimate.value ? weights[i] : 0, weights[i]);
  }
  const auto share = below.estimate();
  if (!share) return estimate;
  const double half = share->interval().half_width();
  if (half < 0.5) estimate.low = at_share(0.5 - half), estimate.high = at_share(0.5 + half);
  return estimate;
}

// The time in which the engine worked: of an arm, that of its queries.
Nanoseconds own_time(const Record& record, const Window& window) {
  if (window.name != sliced_window) return window.end - window.begin;
  Nanoseconds own = 0;
  for (const Timing& timing : record.timings) own += timing.end - timing.begin;
  return own;
}

bool is_one_by_one(const Record& record) {
  const auto overlaps = [](const Timing& a, const Timing& b) { return b.begin < a.end; };
  return std::adjacent_find(record.timings.begin(), record.timings.end(), overlaps) == record.timings.end();
}

std::string too_little(const std::string& seen, const std::string& needed) { return fmt::format("{}, {} are needed", seen, needed); }

}  // namespace

std::optional<Stretches> undisturbed_stretches(const Record& record, const Window& window) {
  // The readings are of real time, the window is not: what disturbs the machine changes no query.
  if (is_in_virtual_time(record.point)) return std::nullopt;
  const Series* delay = find_series(record, "slices", "run_delay");
  if (delay == nullptr || !encloses(*delay, window)) return std::nullopt;
  Stretches disturbed;
  add_waits(*delay, disturbed);
  if (!add_others(record, disturbed)) return std::nullopt;
  return rest_of(window, joined(std::move(disturbed)));
}

UndisturbedFound find_undisturbed(const Record& record) {
  const Window* window = find_window(record, "steady");
  if (window == nullptr) window = find_window(record, sliced_window);
  if (record.outcome != Outcome::ok || window == nullptr || window->end <= window->begin || record.timings.empty()) return {};
  const auto stretches = undisturbed_stretches(record, *window);
  if (!stretches) return {};
  double undisturbed = 0;
  for (const auto& [begin, end] : *stretches) undisturbed += static_cast<double>(end - begin);
  UndisturbedFound found{std::min(1.0, undisturbed / static_cast<double>(own_time(record, *window))), {}, {}};
  if (left_by_worker(record, "offered_rate") || record.timings_dropped > 0 || !is_one_by_one(record)) return found;
  if (*found.share < least_share) {
    found.why_not = too_little(percent_text(*found.share) + " of the time was undisturbed", percent_text(least_share));
    return found;
  }
  const Seen seen = queries_within(record, *window, *stretches);
  const CutShortWeights weighed = weigh_cut_short(seen.cycles);
  const auto whole = std::count_if(seen.cycles.begin(), seen.cycles.end(), [](const CutShort& cycle) { return cycle.whole; });
  if (whole < fewest_queries) {
    found.why_not = too_little(fmt::format("{} queries were undisturbed", whole), fmt::format("{}", fewest_queries));
  } else if (weighed.unseen > unseen_allowed) {
    found.why_not = fmt::format("{} of queries take longer than any stretch without disturbance", percent_text(weighed.unseen));
  } else {
    found.values = {weighed_throughput(seen, weighed.weights), weighed_median(seen.latencies_ms, weighed.weights)};
  }
  return found;
}

}  // namespace deepgap
