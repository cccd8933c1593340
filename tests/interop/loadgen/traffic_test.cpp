// Settings drawn at random: LoadgenSchedule's traffic is LoadGen's to the last bit. Samples, their order and the loaded sets are seen by
// the system under test; times of arrival are in LoadGen's trace (ns as us with 3 decimals), the accuracy draws in what it logged.
#include "reference.h"

#include "base/file.h"
#include "base/text.h"
#include "scenario/mlperf/accuracy_log.h"
#include "scenario/mlperf/schedule.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <random>
#include <set>

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
                        {"accuracy_log_rng_seed", s.accuracy_log_rng_seed},
                        {"accuracy_log_sampling_target", s.accuracy_log_sampling_target},
                        {"accuracy_log_probability", s.accuracy_log_probability}}
      .dump();
}

using Logged = std::set<std::pair<uint64_t, uint64_t>>;  // seq_id, qsl_idx

struct Traffic {
  std::vector<std::vector<uint32_t>> loaded, issued;
  std::vector<int64_t> arrival_ns;  // of each performance query
  std::vector<size_t> first_samples;
  std::vector<LoadgenMode> modes;
  std::vector<std::vector<double>> log_values;
};

Traffic our_traffic(const LoadgenSettings& settings) {
  Traffic traffic;
  LoadgenSchedule schedule(settings);
  std::array<LoadgenSample, 100> samples;
  size_t at = 0;
  while (const LoadgenSet* set = schedule.next_set()) {
    traffic.loaded.push_back(set->indices);
    while (const LoadgenQuery* query = schedule.next_query()) {
      traffic.issued.emplace_back();
      traffic.log_values.emplace_back();
      traffic.arrival_ns.push_back(query->scheduled_ns);
      traffic.modes.push_back(set->mode);
      traffic.first_samples.push_back(at);
      while (const size_t count = schedule.next_samples(samples)) {
        for (size_t i = 0; i < count; ++i) {
          traffic.issued.back().push_back(samples[i].index);
          traffic.log_values.back().push_back(samples[i].accuracy_log_value);
        }
        at += count;
      }
    }
  }
  return traffic;
}

bool ends_by_time(const LoadgenSettings& settings) {
  const bool streams = settings.scenario == LoadgenScenario::single_stream || settings.scenario == LoadgenScenario::multi_stream;
  return streams && settings.mode != LoadgenMode::accuracy;
}

Logged expected_log(const LoadgenSettings& settings, const Traffic& ours, size_t queries) {
  const AccuracyLogChoice choice(settings);
  Logged logged;
  for (size_t query = 0; query < queries; ++query) {
    for (size_t i = 0; i < ours.issued[query].size(); ++i) {
      if (ours.modes[query] == LoadgenMode::accuracy || choice.logs(ours.log_values[query][i]))
        logged.emplace(ours.first_samples[query] + i, ours.issued[query][i]);
    }
  }
  return logged;
}

Logged reference_log(const std::filesystem::path& folder) {
  Logged logged;
  for (const auto& entry : nlohmann::json::parse(read_text((folder / "mlperf_log_accuracy.json").string())))
    logged.emplace(entry["seq_id"], entry["qsl_idx"]);
  return logged;
}

// When each query was due, as LoadGen's trace has it; by query number. Line by line: as a whole the file is no valid JSON.
std::map<uint64_t, int64_t> traced_arrivals(const std::filesystem::path& folder) {
  std::map<uint64_t, int64_t> arrivals;
  for (std::string line : split(read_text((folder / "mlperf_log_trace.json").string()), '\n')) {
    if (!line.starts_with(R"({"name":"Sample","cat":"default","ph":"b")")) continue;
    if (line.back() == ',') line.pop_back();
    const auto event = nlohmann::json::parse(line);
    arrivals[event.at("args").at("query_seq")] = std::llround(event.at("ts").get<double>() * 1000);
  }
  return arrivals;
}

void expect_arrivals(const Traffic& ours, const std::filesystem::path& folder) {
  const auto arrivals = traced_arrivals(folder);
  EXPECT_FALSE(arrivals.empty());
  std::optional<int64_t> start;
  for (const auto& [query, time] : arrivals) {
    if (ours.modes[query] != LoadgenMode::performance) continue;
    if (!start) start = time - ours.arrival_ns[query];
    ASSERT_EQ(time - *start, ours.arrival_ns[query]) << "query " << query;
  }
}

void expect_same_traffic(const LoadgenSettings& settings) {
  LogFolder folder;
  const bool server = settings.scenario == LoadgenScenario::server;
  const ReferenceRun theirs = run_reference(settings, folder.path(), server, answer_at_once);
  const Traffic ours = our_traffic(settings);
  EXPECT_TRUE(ours.loaded == theirs.loaded);
  if (ends_by_time(settings)) {
    ASSERT_GE(ours.issued.size(), theirs.issued.size());
  } else {
    ASSERT_EQ(ours.issued.size(), theirs.issued.size());
  }
  for (size_t i = 0; i < theirs.issued.size(); ++i) ASSERT_TRUE(ours.issued[i] == theirs.issued[i]) << "query " << i;
  EXPECT_TRUE(expected_log(settings, ours, theirs.issued.size()) == reference_log(folder.path()));
  if (server) expect_arrivals(ours, folder.path());
}

TEST(LoadgenInterop, TrafficOfRandomSettings) {
  const char* given = std::getenv("DEEPGAP_SEED");
  const uint64_t seed = given != nullptr ? std::stoull(given) : std::random_device()();
  std::printf("DEEPGAP_SEED=%llu repeats this\n", static_cast<unsigned long long>(seed));
  const int cases = std::getenv("DEEPGAP_LONG_TESTS") != nullptr ? 400 : 60;
  Draw draw(seed);
  for (int i = 0; i < cases; ++i) {
    const LoadgenSettings settings = draw_settings(draw);
    SCOPED_TRACE(describe(settings));
    expect_same_traffic(settings);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace deepgap
