#include "mlperf/loadgen/settings.h"

#include "base/messages.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

// Far above any round's; they keep memory, time and 64-bit sums within bounds.
constexpr int64_t most_samples = 100'000'000;
constexpr int64_t most_queries = 10'000'000'000;
constexpr int64_t most_duration_ms = int64_t{1000} * 3600 * 24 * 365;

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::usage, "MLPerf settings: " + what); }

void check_range(const char* name, int64_t value, int64_t least, int64_t most) {
  if (value < least || value > most) refuse(fmt::format("{} is {}; it must be from {} to {}", name, value, least, most));
}

bool has_rate(LoadgenScenario scenario) { return scenario == LoadgenScenario::server || scenario == LoadgenScenario::offline; }

void check_numbers(const LoadgenSettings& settings) {
  check_range("total_sample_count", settings.total_sample_count, 1, most_samples);
  check_range("performance_sample_count", settings.performance_sample_count, 0, most_samples);
  check_range("accuracy_sample_count", settings.accuracy_sample_count, 0, most_samples);
  check_range("min_duration_ms", settings.min_duration_ms, 0, most_duration_ms);
  check_range("min_query_count", settings.min_query_count, 1, most_queries);
  check_range("max_query_count", settings.max_query_count, 0, most_queries);
  check_range("max_duration_ms", settings.max_duration_ms, 0, most_duration_ms);
  check_range("target_latency_ns", settings.target_latency_ns, 0, most_duration_ms * 1000000);
  check_range("max_async_queries", settings.max_async_queries, 0, most_queries);
  check_range("expected_latency_ns", settings.expected_latency_ns, 1, most_duration_ms * 1000000);
  check_range("samples_per_query", settings.samples_per_query, 1, most_samples);
  check_range("ttft_latency_ns", settings.ttft_latency_ns, 0, most_duration_ms * 1000000);
  check_range("tpot_latency_ns", settings.tpot_latency_ns, 0, most_duration_ms * 1000000);
  check_range("token_latency_scaling_factor", settings.token_latency_scaling_factor, 0, most_samples);
  check_range("accuracy_log_sampling_target", settings.accuracy_log_sampling_target, 0, most_queries);
  if (!(settings.accuracy_log_probability >= 0 && settings.accuracy_log_probability <= 1))
    refuse(fmt::format("accuracy_log_probability is {}; it must be from 0 to 1", settings.accuracy_log_probability));
  const double percentile = effective_settings(settings).target_latency_percentile;
  if (!(percentile > 0 && percentile < 1)) refuse(fmt::format("target_latency_percentile is {}; it must be between 0 and 1", percentile));
  if (has_rate(settings.scenario) && !(settings.target_qps >= 1e-6 && settings.target_qps <= 1e9))
    refuse(fmt::format("target_qps is {}; it must be from 1e-06 to 1e+09", settings.target_qps));
}

void check_modes(const LoadgenSettings& settings) {
  const int ways = int{settings.equal_issue} + int{settings.issue_unique} + int{settings.issue_same};
  if (ways > 1) refuse("equal_issue, issue_unique and issue_same exclude each other: leave one of them on");
  if (settings.accuracy_log_sampling_target > 0 && settings.accuracy_log_probability > 0)
    refuse("accuracy_log_sampling_target and accuracy_log_probability exclude each other: leave one of them at 0");
}

// Rejects limits that LoadGen silently ignores.
void check_limits(const LoadgenSettings& settings) {
  if (settings.max_duration_ms != 0 && settings.max_duration_ms < settings.min_duration_ms)
    refuse(fmt::format("max_duration of {} ms is below min_duration of {} ms", settings.max_duration_ms, settings.min_duration_ms));
  if (settings.max_duration_ms != 0 && settings.scenario == LoadgenScenario::offline)
    refuse("max_duration has no effect in Offline, whose one query is issued at once: leave it out");
  if (settings.scenario != LoadgenScenario::server && (settings.max_async_queries != 0 || settings.coalesce_queries))
    refuse(fmt::format("max_async_queries and coalesce_queries are for Server, not for {}: leave them out", name_of(settings.scenario)));
}

// The size of the smallest set that is loaded: the last one of an accuracy phase may be short.
int64_t smallest_set(const LoadgenSettings& settings, const EffectiveLoadgenSettings& effective) {
  const int64_t whole = effective.performance_sample_count;
  if (settings.mode == LoadgenMode::performance) return std::min(settings.total_sample_count, whole);
  const bool all = settings.rules == LoadgenRules::v5;
  const int64_t samples = all ? settings.total_sample_count : std::min(settings.total_sample_count, effective.accuracy_sample_count);
  const int64_t rest = samples % whole;
  return std::min(rest == 0 ? whole : rest, settings.total_sample_count);
}

void check_counts(const LoadgenSettings& settings) {
  const auto effective = effective_settings(settings);
  const int64_t loaded = smallest_set(settings, effective);
  if (settings.max_query_count != 0 && settings.max_query_count < effective.min_query_count)
    refuse(fmt::format("max_query_count {} is below min_query_count {}", settings.max_query_count, effective.min_query_count));
  if (settings.issue_same && (settings.issue_same_index < 0 || settings.issue_same_index >= loaded))
    refuse(
        fmt::format("issue_same_index is {}; it must be from 0 to {}, a place in every loaded set", settings.issue_same_index, loaded - 1));
  if (effective.samples_per_query > most_queries)
    refuse(fmt::format("a query of {} samples: target_qps times min_duration_ms is too large", effective.samples_per_query));
}

