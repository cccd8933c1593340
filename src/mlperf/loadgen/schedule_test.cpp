// Checks what holds for every schedule, for settings beyond the recorded runs'; golden_test.cpp and tests/interop/loadgen compare bits.
#include "mlperf/loadgen/schedule.h"

#include "mlperf/loadgen/test_settings.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>

namespace deepgap {
namespace {

struct Issued {
  LoadgenMode mode;
  size_t set;
  LoadgenQuery query;
  std::vector<LoadgenSample> samples;
};

std::vector<Issued> all_of(const LoadgenSettings& settings) {
  LoadgenSchedule schedule(settings);
  std::vector<Issued> issued;
  std::array<LoadgenSample, 7> some;
  for (size_t number = 0; const LoadgenSet* set = schedule.next_set(); ++number) {
    while (const LoadgenQuery* query = schedule.next_query()) {
      Issued one{set->mode, number, *query, {}};
      while (const size_t count = schedule.next_samples(some)) one.samples.insert(one.samples.end(), some.begin(), some.begin() + count);
      issued.push_back(one);
    }
  }
  return issued;
}

std::map<uint32_t, int> counts_of(const std::vector<Issued>& issued, LoadgenMode mode) {
  std::map<uint32_t, int> counts;
  for (const Issued& one : issued) {
    if (one.mode != mode) continue;
    for (const LoadgenSample& sample : one.samples) ++counts[sample.index];
  }
  return counts;
}

const std::vector<LoadgenScenario> scenarios{LoadgenScenario::single_stream, LoadgenScenario::multi_stream, LoadgenScenario::server,
                                             LoadgenScenario::offline};

TEST(LoadgenSchedule, SequenceIdsRunThroughAndTimeNeverGoesBack) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    LoadgenSettings settings = small_run(scenarios[random() % 4]);
    settings.mode = static_cast<LoadgenMode>(random() % 3);
    settings.rules = static_cast<LoadgenRules>(random() % 2);
    settings.total_sample_count = 1 + random() % 500;
    settings.performance_sample_count = 1 + random() % 300;
    settings.min_query_count = 1 + random() % 300;
    settings.samples_per_query = 1 + random() % 12;
    uint64_t query = 0, sample = 0;
    const Issued* former = nullptr;
    const auto issued = all_of(settings);
    for (const Issued& one : issued) {
      ASSERT_EQ(one.query.sequence, query++);
      ASSERT_EQ(one.samples.size(), static_cast<size_t>(one.query.samples));
      for (const LoadgenSample& each : one.samples) {
        ASSERT_EQ(each.sequence, sample++);
        ASSERT_LT(each.index, settings.total_sample_count);
      }
      const bool begins = former == nullptr || former->set != one.set;
      ASSERT_TRUE(begins ? one.query.scheduled_ns == 0 : one.query.scheduled_ns >= former->query.scheduled_ns);
      former = &one;
    }
    ASSERT_FALSE(issued.empty());
  }
}

TEST(LoadgenSchedule, AccuracyAsksForEverySample) {
  for (const LoadgenScenario scenario : scenarios) {
    LoadgenSettings settings = small_run(scenario);
    settings.mode = LoadgenMode::submission;
    const auto counts = counts_of(all_of(settings), LoadgenMode::accuracy);
    EXPECT_EQ(counts.size(), 100U) << name_of(scenario);
    if (scenario == LoadgenScenario::multi_stream) continue;  // its last query of a set is filled up
    for (const auto& [index, count] : counts) EXPECT_EQ(count, 1) << index;
  }
}

TEST(LoadgenSchedule, PerformanceStaysWithinTheFirstSet) {
  for (const LoadgenScenario scenario : scenarios) {
    LoadgenSettings settings = small_run(scenario);
    settings.min_query_count = 1000;
    const auto counts = counts_of(all_of(settings), LoadgenMode::performance);
    EXPECT_EQ(counts.size(), 30U);
    EXPECT_EQ(counts.rbegin()->first, 29U) << "6.0.6 and later load the library's first samples";
  }
  LoadgenSettings before = small_run(LoadgenScenario::server);
  before.rules = LoadgenRules::v5;
  EXPECT_GT(counts_of(all_of(before), LoadgenMode::performance).rbegin()->first, 29U);
}

TEST(LoadgenSchedule, WaysOfIssuing) {
  for (const LoadgenScenario scenario : {LoadgenScenario::single_stream, LoadgenScenario::server, LoadgenScenario::offline}) {
    LoadgenSettings unique = small_run(scenario), equal = small_run(scenario), same = small_run(scenario);
    unique.issue_unique = equal.equal_issue = same.issue_same = true;
    same.issue_same_index = 29;
    const auto once = counts_of(all_of(unique), LoadgenMode::performance);
    EXPECT_EQ(once.size(), 30U);
    for (const auto& [index, count] : once) EXPECT_EQ(count, 1) << index;
    const auto even = counts_of(all_of(equal), LoadgenMode::performance);
    EXPECT_EQ(even.size(), 30U);
    for (const auto& [index, count] : even) EXPECT_EQ(count, even.begin()->second) << index;
    EXPECT_EQ(counts_of(all_of(same), LoadgenMode::performance).size(), 1U);
  }
}

