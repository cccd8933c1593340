// LoadGen drives a Target, and so do we; both give the same verdict on it. The Targets' latencies are far from every bound, so that a noisy
// machine changes no verdict.
#include "reference.h"
#include "target_system.h"
#include "timed_target.h"

#include "base/clocks.h"
#include "mlperf/loadgen/drive.h"
#include "mlperf/loadgen/verdict.h"

#include <gtest/gtest.h>

#include <atomic>

namespace deepgap {
namespace {

using std::chrono::microseconds;

struct Verdict {
  bool valid = false, min_duration = false, min_queries = false, latency = true, early_stopping = false;
  bool operator==(const Verdict&) const = default;
};

void PrintTo(const Verdict& v, std::ostream* out) {
  *out << (v.valid ? "valid" : "invalid") << " duration " << v.min_duration << " queries " << v.min_queries << " latency " << v.latency
       << " early stopping " << v.early_stopping;
}

struct Case {
  std::string name;
  LoadgenSettings settings;
  TimedTarget::Latency latency;
  TargetLimits limits{1, 1000000};
  Verdict expected;
  TimedTokens tokens;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

Verdict reference_verdict(const Case& c) {
  TemporaryFolder folder;
  TimedTarget target(c.latency, c.limits, c.tokens);
  TargetSystem system(target);
  if (c.settings.scenario != LoadgenScenario::offline) target.on_first_token([&](uint64_t query) { system.first_token(query); });
  run_reference(c.settings, folder.path(), false, [&](const std::vector<mlperf::QuerySample>& samples) { system.issue(samples); });
  std::map<std::string, nlohmann::json> entries;
  for (const DetailEntry& entry : read_detail(folder / "mlperf_log_detail.txt")) entries[entry.key] = entry.value;
  const bool server = c.settings.scenario == LoadgenScenario::server;
  return {entries.at("result_validity") == "VALID", entries.at("result_min_duration_met"), entries.at("result_min_queries_met"),
          server ? entries.at("result_perf_constraints_met").get<bool>() : true, entries.at("early_stopping_met")};
}

Verdict our_verdict(const Case& c) {
  const auto clock = make_real_clock();
  TimedTarget target(c.latency, c.limits, c.tokens, clock.get());
  const std::atomic<bool> interrupted{false};
  auto results = drive_loadgen({.settings = c.settings, .target = &target, .clock = clock.get()}, interrupted);
  const LoadgenVerdict verdict = judge(c.settings, results.back());
  return {verdict.valid, verdict.min_duration_met, verdict.min_queries_met, verdict.latency_met, verdict.early_stopping_met};
}

LoadgenSettings settings_of(LoadgenScenario scenario, int64_t min_duration_ms, int64_t min_query_count) {
  LoadgenSettings settings;
  settings.scenario = scenario;
  settings.total_sample_count = settings.performance_sample_count = 256;
  settings.min_duration_ms = min_duration_ms;
  settings.min_query_count = min_query_count;
  settings.target_qps = 2000;
  settings.expected_latency_ns = 100000;
  settings.target_latency_ns = 1000000000;
  return settings;
}

TimedTarget::Latency always(microseconds latency) {
  return [latency](uint64_t) { return latency; };
}

std::vector<Case> cases() {
  using enum LoadgenScenario;
  const Verdict valid{true, true, true, true, true};
  std::vector<Case> all;
  all.push_back({"server_valid", settings_of(server, 500, 100), always(microseconds(500)), {1, 1000000}, valid});
  all.push_back({"server_too_slow",
                 settings_of(server, 500, 100),
                 [](uint64_t query) { return microseconds(query % 5 == 0 ? 2000000 : 500); },
                 {1, 1000000},
                 {false, true, true, false, false}});
  all.push_back({"server_early_stopping_not_met",
                 settings_of(server, 100, 100),
                 always(microseconds(500)),
                 {1, 1000000},
                 {false, true, true, true, false}});
  all.push_back(
      {"server_given_up", settings_of(server, 500, 500), always(microseconds(1000000)), {1, 1000000}, {false, false, false, true, false}});
  all.back().settings.max_async_queries = 50;
  all.back().settings.target_latency_ns = 5000000000;
  all.push_back({"single_stream_valid", settings_of(single_stream, 50, 70), always(microseconds(300)), {1, 1}, valid});
  all.push_back({"single_stream_early_stopping_not_met",
                 settings_of(single_stream, 0, 20),
                 always(microseconds(300)),
                 {1, 1},
                 {false, true, true, true, false}});
  all.push_back({"single_stream_too_few_queries",
                 settings_of(single_stream, 0, 3000),
                 always(microseconds(1000)),
                 {1, 1},
                 {false, true, false, true, true}});
  all.back().settings.max_duration_ms = 500;
  all.push_back(
      {"single_stream_ran_out", settings_of(single_stream, 2000, 70), always(microseconds(100)), {1, 1}, {false, false, true, true, true}});
  all.back().settings.expected_latency_ns = 40000000;
  all.push_back({"multi_stream_valid", settings_of(multi_stream, 50, 662), always(microseconds(100)), {8, 1000000}, valid});
  all.push_back({"multi_stream_in_pieces", settings_of(multi_stream, 50, 662), always(microseconds(100)), {3, 1000000}, valid});
  all.push_back({"multi_stream_early_stopping_not_met",
                 settings_of(multi_stream, 50, 100),
                 always(microseconds(2000)),
                 {8, 1000000},
                 {false, true, true, true, false}});
  all.push_back({"offline_valid", settings_of(offline, 100, 400), always(microseconds(500000)), {64, 1000000}, valid});
  all.push_back(
      {"offline_too_short", settings_of(offline, 3000, 400), always(microseconds(100)), {64, 1000000}, {false, false, true, true, true}});
  const auto add_tokens = [&](const char* name, LoadgenSettings settings, microseconds first, TargetLimits limits, Verdict expected) {
    settings.token_latencies = true;
    settings.ttft_latency_ns = 1'000'000'000;
    if (settings.tpot_latency_ns == LoadgenSettings().tpot_latency_ns) settings.tpot_latency_ns = 1'000'000'000;
    all.push_back({name, settings, always(first + microseconds(400)), limits, expected, {always(first), 5}});
  };
  add_tokens("server_tokens_valid", settings_of(server, 500, 100), microseconds(200), {1, 1000000}, valid);
  add_tokens("server_first_tokens_late", settings_of(server, 500, 100), microseconds(1500000), {1, 1000000},
             {false, true, true, false, false});
  LoadgenSettings late_tokens = settings_of(server, 500, 100);
  late_tokens.tpot_latency_ns = 10'000;
  add_tokens("server_later_tokens_late", late_tokens, microseconds(200), {1, 1000000}, {false, true, true, false, false});
  add_tokens("single_stream_tokens_valid", settings_of(single_stream, 50, 70), microseconds(300), {1, 1}, valid);
  add_tokens("offline_tokens_valid", settings_of(offline, 100, 400), microseconds(500000), {64, 1000000}, valid);
  return all;
}

class LoadgenVerdicts : public testing::TestWithParam<Case> {};

TEST_P(LoadgenVerdicts, AreLoadgens) {
  const Verdict theirs = reference_verdict(GetParam());
  EXPECT_EQ(theirs, GetParam().expected);
  EXPECT_EQ(our_verdict(GetParam()), theirs);
}

INSTANTIATE_TEST_SUITE_P(LoadgenInterop, LoadgenVerdicts, testing::ValuesIn(cases()), [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace deepgap
