#include "mlperf/loadgen/verdict.h"

#include "base/quantity.h"
#include "stats/early_stopping.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

using Scenario = LoadgenScenario;

int64_t at_percentile(const std::vector<int64_t>& sorted, double percentile) {
  return sorted[static_cast<size_t>(static_cast<double>(sorted.size()) * percentile)];
}

LoadgenLatencies summarize(std::vector<int64_t>& latencies, double target_percentile) {
  LoadgenLatencies summary;
  if (latencies.empty()) return summary;
  std::sort(latencies.begin(), latencies.end());
  __int128 sum = 0;
  for (const int64_t latency : latencies) sum += latency;
  summary.min_ns = latencies.front();
  summary.max_ns = latencies.back();
  summary.mean_ns = static_cast<int64_t>(sum / static_cast<int64_t>(latencies.size()));
  for (size_t i = 0; i < loadgen_percentiles.size(); ++i) summary.percentile_ns[i] = at_percentile(latencies, loadgen_percentiles[i]);
  summary.target_percentile_ns = at_percentile(latencies, target_percentile);
  return summary;
}

// The latency that bounds `percentile` with early stopping's confidence.
std::optional<int64_t> estimate(const std::vector<int64_t>& sorted, double percentile) {
  const auto discards = early_stopping_discards(percentile, static_cast<int64_t>(sorted.size()));
  if (!discards) return std::nullopt;
  return sorted[sorted.size() - static_cast<size_t>(*discards)];
}

int64_t fewest_queries(double percentile) { return early_stopping_min_within(percentile, 1) + 1; }

class Judge {
 public:
  Judge(const LoadgenSettings& settings, LoadgenPhaseResult& result)
      : settings_(settings), effective_(effective_settings(settings)), result_(result) {}

  LoadgenVerdict judge();

 private:
  void score();
  void score_tokens();
  void check_duration();
  void check_counts();
  void check_latency();
  void check_bound(const std::string& what, int64_t latency_ns, int64_t bound_ns);
  void stop_early();
  bool stop_on(const std::vector<int64_t>& samples, int64_t bound_ns, std::string& text);
  bool stop_server(const std::vector<int64_t>& sorted, int64_t bound_ns, std::string& text);
  bool stop_stream(const std::vector<int64_t>& sorted, int64_t& official_ns, std::string& text);
  void also_estimate_99(const std::vector<int64_t>& sorted, std::string& text);
  bool is(Scenario scenario) const { return settings_.scenario == scenario; }
  bool refuse(bool& met, const std::string& why) {
    met = false;
    verdict_.reasons.push_back(why);
    return false;
  }

  const LoadgenSettings& settings_;
  const EffectiveLoadgenSettings effective_;
  LoadgenPhaseResult& result_;
  LoadgenVerdict verdict_;
};

double per_s(double count, int64_t ns) { return count / (static_cast<double>(ns) / 1e9); }

LoadgenVerdict Judge::judge() {
  verdict_.samples = static_cast<int64_t>(result_.sample_latency_ns.size());
  verdict_.sample = summarize(result_.sample_latency_ns, effective_.target_latency_percentile);
  verdict_.query = summarize(result_.query_latency_ns, effective_.target_latency_percentile);
  score();
  if (settings_.token_latencies) score_tokens();
  verdict_.min_duration_met = verdict_.min_queries_met = verdict_.latency_met = verdict_.early_stopping_met = true;
  check_latency();
  check_duration();
  check_counts();
  stop_early();
  verdict_.valid = verdict_.reasons.empty();
  return std::move(verdict_);
}