// Returns what floating point makes of a count, truncated as LoadGen does.
int64_t truncated_count(double value) { return value < 9e18 ? static_cast<int64_t>(value) : INT64_MAX; }

}  // namespace

const char* name_of(LoadgenScenario scenario) {
  switch (scenario) {
    case LoadgenScenario::single_stream:
      return "SingleStream";
    case LoadgenScenario::multi_stream:
      return "MultiStream";
    case LoadgenScenario::server:
      return "Server";
    case LoadgenScenario::offline:
      return "Offline";
  }
  return "";
}

const char* name_of(LoadgenMode mode) {
  switch (mode) {
    case LoadgenMode::performance:
      return "PerformanceOnly";
    case LoadgenMode::accuracy:
      return "AccuracyOnly";
    case LoadgenMode::submission:
      return "SubmissionRun";
  }
  return "";
}

void check_settings(const LoadgenSettings& settings) {
  check_numbers(settings);
  check_modes(settings);
  check_limits(settings);
  check_counts(settings);
}

EffectiveLoadgenSettings effective_settings(const LoadgenSettings& settings) {
  const auto given_or = [](int64_t given, int64_t otherwise) { return given > 0 ? given : otherwise; };
  EffectiveLoadgenSettings effective;
  effective.target_qps = has_rate(settings.scenario) ? settings.target_qps : 1e9 / static_cast<double>(settings.expected_latency_ns);
  const bool server = settings.scenario == LoadgenScenario::server;
  const double usual_percentile = settings.scenario == LoadgenScenario::single_stream ? 0.9 : 0.99;
  effective.target_latency_percentile = settings.target_latency_percentile != 0 ? settings.target_latency_percentile : usual_percentile;
  effective.target_latency_ns = server ? settings.target_latency_ns : 0;
  effective.max_async_queries = server ? settings.max_async_queries : 1;
  effective.min_query_count = settings.min_query_count;
  effective.target_duration_ns = settings.min_duration_ms * 1000000;
  effective.performance_sample_count = given_or(settings.performance_sample_count, settings.total_sample_count);
  effective.accuracy_sample_count = given_or(settings.accuracy_sample_count, settings.total_sample_count);
  const double duration_s = static_cast<double>(effective.target_duration_ns) / 1e9;
  if (settings.scenario == LoadgenScenario::multi_stream) effective.samples_per_query = settings.samples_per_query;
  if (settings.scenario == LoadgenScenario::offline) {
    // A tenth more than the rate needs, so that the one query lasts long enough.
    effective.samples_per_query = settings.issue_unique
                                      ? effective.performance_sample_count
                                      : std::max(settings.min_query_count, truncated_count(1.1 * duration_s * effective.target_qps));
    effective.min_query_count = 1;
    effective.target_duration_ns = 0;
  }
  if (settings.equal_issue && settings.scenario == LoadgenScenario::single_stream) {
    int64_t& count = effective.min_query_count;
    count = std::max(count, truncated_count(2 * duration_s * effective.target_qps));
    count += effective.performance_sample_count - count % effective.performance_sample_count;
  }
  effective.min_sample_count = effective.min_query_count * effective.samples_per_query;
  return effective;
}

LoadgenRules loadgen_rules(const std::string& version) {
  const auto parts = split(version, '.');
  std::vector<int64_t> numbers;
  for (const std::string& part : parts) numbers.push_back(parse_int(part).value_or(-1));
  const bool plain = std::none_of(numbers.begin(), numbers.end(), [](int64_t number) { return number < 0; });
  if (!plain || (numbers[0] != 5 && numbers[0] != 6))
    refuse(fmt::format("the rules of LoadGen '{}' are not known here; known are 5.x and 6.x, such as 5.1.1 and 6.0.17", version));
  numbers.resize(3, parts.size() == 1 ? INT64_MAX : 0);
  return numbers >= std::vector<int64_t>{6, 0, 6} ? LoadgenRules::v6 : LoadgenRules::v5;
}

const std::vector<LoadgenRound>& loadgen_rounds() {
  static const std::vector<LoadgenRound> rounds{
      {"v5.0", "5.1.1", LoadgenRules::v5, 6023615788873153749U, 15036839855038426416U, 9933818062894767841U},
      {"v5.1", "5.1.1", LoadgenRules::v5, 1780908523862526354U, 14771362308971278857U, 18209322760996052031U},
      {"v6.0", "6.0.17", LoadgenRules::v6, 2465351861681999779U, 14276810075590677512U, 3936089224930324775U},
      {"v6.1", "6.0.17", LoadgenRules::v6, 2085463073848966840U, 2747215439041700203U, 16159082839903944936U},
  };
  return rounds;
}

void apply_round(const std::string& name, LoadgenSettings& settings) {
  std::vector<std::string> known;
  for (const LoadgenRound& round : loadgen_rounds()) {
    known.push_back(round.name);
    if (round.name != name) continue;
    settings.rules = round.rules;
    settings.qsl_rng_seed = round.qsl_rng_seed;
    settings.sample_index_rng_seed = round.sample_index_rng_seed;
    settings.schedule_rng_seed = round.schedule_rng_seed;
    return;
  }
  throw Error(ErrorKind::usage, invalid_choice(name, "mlperf", known));
}

}  // namespace deepgap
