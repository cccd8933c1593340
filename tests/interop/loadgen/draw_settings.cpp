#include "draw_settings.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

namespace deepgap {
namespace {

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}
  int64_t number(int64_t least, int64_t most) { return std::uniform_int_distribution<int64_t>(least, most)(random_); }
  double real(double least, double most) { return std::uniform_real_distribution<double>(least, most)(random_); }
  bool chance(double probability) { return real(0, 1) < probability; }
  uint64_t seed() { return random_(); }
  int64_t one_of(std::initializer_list<int64_t> values) { return values.begin()[number(0, static_cast<int64_t>(values.size()) - 1)]; }

 private:
  std::mt19937_64 random_;
};

int64_t smallest_set(const LoadgenSettings& settings) {
  if (settings.mode == LoadgenMode::performance) return settings.performance_sample_count;
  const int64_t wanted = settings.accuracy_sample_count == 0 ? settings.total_sample_count : settings.accuracy_sample_count;
  const int64_t rest = std::min(settings.total_sample_count, wanted) % settings.performance_sample_count;
  return rest == 0 ? std::min(settings.performance_sample_count, wanted) : rest;
}

LoadgenSettings draw_settings(Draw& draw) {
  LoadgenSettings settings;
  settings.scenario = static_cast<LoadgenScenario>(draw.number(0, 3));
  settings.mode = static_cast<LoadgenMode>(draw.one_of({0, 0, 0, 1, 2}));
  settings.qsl_rng_seed = draw.seed();
  settings.sample_index_rng_seed = draw.seed();
  settings.schedule_rng_seed = draw.seed();
  const int64_t total = draw.one_of({1, 2, draw.number(1, 50), draw.number(51, 5000), draw.number(65530, 65540)});
  settings.total_sample_count = total;
  settings.performance_sample_count = draw.one_of({total, draw.number(1, total), draw.number(std::max<int64_t>(1, total / 4), total)});
  if (settings.mode != LoadgenMode::performance)  // every set is issued: not too many of them
    settings.performance_sample_count = std::max({settings.performance_sample_count, total / 7, int64_t{1}});
  settings.min_duration_ms = draw.one_of({0, 1, draw.number(1, 30)});
  settings.min_query_count = draw.one_of({1, draw.number(1, 3000)});
  settings.target_qps = draw.chance(0.5) ? 1e5 : draw.real(2e4, 1e6);
  settings.expected_latency_ns = draw.number(500, 50000);
  settings.samples_per_query = draw.number(1, 20);
  settings.target_latency_ns = 15000000;
  const int64_t way = draw.number(0, 5);
  settings.equal_issue = way == 0;
  settings.issue_unique = way == 1;
  settings.issue_same = way == 2;
  if (draw.chance(0.3)) settings.accuracy_sample_count = draw.number(1, total);
  if (settings.issue_same) settings.issue_same_index = draw.number(0, smallest_set(settings) - 1);
  if (draw.chance(0.4)) {
    settings.accuracy_log_rng_seed = draw.seed();
    settings.accuracy_log_sampling_target = draw.number(1, 300);
  } else if (draw.chance(0.3)) {
    settings.accuracy_log_probability = draw.real(0, 1);
  }
  settings.token_latencies = draw.chance(0.3);
  settings.ttft_latency_ns = draw.number(1, 1000) * 1000000;
  settings.tpot_latency_ns = draw.number(1, 100) * 1000000;
  if (!settings.token_latencies && draw.chance(0.1)) {
    settings.infers_tokens = true;
    settings.token_latency_scaling_factor = draw.number(1, 100);
  }
  return settings;
}

std::string describe(const LoadgenSettings& s) {
  return nlohmann::json{{"loadgen", "6.0.17"},
                        {"scenario", name_of(s.scenario)},
                        {"mode", s.mode == LoadgenMode::performance ? "perf"
                                 : s.mode == LoadgenMode::accuracy  ? "acc"
                                                                    : "submission"},
                        {"qsl_rng_seed", s.qsl_rng_seed},
                        {"sample_index_rng_seed", s.sample_index_rng_seed},
                        {"schedule_rng_seed", s.schedule_rng_seed},
                        {"total_sample_count", s.total_sample_count},
                        {"performance_sample_count", s.performance_sample_count},
                        {"accuracy_sample_count", s.accuracy_sample_count},
                        {"min_duration_ms", s.min_duration_ms},
                        {"min_query_count", s.min_query_count},
                        {"target_qps", s.target_qps},
                        {"expected_latency_ns", s.expected_latency_ns},
                        {"samples_per_query", s.samples_per_query},
                        {"equal_issue", s.equal_issue},
                        {"issue_unique", s.issue_unique},
                        {"issue_same", s.issue_same},
                        {"issue_same_index", s.issue_same_index},
                        {"token_latencies", s.token_latencies},
                        {"ttft_latency_ns", s.ttft_latency_ns},
                        {"tpot_latency_ns", s.tpot_latency_ns},
                        {"infers_tokens", s.infers_tokens},
                        {"token_latency_scaling_factor", s.token_latency_scaling_factor},
                        {"accuracy_log_rng_seed", s.accuracy_log_rng_seed},
                        {"accuracy_log_sampling_target", s.accuracy_log_sampling_target},
                        {"accuracy_log_probability", s.accuracy_log_probability}}
      .dump();
}

}  // namespace

void for_random_settings(int cases, const std::function<void(const LoadgenSettings&)>& check) {
  const char* given = std::getenv("DEEPGAP_SEED");
  const uint64_t seed = given != nullptr ? std::stoull(given) : std::random_device()();
  std::printf("DEEPGAP_SEED=%llu repeats this\n", static_cast<unsigned long long>(seed));
  if (std::getenv("DEEPGAP_LONG_TESTS") != nullptr) cases *= 7;
  Draw draw(seed);
  for (int i = 0; i < cases; ++i) {
    const LoadgenSettings settings = draw_settings(draw);
    SCOPED_TRACE(describe(settings));
    check(settings);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace deepgap