// The last query begins the open end of the time: n - 1 intervals lie before it.
void Judge::score() {
  const auto n = static_cast<double>(verdict_.samples);
  const auto factor = static_cast<double>(settings_.token_latency_scaling_factor);
  switch (settings_.scenario) {
    case Scenario::server: {
      const auto& latencies = result_.sample_latency_ns;
      verdict_.late_queries = latencies.end() - std::upper_bound(latencies.begin(), latencies.end(), effective_.target_latency_ns);
      if (result_.last_scheduled_ns > 0) verdict_.scheduled_per_s = per_s(n - 1, result_.last_scheduled_ns);
      if (result_.last_done_ns > 0) verdict_.completed_per_s = per_s(n - 1, result_.last_done_ns);
      if (settings_.infers_tokens && result_.last_done_ns > 0)
        verdict_.inferred_tokens_per_s = per_s(factor * (n - 1), result_.last_done_ns);
      break;
    }
    case Scenario::offline:
      if (verdict_.sample.max_ns > 0) verdict_.samples_per_s = per_s(n, verdict_.sample.max_ns);
      if (settings_.infers_tokens && verdict_.sample.max_ns > 0) verdict_.inferred_tokens_per_s = per_s(factor * n, verdict_.sample.max_ns);
      break;
    case Scenario::single_stream:
      if (result_.last_issued_ns > 0) verdict_.qps_with_overhead = per_s(n - 1, result_.last_issued_ns);
      if (verdict_.sample.mean_ns > 0) verdict_.qps_without_overhead = per_s(1, verdict_.sample.mean_ns);
      break;
    case Scenario::multi_stream:
      break;
  }
}

void Judge::score_tokens() {
  LoadgenTokenVerdict& tokens = verdict_.tokens.emplace();
  for (const int64_t count : result_.tokens) tokens.count += count;
  tokens.first = summarize(result_.first_token_ns, effective_.target_latency_percentile);
  tokens.each = summarize(result_.per_token_ns, effective_.target_latency_percentile);
  const auto count = static_cast<double>(tokens.count);
  const int64_t completed = is(Scenario::offline) ? verdict_.sample.max_ns : result_.last_done_ns;
  const int64_t all = verdict_.sample.mean_ns * verdict_.samples;
  if (completed > 0) tokens.completed_per_s = per_s(count, completed);
  if (result_.last_issued_ns > 0) tokens.with_overhead_per_s = per_s(count, result_.last_issued_ns);
  if (all > 0) tokens.without_overhead_per_s = per_s(count, all);
}

void Judge::check_latency() {
  if (!is(Scenario::server)) return;
  if (!verdict_.tokens) return check_bound("latency", verdict_.sample.target_percentile_ns, effective_.target_latency_ns);
  check_bound("time to first token", verdict_.tokens->first.target_percentile_ns, settings_.ttft_latency_ns);
  check_bound("time per output token", verdict_.tokens->each.target_percentile_ns, settings_.tpot_latency_ns);
}

void Judge::check_bound(const std::string& what, int64_t latency_ns, int64_t bound_ns) {
  if (latency_ns <= bound_ns) return;
  refuse(verdict_.latency_met,
         fmt::format("p{:g} {} is {}, above the SLO of {}: lower target_qps", effective_.target_latency_percentile * 100, what,
                     milliseconds_text(static_cast<double>(latency_ns) / 1e6), milliseconds_text(static_cast<double>(bound_ns) / 1e6)));
}

void Judge::check_duration() {
  const bool server = settings_.scenario == Scenario::server, offline = settings_.scenario == Scenario::offline;
  const int64_t lasted = offline ? verdict_.sample.max_ns : server ? result_.last_scheduled_ns : result_.last_issued_ns;
  if (lasted >= settings_.min_duration_ms * 1000000) return;
  const char* change = offline || server ? "state a higher target_qps, so that more is generated"
                                         : "state a lower target_latency, the one that is expected, so that more queries are generated";
  refuse(verdict_.min_duration_met,
         fmt::format("the run lasted {}, min_duration is {}: {}", milliseconds_text(static_cast<double>(lasted) / 1e6),
                     milliseconds_text(static_cast<double>(settings_.min_duration_ms)), change));
}

