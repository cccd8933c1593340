#include "run/join_ranks.h"

#include "analysis/metric.h"
#include "record/memory_use.h"
#include "record/record_json.h"
#include "record/token_series.h"
#include "stats/percentile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace deepgap {
namespace {

Window* steady_of(Record& record) {
  const auto found = std::find_if(record.windows.begin(), record.windows.end(), [](const Window& w) { return w.name == "steady"; });
  return found == record.windows.end() ? nullptr : &*found;
}

Window common_window(std::vector<Record>& ranks) {
  Window common{"steady", INT64_MIN, INT64_MAX};
  for (Record& rank : ranks) {
    const Window* own = steady_of(rank);
    common.begin = std::max(common.begin, own->begin);
    common.end = std::min(common.end, own->end);
  }
  return common;
}

double items_per_second(const std::vector<Timing>& timings, const Window& window) {
  double items = 0;
  for (const Timing& timing : timings) items += timing.samples;
  return items * 1e9 / static_cast<double>(window.end - window.begin);
}

double median_latency_ms(const std::vector<Timing>& timings) {
  std::vector<double> latencies;
  for (const Timing& timing : timings) latencies.push_back(static_cast<double>(timing.end - timing.scheduled) / 1e6);
  return estimate_percentile(latencies, 50).value;
}

void keep_row(Record& record, size_t index, const Record& rank, const Window& own, const Window& common) {
  const std::string row = fmt::format("rank.{}.", index);
  record.facts[row + "device"] = placement_name(rank.point.placement);
  record.facts[row + "throughput"] = items_per_second(rank.timings, common);
  if (!rank.timings.empty()) record.facts[row + "latency_p50_ms"] = median_latency_ms(rank.timings);
  record.facts[row + "window_share"] =
      static_cast<double>(common.end - common.begin) / static_cast<double>(std::max<Nanoseconds>(1, own.end - own.begin));
}

// Sum of independent values: the squares of the half-widths add up.
Estimate sum_of(const std::vector<Estimate>& parts) {
  Estimate sum;
  double square = 0;
  bool known = true;
  for (const Estimate& part : parts) {
    sum.value += part.value;
    sum.n += part.n;
    known = known && part.low && part.high;
    if (known) square += std::pow((*part.high - *part.low) / 2, 2);
  }
  if (known) {
    // The sum is no smaller than what one part has for certain.
    for (const Estimate& part : parts) sum.low = std::max(sum.low.value_or(0), *part.low);
    sum.low = std::max(*sum.low, sum.value - std::sqrt(square));
    sum.high = sum.value + std::sqrt(square);
  }
  return sum;
}

Estimate mean_of(const std::vector<Estimate>& parts) {
  Estimate mean;
  for (const Estimate& part : parts) {
    mean.value += part.value * static_cast<double>(std::max<int64_t>(1, part.n));
    mean.n += std::max<int64_t>(1, part.n);
  }
  mean.value /= static_cast<double>(mean.n);
  return mean;
}

std::map<std::string, Estimate> joined_estimates(const std::vector<Record>& ranks) {
  std::map<std::string, std::vector<Estimate>> all;
  for (const Record& rank : ranks) {
    for (const auto& [id, estimate] : rank.estimates) all[id].push_back(estimate);
  }
  std::map<std::string, Estimate> joined;
  for (const auto& [id, parts] : all) {
    const Metric* metric = find_metric(id);
    joined[id] = metric != nullptr && metric->over_ranks == Combine::sum ? sum_of(parts) : mean_of(parts);
  }
  return joined;
}

// The interval is kept relative to the value, which is that of the common window.
void move_to(Estimate& estimate, double value) {
  const double factor = estimate.value > 0 ? value / estimate.value : 1;
  estimate.value = value;
  if (estimate.low) *estimate.low *= factor;
  if (estimate.high) *estimate.high *= factor;
}

void add_resources(Record& record, const Record& rank) {
  record.device_memory = sum_of(record.device_memory, rank.device_memory);
  if (record.host_memory_peak_bytes && rank.host_memory_peak_bytes) *record.host_memory_peak_bytes += *rank.host_memory_peak_bytes;
  record.timings_dropped += rank.timings_dropped;
  record.warmup_queries += rank.warmup_queries;
  record.environment.insert(rank.environment.begin(), rank.environment.end());  // each saw its own devices alone
  for (const Series& series : rank.series) {
    const bool known = std::any_of(record.series.begin(), record.series.end(),
                                   [&](const Series& s) { return s.probe == series.probe && s.name == series.name; });
    if (!known) record.series.push_back(series);  // series of its own devices; the process's are the first rank's
  }
}

// The tokens of all ranks' queries, by the numbers that their timings have from now on.
void join_tokens(Record& record, std::vector<TokenStream> streams) {
  std::stable_sort(streams.begin(), streams.end(), [](const TokenStream& a, const TokenStream& b) { return a.end < b.end; });
  std::erase_if(record.series, [](const Series& series) { return series.probe == tokens_probe; });
  std::vector<Series> tokens = token_series(streams);
  std::move(tokens.begin(), tokens.end(), std::back_inserter(record.series));
}

void keep_worst_verdict(Record& record, size_t index, const Record& rank) {
  if (rank.verdict <= record.verdict) return;
  record.verdict = rank.verdict;
  record.reason = fmt::format("rank {} ({}): {}", index, placement_name(rank.point.placement), rank.reason);
}

}  // namespace

Record join_ranks(const Point& point, std::vector<Record> ranks) {
  const Window common = common_window(ranks);
  Record record = ranks.front();
  record.point = point;
  record.estimates = joined_estimates(ranks);
  record.timings.clear();
  if (common.end <= common.begin) {
    record.verdict = Verdict::invalid;
    record.reason = "the processes never ran at the same time; measure longer (--duration)";
    return record;
  }
  std::vector<TokenStream> streams;
  const auto number = [&](uint64_t query, size_t rank) { return query * ranks.size() + rank; };
  for (size_t i = 0; i < ranks.size(); ++i) {
    Record& rank = ranks[i];
    std::erase_if(rank.timings, [&](const Timing& t) { return t.end <= common.begin || t.end > common.end; });
    keep_row(record, i, rank, *steady_of(rank), common);
    for (TokenStream& stream : token_streams(rank)) {
      stream.query = number(stream.query, i);
      streams.push_back(std::move(stream));
    }
    for (Timing timing : rank.timings) {
      timing.query = number(timing.query, i);
      record.timings.push_back(timing);
    }
    if (i == 0) continue;
    add_resources(record, rank);
    keep_worst_verdict(record, i, rank);
  }
  std::stable_sort(record.timings.begin(), record.timings.end(), [](const Timing& a, const Timing& b) { return a.end < b.end; });
  join_tokens(record, std::move(streams));
  *steady_of(record) = common;
  move_to(record.estimates["throughput"], items_per_second(record.timings, common));
  return record;
}

}  // namespace deepgap
