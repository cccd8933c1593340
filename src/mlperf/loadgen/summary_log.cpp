#include "mlperf/loadgen/summary_log.h"

#include <fmt/format.h>

#include <cmath>

namespace deepgap {
namespace {

class SummaryText {
 public:
  SummaryText(const std::string& system, const LoadgenSettings& settings, const LoadgenVerdict& verdict)
      : system_(system), settings_(settings), effective_(effective_settings(settings)), verdict_(verdict) {}

  std::string make();

 private:
  void title(const char* text) {
    const std::string rule(48, '=');
    line("{}\n{}\n{}", rule, text, rule);
  }
  template <typename... Fields>
  void line(fmt::format_string<Fields...> format, Fields&&... fields) {
    text_ += fmt::format(format, std::forward<Fields>(fields)...) + "\n";
  }
  void score();
  void validity();
  void statistics();
  void latencies(const LoadgenLatencies& latencies);
  void token_score();
  void token_statistics();
  void token_latencies(const LoadgenLatencies& latencies, const char* what, const char* percentile);  // LoadGen's words
  void parameters();
  bool is(LoadgenScenario scenario) const { return settings_.scenario == scenario; }

  const std::string& system_;
  const LoadgenSettings& settings_;
  const EffectiveLoadgenSettings effective_;
  const LoadgenVerdict& verdict_;
  std::string text_;
};

const char* yes(bool met) { return met ? "Yes" : "NO"; }

std::string SummaryText::make() {
  title("MLPerf Results Summary");
  line("SUT name : {}", system_);
  line("Scenario : {}", name_of(settings_.scenario));
  line("Mode     : {}", name_of(settings_.mode));
  score();
  if (verdict_.tokens) token_score();
  if (verdict_.inferred_tokens_per_s && is(LoadgenScenario::offline))
    line("Tokens per second (inferred): {:g}", *verdict_.inferred_tokens_per_s);
  if (verdict_.inferred_tokens_per_s && is(LoadgenScenario::server))
    line("Completed tokens per second (inferred): {:.2f}", *verdict_.inferred_tokens_per_s);
  validity();
  line("");
  title("Additional Stats");
  statistics();
  if (verdict_.tokens) token_statistics();
  line("");
  title("Test Parameters Used");
  parameters();
  return std::move(text_);
}

void SummaryText::score() {
  const double percentile = effective_.target_latency_percentile * 100;
  switch (settings_.scenario) {
    case LoadgenScenario::single_stream:
      line("{:.1f}th percentile latency (ns) : {}", percentile, verdict_.sample.target_percentile_ns);
      break;
    case LoadgenScenario::multi_stream:
      line("{:.1f}th percentile latency (ns) : {}", percentile, verdict_.query.target_percentile_ns);
      break;
    case LoadgenScenario::server:
      line("Completed samples per second    : {:.2f}", verdict_.completed_per_s.value_or(NAN));
      break;
    case LoadgenScenario::offline:
      line("Samples per second: {:g}", verdict_.samples_per_s.value_or(NAN));
      break;
  }
}

void SummaryText::validity() {
  line("Result is : {}", verdict_.valid ? "VALID" : "INVALID");
  if (is(LoadgenScenario::server)) line("  Performance constraints satisfied : {}", yes(verdict_.latency_met));
  line("  Min duration satisfied : {}", yes(verdict_.min_duration_met));
  line("  Min queries satisfied : {}", yes(verdict_.min_queries_met));
  line("  Early stopping satisfied: {}", yes(verdict_.early_stopping_met));
  if (!verdict_.valid) line("Recommendations:");
  for (const std::string& reason : verdict_.reasons) line(" * {}", reason);
  if (is(LoadgenScenario::offline)) return;
  if (verdict_.tokens) {
    line("TTFT Early Stopping Result:\n{}", verdict_.tokens->first_stopping);
    line("TPOT Early Stopping Result:\n{}", verdict_.tokens->each_stopping);
  } else {
    line("Early Stopping Result:\n{}", verdict_.early_stopping);
  }
}

void SummaryText::statistics() {
  if (is(LoadgenScenario::single_stream)) {
    line("QPS w/ loadgen overhead         : {:.2f}", verdict_.qps_with_overhead.value_or(NAN));
    line("QPS w/o loadgen overhead        : {:.2f}\n", verdict_.qps_without_overhead.value_or(NAN));
  }
  if (is(LoadgenScenario::server)) line("Scheduled samples per second : {:.2f}", verdict_.scheduled_per_s.value_or(NAN));
  if (is(LoadgenScenario::multi_stream)) line("Per-query latency:  ");
  latencies(is(LoadgenScenario::multi_stream) ? verdict_.query : verdict_.sample);
}

void SummaryText::latencies(const LoadgenLatencies& latencies) {
  line("Min latency (ns)                : {}", latencies.min_ns);
  line("Max latency (ns)                : {}", latencies.max_ns);
  line("Mean latency (ns)               : {}", latencies.mean_ns);
  for (size_t i = 0; i < loadgen_percentiles.size(); ++i)
    line("{:.2f} percentile latency (ns)   : {}", loadgen_percentiles[i] * 100, latencies.percentile_ns[i]);
}

void SummaryText::token_score() {
  const LoadgenTokenVerdict& tokens = *verdict_.tokens;
  if (is(LoadgenScenario::offline)) {
    line("Tokens per second: {:g}", tokens.completed_per_s.value_or(NAN));
  } else if (is(LoadgenScenario::server)) {
    line("Completed tokens per second: {:.2f}", tokens.completed_per_s.value_or(NAN));
  } else {
    line("{:.1f}th first token percentile latency (ns) : {}", effective_.target_latency_percentile * 100,
         tokens.first.target_percentile_ns);
  }
}

void SummaryText::token_statistics() {
  const LoadgenTokenVerdict& tokens = *verdict_.tokens;
  line("");
  if (is(LoadgenScenario::single_stream)) {
    line("TPS w/ loadgen overhead         : {:.2f}", tokens.with_overhead_per_s.value_or(NAN));
    line("TPS w/o loadgen overhead        : {:.2f}", tokens.without_overhead_per_s.value_or(NAN));
  } else if (is(LoadgenScenario::server)) {
    line("Completed tokens per second                 : {:.2f}", tokens.completed_per_s.value_or(NAN));
  }
  if (is(LoadgenScenario::offline)) return;
  token_latencies(tokens.first, "First Token latency (ns)", "first token latency (ns)");
  line("");
  token_latencies(tokens.each, "Time per Output Token (ns)", "time to output token (ns)");
}

void SummaryText::token_latencies(const LoadgenLatencies& latencies, const char* what, const char* percentile) {
  line("Min {}                : {}", what, latencies.min_ns);
  line("Max {}                : {}", what, latencies.max_ns);
  line("Mean {}               : {}", what, latencies.mean_ns);
  for (size_t i = 0; i < loadgen_percentiles.size(); ++i)
    line("{:.2f} percentile {}   : {}", loadgen_percentiles[i] * 100, percentile, latencies.percentile_ns[i]);
}

void SummaryText::parameters() {
  line("samples_per_query : {}", effective_.samples_per_query);
  line("target_qps : {:g}", effective_.target_qps);
  if (settings_.token_latencies) {
    line("ttft_latency (ns): {}", settings_.ttft_latency_ns);
    line("tpot_latency (ns): {}", settings_.tpot_latency_ns);
  } else {
    line("target_latency (ns): {}", effective_.target_latency_ns);
  }
  line("max_async_queries : {}", effective_.max_async_queries);
  line("min_duration (ms): {}", settings_.min_duration_ms);
  line("max_duration (ms): {}", settings_.max_duration_ms);
  line("min_query_count : {}", effective_.min_query_count);
  line("max_query_count : {}", settings_.max_query_count);
  line("qsl_rng_seed : {}", settings_.qsl_rng_seed);
  line("sample_index_rng_seed : {}", settings_.sample_index_rng_seed);
  line("schedule_rng_seed : {}", settings_.schedule_rng_seed);
  line("accuracy_log_rng_seed : {}", settings_.accuracy_log_rng_seed);
  line("accuracy_log_probability : {:g}", settings_.accuracy_log_probability);
  line("accuracy_log_sampling_target : {}", settings_.accuracy_log_sampling_target);
  line("print_timestamps : 0");
  line("performance_issue_unique : {:d}", settings_.issue_unique);
  line("performance_issue_same : {:d}", settings_.issue_same);
  line("performance_issue_same_index : {}", settings_.issue_same_index);
  line("performance_sample_count : {}", effective_.performance_sample_count);
  if (settings_.rules != LoadgenRules::v5) line("accuracy_sample_count : {}", effective_.accuracy_sample_count);
  if (settings_.equal_issue)
    line(
        "WARNING: sample_concatenate_permutation was set to true: generated_samples_per_query in the detailed log "
        "is the real samples_per_query");
}

}  // namespace

std::string loadgen_summary(const std::string& system, const LoadgenSettings& settings, const LoadgenVerdict* verdict, int64_t errors) {
  std::string text = verdict == nullptr ? "" : SummaryText(system, settings, *verdict).make();
  text += "\nNo warnings encountered during test.\n\n";
  if (errors == 0) return text + "No errors encountered during test.\n";
  return text + (errors == 1 ? "1 ERROR" : fmt::format("{} ERRORS", errors)) + " encountered. See detailed log.\n";
}

}  // namespace deepgap
