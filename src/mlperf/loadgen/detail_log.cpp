#include "mlperf/loadgen/detail_log.h"

#include "base/dump_json.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

std::string utc(int64_t unix_ns, const char* format) {
  const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  return fmt::format(fmt::runtime(format), fmt::gmtime(seconds));
}

// Prints the time as power meters' logs have it.
std::string power_time(int64_t unix_ns) { return utc(unix_ns, "{:%m-%d-%Y %H:%M:%S}") + fmt::format(".{:03}", unix_ns / 1'000'000 % 1000); }

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

}  // namespace

LoadgenDetailLog::LoadgenDetailLog(std::ostream& out, const Clock& clock, int64_t origin_unix_ns)
    : out_(out), clock_(clock), origin_(clock.now()), origin_unix_ns_(origin_unix_ns) {}

void LoadgenDetailLog::entry(const std::string& key, const std::string& json_value, bool error) {
  errors_ += error ? 1 : 0;
  out_ << fmt::format(
      ":::MLLOG {{\"key\": \"{}\", \"value\": {}, \"time_ms\": {:.6f}, \"namespace\": \"mlperf::logging\", \"event_type\": "
      "\"POINT_IN_TIME\", \"metadata\": {{\"is_error\": {}, \"is_warning\": false, \"file\": \"deepgap\", \"line_no\": 0, \"pid\": {}, "
      "\"tid\": {}}}}}\n",
      key, json_value, static_cast<double>(clock_.now() - origin_) / 1e6, error, ::getpid(), ::gettid());
}

void LoadgenDetailLog::put(const std::string& key, const std::string& text) { entry(key, dump_ascii_line(nlohmann::json(text))); }

void LoadgenDetailLog::put(const std::string& key, double value) { entry(key, std::isfinite(value) ? fmt::format("{:g}", value) : "null"); }

// The keys that LoadGen writes about its own sources have no counterpart; they stay.
void LoadgenDetailLog::begin(const LoadgenLogNames& names, const LoadgenSettings& settings) {
  put("loadgen_version", names.version + " @ " + names.program);
  for (const char* key : {"loadgen_build_date_local", "loadgen_build_date_utc", "loadgen_git_commit_date", "loadgen_git_log_message",
                          "loadgen_git_status_message"}) {
    put(key, "NA");
  }
  entry("loadgen_file_sha1", "{}");
  put("test_datetime", utc(origin_unix_ns_, "{:%Y-%m-%dT%H:%M:%SZ}"));
  put("sut_name", names.system);
  put("get_sut_name_duration_ns", 0);
  put("qsl_name", names.library);
  put("qsl_reported_total_count", settings.total_sample_count);
  put("qsl_reported_performance_count", effective_settings(settings).performance_sample_count);
  requested(settings);
  effective(settings);
}

void LoadgenDetailLog::requested(const LoadgenSettings& s) {
  const double percentile = effective_settings(s).target_latency_percentile;
  put("requested_scenario", name_of(s.scenario));
  put("requested_test_mode", name_of(s.mode));
  switch (s.scenario) {
    case LoadgenScenario::single_stream:
      put("requested_single_stream_expected_latency_ns", s.expected_latency_ns);
      put("requested_single_stream_target_latency_percentile", percentile);
      break;
    case LoadgenScenario::multi_stream:
      put("requested_multi_stream_expected_latency_ns", s.expected_latency_ns);
      put("requested_multi_stream_target_latency_percentile", percentile);
      put("requested_multi_stream_samples_per_query", s.samples_per_query);
      break;
    case LoadgenScenario::server:
      put("requested_server_target_qps", s.target_qps);
      put("requested_server_target_latency_ns", s.target_latency_ns);
      put("requested_server_target_latency_percentile", percentile);
      put("requested_server_coalesce_queries", s.coalesce_queries);
      put("requested_server_find_peak_qps_decimals_of_precision", 1);
      put("requested_server_find_peak_qps_boundary_step_size", 1);
      put("requested_server_max_async_queries", s.max_async_queries);
      put("requested_server_num_issue_query_threads", 0);
      break;
    case LoadgenScenario::offline:
      put("requested_offline_expected_qps", s.target_qps);
      break;
  }
  put("requested_min_duration_ms", s.min_duration_ms);
  put("requested_max_duration_ms", s.max_duration_ms);
  put("requested_min_query_count", s.min_query_count);
  put("requested_max_query_count", s.max_query_count);
  seeds_and_order("requested", s);
  put("requested_performance_sample_count_override", 0);  // it is what the library reports
  if (s.rules != LoadgenRules::v5) put("requested_accuracy_sample_count_override", s.accuracy_sample_count);
  put("requested_sample_concatenate_permutation", s.equal_issue);
  if (!s.token_latencies) return;
  put("requested_use_token_latencies", true);
  if (s.scenario == LoadgenScenario::offline) return;
  put("requested_server_ttft_latency", s.ttft_latency_ns);
  put("requested_server_tpot_latency", s.tpot_latency_ns);
}

