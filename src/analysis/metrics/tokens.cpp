// Metrics of task generate: tokens a second, the time to the first one and between the others, and which requests held their bounds.
// Everything counts from the due time. The tokens of single queries are in the Record (record/token_series.h).
#include "analysis/latency_percentile.h"
#include "analysis/metric.h"
#include "analysis/throughput.h"
#include "record/fact_values.h"
#include "record/point_option.h"
#include "record/token_series.h"
#include "stats/correlated.h"
#include "stats/latency_bound.h"
#include "stats/moments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

namespace deepgap {
namespace {

using Streams = std::vector<TokenStream>;
using Values = std::vector<double>;

Streams streams_of(const Record& record) { return record.outcome == Outcome::ok ? token_streams(record) : Streams(); }

Values each(const Streams& streams, const std::function<std::optional<double>(const TokenStream&)>& of) {
  Values values;
  for (const TokenStream& stream : streams)
    if (const auto value = of(stream)) values.push_back(*value);
  return values;
}

std::optional<Estimate> mean_of(const Values& values) {
  if (values.empty()) return std::nullopt;
  Moments moments;
  for (const double value : values) moments.add(value);
  Estimate estimate{moments.mean(), {}, {}, static_cast<int64_t>(values.size())};
  if (const auto correlated = estimate_correlated_mean(values)) {
    const Interval interval = correlated->interval();
    estimate.low = interval.low;
    estimate.high = interval.high;
  }
  return estimate;
}

// The times that the report's table of points shows.
MetricColumn column_of(const std::string& id) {
  static const std::map<std::string, MetricColumn> columns{{"ttft_p50_ms", {40}}, {"ttft_p99_ms", {50, true}}, {"tpot_ms", {60}}};
  const auto found = columns.find(id);
  return found == columns.end() ? MetricColumn{} : found->second;
}

// Mean and percentiles of a time.
std::vector<Metric> times(const std::string& stem, const std::string& describe, const std::function<Values(const Streams&)>& of) {
  std::vector<Metric> family;
  const auto values_of = [of](const Record& record) { return of(streams_of(record)); };
  family.push_back({stem + "_ms", "ms", Better::lower, "generation: " + describe + ", mean",
                    [values_of](const Record& record) { return mean_of(values_of(record)); }});
  for (const int percent : {50, 90, 95, 99}) {
    family.push_back({fmt::format("{}_p{}_ms", stem, percent), "ms", Better::lower,
                      fmt::format("generation: {}, {}th percentile by nearest rank; interval from order statistics", describe, percent),
                      [values_of, percent](const Record& record) -> std::optional<Estimate> {
                        const Values values = values_of(record);
                        if (values.empty()) return std::nullopt;
                        return percentile_of_series(values, percent);
                      }});
  }
  for (Metric& metric : family) metric.column = column_of(metric.id);
  return family;
}

// The widths of two intervals joined, as for factors that vary by themselves.
double joined_share(const Estimate& a, const Estimate& b, const std::function<double(const Estimate&)>& share) {
  const auto of = [&](const Estimate& e) { return e.low && e.high && e.value > 0 ? share(e) : 0; };
  return std::hypot(of(a), of(b));
}

// A rate over the window: finished requests a second, multiplied by the mean of `of` over these requests.
std::optional<Estimate> rate_of(const Record& record, const std::function<std::optional<double>(const TokenStream&)>& of) {
  const auto requests = steady_throughput(record);
  const auto mean = mean_of(each(streams_of(record), of));
  if (!requests || !mean) return std::nullopt;
  Estimate rate{requests->value * mean->value, {}, {}, mean->n};
  if (!requests->low || !requests->high) return rate;
  const auto is_positive = [](const Estimate& e) { return e.low.value_or(e.value) > 0; };
  if (is_positive(*requests) && is_positive(*mean)) {  // on a scale of logarithms
    const double factor = std::exp(joined_share(*requests, *mean, [](const Estimate& e) { return std::log(*e.high / *e.low) / 2; }));
    rate.low = rate.value / factor;
    rate.high = rate.value * factor;
  } else {  // 0 is possible: no request may have held its bounds
    const double width = rate.value * joined_share(*requests, *mean, [](const Estimate& e) { return (*e.high - *e.low) / 2 / e.value; });
    rate.low = std::max(rate.value - width, 0.0);
    rate.high = rate.value + width;
  }
  return rate;
}

// Returns the tokens that the engine or server counts; if neither counts, the deliveries.
std::optional<double> output_tokens(const TokenStream& stream) {
  return static_cast<double>(stream.counts.output >= 0 ? stream.counts.output : stream.tokens());
}

std::function<std::optional<double>(const TokenStream&)> counted(int64_t TokenCounts::*field) {
  return [field](const TokenStream& stream) -> std::optional<double> {
    if (stream.counts.*field < 0) return std::nullopt;
    return static_cast<double>(stream.counts.*field);
  };
}

std::optional<Estimate> requests_per_s(const Record& record) {
  return streams_of(record).empty() ? std::nullopt : steady_throughput(record);
}

std::optional<Estimate> per_user(const Record& record) {
  const auto tpot = mean_of(each(streams_of(record), [](const TokenStream& s) { return s.tpot_ms(); }));
  if (!tpot || tpot->value <= 0) return std::nullopt;
  Estimate speed{1e3 / tpot->value, {}, {}, tpot->n};
  if (tpot->low && tpot->high && *tpot->low > 0) {
    speed.low = 1e3 / *tpot->high;
    speed.high = 1e3 / *tpot->low;
  }
  return speed;
}

// Returns whether a request held all bounds. A bound that does not apply, as a single token has no time per token, counts as held.
bool is_good(const TokenStream& stream, const std::vector<LatencyBound>& bounds) {
  return std::all_of(bounds.begin(), bounds.end(), [&](const LatencyBound& bound) {
    const auto value = bounded_ms(stream, bound.metric);
    return !value || *value * 1e6 <= static_cast<double>(bound.limit);
  });
}

std::optional<Estimate> goodput(const Record& record, bool as_share) {
  const std::string text = option_of(record.point, "bound");
  const Streams streams = streams_of(record);
  if (text.empty() || streams.empty()) return std::nullopt;
  const std::vector<LatencyBound> bounds = parse_latency_bounds(text);
  const auto good = [&](const TokenStream& stream) { return std::optional<double>(is_good(stream, bounds) ? 1 : 0); };
  if (!as_share) return rate_of(record, good);
  return mean_of(each(streams, good));
}

std::optional<Estimate> cached_tokens(const Record& record) {
  const Values values = each(streams_of(record), counted(&TokenCounts::cached));
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += value;
  return Estimate{sum, {}, {}, static_cast<int64_t>(values.size())};
}

// Returns an in-process engine's rate: tokens of the steps that did nothing else, over the time of these steps (llama-bench's pp and tg).
// The interval is that of the time per token of single requests, to which it is proportional.
std::optional<Estimate> engine_rate(const Record& record, const std::string& part, const std::optional<Estimate>& time) {
  const auto tokens = fact_number(record.facts, "session." + part + ".tokens"), ms = fact_number(record.facts, "session." + part + ".ms");
  if (record.outcome != Outcome::ok || !tokens || !ms || *tokens <= 0 || *ms <= 0) return std::nullopt;
  Estimate rate{1e3 * *tokens / *ms, {}, {}, static_cast<int64_t>(*tokens)};
  if (!time || !time->low || !time->high || *time->low <= 0) return rate;
  rate.low = rate.value * time->value / *time->high;
  rate.high = rate.value * time->value / *time->low;
  return rate;
}

// Time to the first token, for each token of the prompt.
std::optional<double> ttft_per_token(const TokenStream& stream) {
  const auto ttft = stream.ttft_ms();
  if (!ttft || stream.counts.input <= 0) return std::nullopt;
  return *ttft / static_cast<double>(stream.counts.input);
}

std::optional<Estimate> prefill_rate(const Record& record) {
  return engine_rate(record, "prefill", mean_of(each(streams_of(record), ttft_per_token)));
}
std::optional<Estimate> decode_rate(const Record& record) {
  return engine_rate(record, "decode", mean_of(each(streams_of(record), [](const TokenStream& s) { return s.tpot_ms(); })));
}
std::optional<Estimate> kv_cache_bytes(const Record& record) {
  const auto bytes = fact_number(record.facts, "session.kv_cache_bytes");
  if (record.outcome != Outcome::ok || !bytes) return std::nullopt;
  return Estimate{*bytes, {}, {}, 1};
}

// Tokens that came together with others, of those whose time between tokens counts.
std::optional<Estimate> split_share(const Record& record) {
  int64_t together = 0, all = 0;
  for (const TokenStream& stream : streams_of(record)) {
    for (const TokenDelivery& delivery : stream.deliveries) {
      all += delivery.count;
      together += delivery.count > 1 ? delivery.count : 0;
    }
  }
  if (all == 0) return std::nullopt;
  return Estimate{static_cast<double>(together) / static_cast<double>(all), {}, {}, all};
}

// The energy of the devices of this machine, or what the server's metrics report for its GPUs.
std::optional<double> joules_of(const Record& record) {
  if (const auto joules = fact_number(record.facts, "session.server.gpu_energy_j")) return joules;
  const Metric* energy = find_metric("energy_j");
  const auto found = energy == nullptr ? std::nullopt : energy->compute(record);
  return found ? std::optional(found->value) : std::nullopt;
}

std::optional<Estimate> energy_per_token(const Record& record) {
  const Streams streams = streams_of(record);
  double tokens = 0;
  for (const TokenStream& stream : streams) tokens += output_tokens(stream).value_or(0);
  const auto joules = tokens > 0 ? joules_of(record) : std::nullopt;
  if (!joules) return std::nullopt;
  return Estimate{*joules / tokens, {}, {}, static_cast<int64_t>(streams.size())};
}

Metric mean_count(const std::string& id, const std::string& describe, const std::function<std::optional<double>(const TokenStream&)>& of) {
  return {id, "1", Better::neither, "generation: " + describe + ", mean of the requests",
          [of](const Record& record) { return mean_of(each(streams_of(record), of)); }};
}

const bool registered =
    register_metrics(times("ttft", "time from when a request was due to its first token, reasoning included",
                           [](const Streams& s) { return each(s, [](const TokenStream& one) { return one.ttft_ms(); }); })) &&
    register_metrics(times("time_to_answer", "time from when a request was due to its first token that is not reasoning",
                           [](const Streams& s) { return each(s, [](const TokenStream& one) { return one.time_to_answer_ms(); }); })) &&
    register_metrics(times("tpot", "time per output token of a request after its first: from the first to the last, over tokens - 1",
                           [](const Streams& s) { return each(s, [](const TokenStream& one) { return one.tpot_ms(); }); })) &&
    register_metrics(times("itl", "time between two tokens; of several that came together each has an equal part (split_token_share)",
                           [](const Streams& s) { return inter_token_ms(s); })) &&
    register_metrics({
        {"requests_per_s", "1/s", Better::higher, "generation: requests finished in the measured window, divided by its length",
         requests_per_s},
        in_column({70, true}, {"output_tokens_per_s", "tokens/s", Better::higher,
                               "generation: tokens that the finished requests gave, divided by the window's length",
                               [](const Record& record) { return rate_of(record, output_tokens); }}),
        {"input_tokens_per_s", "tokens/s", Better::higher,
         "generation: tokens of the finished requests' prompts, divided by the window's length",
         [](const Record& record) { return rate_of(record, counted(&TokenCounts::input)); }},
        {"output_tokens_per_s_per_user", "tokens/s", Better::higher,
         "generation: tokens a second that one request gets once it has begun: 1000 / tpot_ms", per_user},
        {"prefill_tokens_per_s", "tokens/s", Better::higher,
         "generation in the process: tokens of prompts computed a second, in steps that compute prompts alone", prefill_rate},
        {"decode_tokens_per_s", "tokens/s", Better::higher,
         "generation in the process: tokens generated a second, of all requests together, in steps that compute answers alone",
         decode_rate},
        {"kv_cache_bytes", "bytes", Better::lower, "generation in the process: memory of the cache of keys and values", kv_cache_bytes},
        in_column({80}, {"goodput", "1/s", Better::higher, "generation: finished requests a second that met all limits (--slo)",
                         [](const Record& record) { return goodput(record, false); }}),
        {"goodput_share", "1", Better::higher, "generation: share of the finished requests that met all limits (--slo)",
         [](const Record& record) { return goodput(record, true); }},
        {"energy_j_per_token", "J", Better::lower,
         "generation: energy of the window, of the devices or of the server's GPUs by its metrics, over the tokens that its requests gave",
         energy_per_token},
        over_repeats(Combine::sum,
                     {"cached_tokens", "1", Better::neither,
                      "generation: tokens of prompts that were not computed again, as the engine or server counts", cached_tokens}),
        {"split_token_share", "1", Better::neither,
         "generation: share of the tokens that came together with others, so that the time between them is an equal part", split_share},
        mean_count("input_tokens", "tokens of the prompt", counted(&TokenCounts::input)),
        mean_count("output_tokens", "tokens generated", output_tokens),
    });

}  // namespace
}  // namespace deepgap
