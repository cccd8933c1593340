#include "mlperf/endpoints/summary.h"

#include "analysis/steady.h"
#include "base/dump_json.h"
#include "mlperf/submission/runs.h"
#include "record/token_series.h"
#include "stats/percentile.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace deepgap {
namespace {

using Json = nlohmann::ordered_json;
using Values = std::vector<double>;

constexpr double ns_of_ms = 1e6;

// Integers, as the client writes nanoseconds and tokens.
int64_t whole(double value) { return std::llround(value); }

double sum_of(const Values& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// An object without values where nothing was observed, as the client writes it.
Json series_json(Values values) {
  Json json = Json::object();
  if (values.empty()) return json;
  std::sort(values.begin(), values.end());
  json["total"] = whole(sum_of(values));
  json["min"] = whole(values.front());
  json["max"] = whole(values.back());
  json["avg"] = sum_of(values) / static_cast<double>(values.size());
  for (const char* percent : {"50", "90", "95", "99", "99.9"})
    json["percentiles"][percent] = whole(percentile_of_sorted(values, std::stod(percent)));
  return json;
}

// Tokens as the engine or server counts them; where it does not, those that were delivered.
double output_of(const TokenStream& stream) {
  return static_cast<double>(stream.counts.output >= 0 ? stream.counts.output : stream.tokens());
}

struct Observed {
  Values ttft, tpot, latency, output;  // ns and tokens
};

Observed observe(const std::vector<TokenStream>& streams) {
  Observed observed;
  for (const TokenStream& stream : streams) {
    if (const auto ttft = stream.ttft_ms()) observed.ttft.push_back(*ttft * ns_of_ms);
    if (const auto tpot = stream.tpot_ms()) observed.tpot.push_back(*tpot * ns_of_ms);
    observed.latency.push_back(static_cast<double>(stream.end - stream.due));
    observed.output.push_back(output_of(stream));
  }
  return observed;
}

double issue_span_s(const Record& record) {
  const auto [first, last] =
      std::minmax_element(record.timings.begin(), record.timings.end(), [](const Timing& a, const Timing& b) { return a.begin < b.begin; });
  return static_cast<double>(last->begin - first->begin) / 1e9;
}

// The largest number of requests that were sent and not answered yet. An answer and a request at the same time are not both counted.
int64_t most_in_flight(const Record& record) {
  std::vector<std::pair<Nanoseconds, int>> changes;
  for (const Timing& timing : record.timings) {
    changes.emplace_back(timing.begin, 1);
    changes.emplace_back(timing.end, -1);
  }
  std::sort(changes.begin(), changes.end());
  int64_t now = 0, most = 0;
  for (const auto& [time, change] : changes) most = std::max(most, now += change);
  return most;
}

}  // namespace

std::string endpoints_gap(const Record& record, int64_t clients) {
  if (!window_seconds(record, "steady")) return "it has no steady window";
  if (record.timings_dropped > 0) return "it has more requests than were kept";
  if (record.timings.empty()) return "it has no timings: a compact copy leaves them out";
  if (token_streams(record).empty()) return "it has no tokens";
  const int64_t most = most_in_flight(record);
  if (most >= clients) return "";
  return fmt::format("its requests in flight reach {} at most: measure longer, or with --streams {}", most, clients);
}

EndpointsSummary endpoints_summary(const Record& record) {
  const Observed observed = observe(token_streams(record));
  const double seconds = *window_seconds(record, "steady");
  const auto completed =
      std::count_if(record.timings.begin(), record.timings.end(), [](const Timing& timing) { return timing.status == Status::ok; });
  EndpointsSummary summary;
  summary.requests = static_cast<int64_t>(record.timings.size());
  summary.issue_span_s = issue_span_s(record);
  summary.tokens_per_s = sum_of(observed.output) / seconds;
  Json json;
  json["version"] = "deepgap " + mlperf_fact(record, "deepgap.version");
  json["record_id"] = record.record_id;
  json["test_started_at"] = record.started_unix_ns;
  json["n_samples_issued"] = summary.requests;
  json["n_samples_completed"] = completed;
  json["n_samples_failed"] = summary.requests - completed;
  json["duration_ns"] = whole(seconds * 1e9);
  json["ttft"] = series_json(observed.ttft);
  json["tpot"] = series_json(observed.tpot);
  json["latency"] = series_json(observed.latency);
  json["output_sequence_lengths"] = series_json(observed.output);
  json["qps"] = static_cast<double>(completed) / seconds;
  json["system_tps"] = summary.tokens_per_s;
  if (!observed.tpot.empty()) json["tps_per_user"] = 1e9 / percentile(observed.tpot, 90);
  summary.json = dump_indented(json);
  return summary;
}

}  // namespace deepgap