void Judge::check_counts() {
  if (result_.queries >= effective_.min_query_count && verdict_.samples >= effective_.min_sample_count) return;
  refuse(verdict_.min_queries_met,
         fmt::format("{} queries of {} samples were issued; the rules require {} of {}{}", result_.queries, verdict_.samples,
                     effective_.min_query_count, effective_.min_sample_count, result_.errors.empty() ? "" : ": " + result_.errors.front()));
}

// LoadGen looks at the first token only where the others' times let the run stop.
void Judge::stop_early() {
  if (is(Scenario::offline)) return;
  if (!verdict_.tokens) {
    stop_on(result_.sample_latency_ns, effective_.target_latency_ns, verdict_.early_stopping);
    return;
  }
  LoadgenTokenVerdict& tokens = *verdict_.tokens;
  if (stop_on(result_.per_token_ns, settings_.tpot_latency_ns, tokens.each_stopping))
    stop_on(result_.first_token_ns, settings_.ttft_latency_ns, tokens.first_stopping);
}

// Whether the run may stop, by the sorted latencies of its samples; MultiStream goes by its queries.
bool Judge::stop_on(const std::vector<int64_t>& samples, int64_t bound_ns, std::string& text) {
  if (is(Scenario::server)) return stop_server(samples, bound_ns, text);
  if (is(Scenario::multi_stream)) return stop_stream(result_.query_latency_ns, verdict_.early_stopping_99_ns, text);
  if (!stop_stream(samples, verdict_.early_stopping_90_ns, text)) return false;
  also_estimate_99(samples, text);
  return true;
}

bool Judge::stop_server(const std::vector<int64_t>& sorted, int64_t bound_ns, std::string& text) {
  const int64_t late = sorted.end() - std::upper_bound(sorted.begin(), sorted.end(), bound_ns), issued = result_.queries;
  if (early_stopping_met(effective_.target_latency_percentile, issued, late)) {
    text = " * Run successful.";
    return true;
  }
  const int64_t more = early_stopping_min_within(effective_.target_latency_percentile, late) + late - issued;
  text = fmt::format(
      " * Run unsuccessful.\n * Processed {} queries.\n * Would need to run at least {} more queries,\n"
      " with the run being successful if every additional\n query were under latency.",
      issued, more);
  return refuse(verdict_.early_stopping_met,
                fmt::format("early stopping: {} of {} queries were late; at least {} more, all in time, would show that the SLO is met",
                            late, issued, more));
}

bool Judge::stop_stream(const std::vector<int64_t>& sorted, int64_t& official_ns, std::string& text) {
  const double percentile = effective_.target_latency_percentile;
  const int64_t fewest = fewest_queries(percentile);
  const auto found = estimate(sorted, percentile);
  if (!found) {
    text =
        fmt::format(" * Only processed {} queries.\n * Need to process at least {} queries for early stopping.", result_.queries, fewest);
    return refuse(verdict_.early_stopping_met,
                  fmt::format("early stopping needs at least {} queries, {} were issued: raise min_query_count", fewest, result_.queries));
  }
  official_ns = *found;
  text = fmt::format(
      " * Processed at least {} queries ({}).\n * Would discard {} highest latency queries.\n * Early stopping {:.1f}th percentile "
      "estimate: {}",
      fewest, result_.queries, *early_stopping_discards(percentile, result_.queries) - 1, percentile * 100, *found);
  return true;
}

// Adds the 99th percentile, from which MultiStream's latency is inferred.
void Judge::also_estimate_99(const std::vector<int64_t>& sorted, std::string& text) {
  constexpr double percentile = 0.99;
  const auto found = estimate(sorted, percentile);
  if (found) {
    verdict_.early_stopping_99_ns = *found;
    text += fmt::format("\n * Early stopping 99.0th percentile estimate: {}", *found);
  } else {
    text += fmt::format(
        "\n * Not enough queries processed for 99.0th percentile\n early stopping estimate (would need to process at\n least {} total "
        "queries).",
        fewest_queries(percentile));
  }
}

}  // namespace

LoadgenVerdict judge(const LoadgenSettings& settings, LoadgenPhaseResult& result) { return Judge(settings, result).judge(); }

}  // namespace deepgap