// LoadGen makes a table of permutations for min_query_count queries and goes round it while there is time.
TEST(LoadgenSchedule, EqualIssueRepeatsItsTable) {
  LoadgenSettings settings = small_run(LoadgenScenario::server);
  settings.equal_issue = true;
  settings.min_query_count = 61;  // three permutations of 30
  settings.min_duration_ms = 50;
  const auto issued = all_of(settings);
  ASSERT_GT(issued.size(), 400U);
  ASSERT_EQ(issued.size() % 30, 0U);
  for (size_t i = 90; i < issued.size(); ++i) ASSERT_EQ(issued[i].samples[0].index, issued[i - 90].samples[0].index);
  std::vector<uint32_t> first, second;
  for (size_t i = 0; i < 30; ++i) {
    first.push_back(issued[i].samples[0].index);
    second.push_back(issued[30 + i].samples[0].index);
  }
  EXPECT_NE(first, second);
}

TEST(LoadgenSchedule, MultiStreamTakesNeighboursOfTheLoadedSet) {
  LoadgenSchedule schedule(small_run(LoadgenScenario::multi_stream));
  const std::vector<uint32_t> indices = schedule.next_set()->indices;
  ASSERT_EQ(indices.size(), 37U);
  EXPECT_TRUE(std::equal(indices.begin(), indices.begin() + 7, indices.begin() + 30));
  std::array<LoadgenSample, 8> samples;
  while (schedule.next_query() != nullptr) {
    ASSERT_EQ(schedule.next_samples(samples), 8U);
    const auto same = [](uint32_t index, const LoadgenSample& sample) { return index == sample.index; };
    ASSERT_NE(std::search(indices.begin(), indices.end(), samples.begin(), samples.end(), same), indices.end());
  }
}

// A set of 15 with queries of 9 once made more queries than the accuracy list has.
TEST(LoadgenSchedule, MultiStreamDoesNotPickByEqualIssue) {
  LoadgenSettings settings = small_run(LoadgenScenario::multi_stream);
  settings.mode = LoadgenMode::submission;
  settings.performance_sample_count = 15;
  settings.samples_per_query = 9;
  settings.min_query_count = 1;
  const auto plain = all_of(settings);
  settings.equal_issue = true;
  const auto equal = all_of(settings);
  ASSERT_EQ(plain.size(), 14U + 401);  // twice the duration at 100 us a query, and the one at its end
  ASSERT_EQ(equal.size(), 14U + 414);  // whole rounds of the 23 that are loaded
  for (size_t i = 0; i < plain.size(); ++i) ASSERT_EQ(equal[i].samples[0].index, plain[i].samples[0].index);
}

TEST(LoadgenSchedule, SkippingDrawsWhatLookingDraws) {
  LoadgenSettings settings = small_run(LoadgenScenario::server);
  settings.mode = LoadgenMode::submission;
  const auto issued = all_of(settings);
  LoadgenSchedule skipping(settings);
  const LoadgenSet* set = skipping.next_set();
  while (set->mode == LoadgenMode::accuracy) set = skipping.next_set();
  skipping.next_query();
  std::array<LoadgenSample, 1> sample;
  skipping.next_query();
  ASSERT_EQ(skipping.next_samples(sample), 1U);
  EXPECT_EQ(sample[0].sequence, 101U);
  EXPECT_EQ(sample[0].index, issued[101].samples[0].index);
  EXPECT_EQ(sample[0].accuracy_log_value, issued[101].samples[0].accuracy_log_value);
  EXPECT_EQ(skipping.next_set(), nullptr);
  EXPECT_EQ(skipping.next_set(), nullptr);
  EXPECT_EQ(skipping.next_query(), nullptr);
}

TEST(LoadgenSchedule, ServerArrivesAtItsRate) {
  LoadgenSettings settings = small_run(LoadgenScenario::server);
  settings.min_duration_ms = 10000;
  const auto issued = all_of(settings);
  // 100000 gaps: their mean is within 5 standard errors, 1.6 %, of 1/rate (the seed is fixed).
  EXPECT_NEAR(static_cast<double>(issued.back().query.scheduled_ns) / static_cast<double>(issued.size() - 1), 1e5, 1.6e3);
  EXPECT_GE(issued.back().query.scheduled_ns, 10'000'000'000);
  EXPECT_LT(issued[issued.size() - 2].query.scheduled_ns, 10'000'000'000);
}

TEST(LoadgenSchedule, AMaximumEndsPerformance) {
  LoadgenSettings settings = small_run(LoadgenScenario::server);
  settings.max_query_count = 60;
  EXPECT_EQ(all_of(settings).size(), 60U);
}

// LoadGen's period goes through seconds: 7327 ns become 7326.
TEST(LoadgenSchedule, ThePeriodIsRoundedTwice) {
  LoadgenSettings settings = small_run(LoadgenScenario::single_stream);
  settings.min_duration_ms = 0;
  settings.expected_latency_ns = 7327;
  EXPECT_EQ(all_of(settings).at(1).query.scheduled_ns, 7326);
}

TEST(LoadgenSchedule, TimeDoesNotRunOver) {
  LoadgenSettings settings = small_run(LoadgenScenario::server);
  settings.target_qps = 1e-6;
  settings.min_query_count = 10'000;
  LoadgenSchedule schedule(settings);
  schedule.next_set();
  EXPECT_THROW(while (schedule.next_query() != nullptr){}, Error);
}

}  // namespace
}  // namespace deepgap