// Keys that stand among the requested and the effective settings alike.
void LoadgenDetailLog::seeds_and_order(const std::string& which, const LoadgenSettings& s) {
  put(which + "_qsl_rng_seed", s.qsl_rng_seed);
  put(which + "_sample_index_rng_seed", s.sample_index_rng_seed);
  put(which + "_schedule_rng_seed", s.schedule_rng_seed);
  put(which + "_accuracy_log_rng_seed", s.accuracy_log_rng_seed);
  put(which + "_accuracy_log_probability", s.accuracy_log_probability);
  put(which + "_accuracy_log_sampling_target", s.accuracy_log_sampling_target);
  put(which + "_print_timestamps", false);
  put(which + "_performance_issue_unique", s.issue_unique);
  put(which + "_performance_issue_same", s.issue_same);
  put(which + "_performance_issue_same_index", s.issue_same_index);
}

void LoadgenDetailLog::effective(const LoadgenSettings& s) {
  const EffectiveLoadgenSettings e = effective_settings(s);
  put("effective_scenario", name_of(s.scenario));
  put("effective_test_mode", name_of(s.mode));
  put("effective_samples_per_query", e.samples_per_query);
  put("effective_target_qps", e.target_qps);
  put("effective_target_latency_ns", e.target_latency_ns);
  put("effective_target_latency_percentile", e.target_latency_percentile);
  put("effective_max_async_queries", e.max_async_queries);
  put("effective_target_duration_ms", e.target_duration_ns / 1000000);
  put("effective_min_duration_ms", s.min_duration_ms);
  put("effective_max_duration_ms", s.max_duration_ms);
  put("effective_min_query_count", e.min_query_count);
  put("effective_max_query_count", s.max_query_count);
  put("effective_min_sample_count", e.min_sample_count);
  seeds_and_order("effective", s);
  put("effective_performance_sample_count", e.performance_sample_count);
  if (s.rules != LoadgenRules::v5) put("effective_accuracy_sample_count", e.accuracy_sample_count);
  put("effective_sample_concatenate_permutation", s.equal_issue);
}

void LoadgenDetailLog::phase(LoadgenMode mode) {
  put("generic_message", mode == LoadgenMode::accuracy ? "Starting accuracy mode" : "Starting performance mode");
}

void LoadgenDetailLog::loaded(const std::vector<uint32_t>& indices) {
  entry("loaded_qsl_set", fmt::format("[{}]", fmt::join(indices, ",")));
}

void LoadgenDetailLog::issued(const LoadgenPhaseResult& result) {
  put("generated_query_count", result.generated.queries);
  put("generated_samples_per_query", result.generated.samples_per_query);
  put("generated_query_duration", result.generated.duration_ns);
  if (result.ended_naturally) put("generic_message", "Ending naturally: Minimum query count and test duration met.");
  for (const std::string& error : result.errors) entry("error_runtime", dump_ascii_line(nlohmann::json(error)), true);
  // The counters of LoadGen's logger; nothing here is tried again.
  for (const char* key : {"logger_swap_request_slots_retry_count", "logger_swap_request_slots_retry_retry_count",
                          "logger_swap_request_slots_retry_reencounter_count", "logger_start_reading_entries_retry_count",
                          "logger_tls_total_log_cas_fail_count", "logger_tls_total_swap_buffers_slot_retry_count"}) {
    put(key, 0);
  }
  put("power_begin", power_time(unix_ns(result.start)));
  put("power_end", power_time(unix_ns(result.start + result.active_ns)));
}

