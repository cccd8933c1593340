#include "analysis/independent_queries.h"

#include "record/fact_values.h"
#include "record/latency_percentiles.h"
#include "stats/percentile.h"

#include <algorithm>

namespace deepgap {
namespace {

constexpr const char* fact_name = "latency.independent";
constexpr double looked_at = 99;  // correlation is looked for there, and at the 90th percentile with it

}  // namespace

void keep_independent_queries(const std::vector<double>& latencies, Record& record) {
  if (!latencies.empty()) record.facts[fact_name] = static_cast<int64_t>(estimate_percentile(latencies, looked_at).effective_n);
}

int64_t independent_queries(const Record& record, int64_t queries) {
  if (const auto* count = fact_as<int64_t>(record.facts, fact_name)) return std::clamp<int64_t>(*count, 0, queries);
  constexpr int64_t enough_for_p90 = 36;
  const auto p99 = record.estimates.find(latency_metric_id(looked_at));
  if (p99 == record.estimates.end() || p99->second.high || !p99->second.low) return queries;
  return percentile_high_rank(static_cast<size_t>(p99->second.n), looked_at) ? std::min(queries, enough_for_p90) : queries;
}

}  // namespace deepgap
