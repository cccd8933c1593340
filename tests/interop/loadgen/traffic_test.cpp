// Settings drawn at random: LoadgenSchedule's traffic is LoadGen's to the last bit. Samples, their order and the loaded sets are seen by
// the system under test; times of arrival are in LoadGen's trace (ns as us with 3 decimals), the accuracy draws in what it logged.
#include "draw_settings.h"
#include "reference.h"

#include "base/file.h"
#include "mlperf/loadgen/accuracy_log.h"
#include "mlperf/loadgen/schedule.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <optional>
#include <set>

namespace deepgap {
namespace {

using Logged = std::set<std::pair<uint64_t, uint64_t>>;  // seq_id, qsl_idx

struct Traffic {
  std::vector<std::vector<uint32_t>> loaded, issued;
  std::vector<int64_t> arrival_ns;  // arrivals of each performance query, in nanoseconds
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

// When each query was due, as LoadGen's trace has it; by query number. Line by line: as a whole the file is not valid JSON.
std::map<uint64_t, int64_t> traced_arrivals(const std::filesystem::path& folder) {
  std::map<uint64_t, int64_t> arrivals;
  std::ifstream file(folder / "mlperf_log_trace.json");
  for (std::string line; std::getline(file, line);) {
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
  TemporaryFolder folder;
  const bool server = settings.scenario == LoadgenScenario::server;
  const ReferenceRun theirs = run_reference(settings, folder.path(), server, instant_answer(settings));
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

TEST(LoadgenInterop, TrafficOfRandomSettings) { for_random_settings(60, expect_same_traffic); }

}  // namespace
}  // namespace deepgap
