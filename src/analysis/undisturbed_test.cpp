#include "analysis/undisturbed.h"

#include "analysis/disturbed_machine.h"
#include "analysis/metric.h"
#include "stats/test_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

constexpr Nanoseconds ms = 1'000'000;

// A window of a second of queries of 5 ms, slices of 20 ms without anything.
Record quiet_second() {
  Record record;
  record.windows = {{"steady", 0, 1000 * ms}};
  for (uint64_t i = 0; i < 200; ++i) {
    const auto begin = static_cast<Nanoseconds>(i) * 5 * ms;
    record.timings.push_back({i, begin, begin, begin + 5 * ms, 2, Status::ok});
  }
  Series delay{"slices", "run_delay", "s", true, {}, {}};
  for (Nanoseconds t = 0; t <= 1000 * ms; t += 20 * ms) delay.times.push_back(t), delay.values.push_back(1);
  record.series = {delay};
  for (const auto& [name, rate] : {std::pair{"cpu_time", 1.0}, {"machine_busy", 1.0}, {"machine_idle", 1.0}, {"machine_steal", 0.0}}) {
    Series series{"proc", name, "s", true, {}, {}};
    for (Nanoseconds t = 0; t <= 1000 * ms; t += 100 * ms)
      series.times.push_back(t), series.values.push_back(rate * static_cast<double>(t) / 1e9);
    record.series.push_back(series);
  }
  return record;
}

void grow_from(Series& series, Nanoseconds time, double by) {
  for (size_t i = 0; i < series.times.size(); ++i) series.values[i] += series.times[i] >= time ? by : 0;
}

TEST(Undisturbed, AQuietWindowIsWhatWasObserved) {
  const Record record = quiet_second();
  EXPECT_EQ(find_undisturbed(record).share, 1);
  EXPECT_NEAR(find_metric("throughput_undisturbed")->compute(record)->value, 400, 1e-9);
  EXPECT_DOUBLE_EQ(find_metric("latency_p50_undisturbed_ms")->compute(record)->value, 5);
  EXPECT_DOUBLE_EQ(find_metric("undisturbed_share")->compute(record)->value, 1);
}

TEST(Undisturbed, NothingIsKnownInVirtualTime) {
  Record record = quiet_second();
  record.point.backend = "null";
  record.point.options["null.clock"] = "virtual";
  EXPECT_FALSE(find_undisturbed(record).share);
  EXPECT_FALSE(find_metric("throughput_undisturbed")->compute(record));
}

TEST(Undisturbed, AWaitDisturbsItsSliceTheNextAndAsMuchBefore) {
  Record record = quiet_second();
  grow_from(record.series[0], 400 * ms, 0.030);  // seen in the slice from 380 to 400 ms, and began 30 ms before its end at the latest
  const auto stretches = undisturbed_stretches(record, record.windows[0]);
  ASSERT_TRUE(stretches);
  EXPECT_EQ(*stretches, (Stretches{{0, 370 * ms}, {420 * ms, 1000 * ms}}));
  grow_from(record.series[0], 800 * ms, 0.0001);
  EXPECT_EQ(undisturbed_stretches(record, record.windows[0])->size(), 2u) << "a wait of half a per cent of a slice is none";
}

TEST(Undisturbed, OthersOnTheMachineDisturbWithoutAWait) {
  Record record = quiet_second();
  grow_from(record.series[2], 500 * ms, 0.06);  // machine_busy
  EXPECT_EQ(*undisturbed_stretches(record, record.windows[0]), (Stretches{{0, 400 * ms}, {500 * ms, 1000 * ms}}));
  Record stolen = quiet_second();
  grow_from(stolen.series[4], 500 * ms, 0.01);
  EXPECT_EQ(undisturbed_stretches(stolen, stolen.windows[0])->size(), 2u);
}

TEST(Undisturbed, RefusesWhereTooLittleIsUndisturbed) {
  Record record = quiet_second();
  for (Nanoseconds t = 20 * ms; t <= 1000 * ms; t += 20 * ms) grow_from(record.series[0], t, 0.01);
  const UndisturbedFound found = find_undisturbed(record);
  EXPECT_FALSE(found.values);
  EXPECT_EQ(found.why_not, "0 % of the time was undisturbed, 5 % are needed");
  EXPECT_FALSE(find_metric("throughput_undisturbed")->compute(record));
}

TEST(Undisturbed, RefusesWhereOnlyShortQueriesFit) {
  std::mt19937_64 random(3);
  int number = 0;
  const Disturber often{.quiet_s = 0.1, .busy_s = 0.02};
  const Record record = DisturbedMachine(random, often).measure([&] { return ++number % 10 == 0 ? 1 : 0.005; }, 60);
  const UndisturbedFound found = find_undisturbed(record);
  EXPECT_FALSE(found.values);
  EXPECT_THAT(found.why_not, testing::HasSubstr("of queries take longer than any stretch without disturbance"));
}

TEST(Undisturbed, HasNoAnswerForQueriesThatShareTheMachineWithEachOther) {
  Record together = quiet_second();
  together.timings[3].begin -= 2 * ms;
  EXPECT_TRUE(find_undisturbed(together).share);
  EXPECT_FALSE(find_undisturbed(together).values);
  Record open = quiet_second();
  open.estimates["offered_rate"] = {100, {}, {}, 1};
  EXPECT_FALSE(find_undisturbed(open).values);
  Record unknown = quiet_second();
  unknown.series.resize(1);
  EXPECT_FALSE(find_undisturbed(unknown).share) << "whether others were busy is not known";
}

TEST(Undisturbed, OfVeryManyQueriesSomeStandForAll) {
  Record record = quiet_second();
  record.timings.clear();
  for (uint64_t i = 0; record.timings.empty() || record.timings.back().end < 1000 * ms; ++i) {  // queries of 200 and 600 ns in turn
    const Nanoseconds begin = record.timings.empty() ? 0 : record.timings.back().end;
    record.timings.push_back({i, begin, begin, begin + (i % 2 == 0 ? 200 : 600), 1, Status::ok});
  }
  ASSERT_GT(record.timings.size(), 2'000'000u);
  const auto values = find_undisturbed(record).values;
  ASSERT_TRUE(values);
  EXPECT_NEAR(values->throughput.value, 2.5e6, 1e3);
  EXPECT_LE(values->throughput.n, 1'000'000);
}

// Whoever takes long is cut short more often. Other rows: bench/coverage, undisturbed.
TEST(Undisturbed, TheChoiceOfSlicesDoesNotPreferShortQueries) {
  std::mt19937_64 random(4);
  int covers = 0, answers = 0;
  double off = 0;
  for (int i = 0; i < 200; ++i) {
    const Record record = DisturbedMachine(random, {}).measure([&] { return std::lognormal_distribution<double>(-4, 0.3)(random); }, 10);
    const auto values = find_undisturbed(record).values;
    if (!values) continue;
    ++answers;
    const double truth = std::exp(4 - 0.045);
    covers += *values->throughput.low <= truth && truth <= *values->throughput.high ? 1 : 0;
    off += values->throughput.value / truth - 1;
  }
  ASSERT_GT(answers, 150);
  EXPECT_NEAR(off / answers, 0, 0.01);
  EXPECT_GE(covers, answers * 0.95 - answers * chance(0.95, answers));
}

}  // namespace
}  // namespace deepgap