void LoadgenDetailLog::verdict(const LoadgenSettings& settings, const LoadgenVerdict& verdict, int64_t queries) {
  const bool server = settings.scenario == LoadgenScenario::server;
  put("result_validity", verdict.valid ? "VALID" : "INVALID");
  if (server) put("result_perf_constraints_met", verdict.latency_met);
  put("result_min_duration_met", verdict.min_duration_met);
  put("result_min_queries_met", verdict.min_queries_met);
  put("early_stopping_met", verdict.early_stopping_met);
  if (!verdict.valid) put("result_invalid_reason", joined(verdict.reasons));
  if (verdict.tokens) {
    put("early_stopping_ttft_result", one_line(verdict.tokens->first_stopping));
    put("early_stopping_tpot_result", one_line(verdict.tokens->each_stopping));
  } else {
    put("early_stopping_result", one_line(verdict.early_stopping));
  }
  put("result_query_count", queries);
  if (server) put("result_overlatency_query_count", verdict.late_queries);
  scores(settings, verdict);
  latencies(verdict.sample, "");
  if (verdict.tokens) tokens(settings.scenario, *verdict.tokens);
  if (verdict.inferred_tokens_per_s)
    put(server ? "result_inferred_completed_tokens_per_second" : "result_inferred_tokens_per_second", *verdict.inferred_tokens_per_s);
  put("num_errors", errors_);
}

void LoadgenDetailLog::scores(const LoadgenSettings& settings, const LoadgenVerdict& verdict) {
  switch (settings.scenario) {
    case LoadgenScenario::single_stream:
      put("result_qps_with_loadgen_overhead", verdict.qps_with_overhead.value_or(NAN));
      put("result_qps_without_loadgen_overhead", verdict.qps_without_overhead.value_or(NAN));
      put("early_stopping_latency_ss", verdict.early_stopping_90_ns);
      put("early_stopping_latency_ms", verdict.early_stopping_99_ns);
      break;
    case LoadgenScenario::multi_stream:
      latencies(verdict.query, "query_");
      put("early_stopping_latency_ms", verdict.early_stopping_99_ns);
      break;
    case LoadgenScenario::server:
      put("result_scheduled_samples_per_sec", verdict.scheduled_per_s.value_or(NAN));
      put("result_completed_samples_per_sec", verdict.completed_per_s.value_or(NAN));
      break;
    case LoadgenScenario::offline:
      put("result_samples_per_second", verdict.samples_per_s.value_or(NAN));
      break;
  }
}

void LoadgenDetailLog::tokens(LoadgenScenario scenario, const LoadgenTokenVerdict& tokens) {
  if (scenario == LoadgenScenario::offline) return put("result_tokens_per_second", tokens.completed_per_s.value_or(NAN));
  put("result_first_token_min_latency_ns", tokens.first.min_ns);
  put("result_first_token_max_latency_ns", tokens.first.max_ns);
  put("result_first_token_mean_latency_ns", tokens.first.mean_ns);
  for (size_t i = 0; i < loadgen_percentiles.size(); ++i)
    put(fmt::format("result_first_token_{:.2f}_percentile_latency_ns", loadgen_percentiles[i] * 100), tokens.first.percentile_ns[i]);
  put("result_token_throughput_with_loadgen_overhead", tokens.with_overhead_per_s.value_or(NAN));
  put("result_token_throughput", tokens.without_overhead_per_s.value_or(NAN) / 1e9);  // LoadGen counts tokens per nanosecond here
  for (size_t i = 0; i < loadgen_percentiles.size(); ++i)
    put(fmt::format("result_time_per_output_token_{:.2f}_percentile_ns", loadgen_percentiles[i] * 100), tokens.each.percentile_ns[i]);
  put("result_time_to_output_token_min", tokens.each.min_ns);
  put("result_time_to_output_token_max", tokens.each.max_ns);
  put("result_time_to_output_token_mean", tokens.each.mean_ns);
  put("result_completed_tokens_per_second", tokens.completed_per_s.value_or(NAN));
}

void LoadgenDetailLog::latencies(const LoadgenLatencies& latencies, const std::string& what) {
  put("result_min_" + what + "latency_ns", latencies.min_ns);
  put("result_max_" + what + "latency_ns", latencies.max_ns);
  put("result_mean_" + what + "latency_ns", latencies.mean_ns);
  const std::string per = what.empty() ? "" : "per_" + what;
  for (size_t i = 0; i < loadgen_percentiles.size(); ++i)
    put(fmt::format("result_{:.2f}_percentile_{}latency_ns", loadgen_percentiles[i] * 100, per), latencies.percentile_ns[i]);
}

}  // namespace deepgap
