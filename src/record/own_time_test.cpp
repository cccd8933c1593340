#include "record/own_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

constexpr Nanoseconds ms = 1'000'000;

// Slices from 100 to 200 ms and from 500 to 600 ms.
const std::vector<Slice> two_slices{{100 * ms, 200 * ms}, {500 * ms, 600 * ms}};

Record record_with(Series series) {
  Record record;
  record.windows = {{"warm_up", 0, 90 * ms}, {"steady", 100 * ms, 600 * ms}};
  record.series = {std::move(series)};
  return record;
}

TEST(OwnTime, TheWindowIsAsLongAsTheSlicesTogether) {
  Record record = record_with({});
  record.timings = {{0, 100 * ms, 100 * ms, 150 * ms, 1}, {1, 150 * ms, 150 * ms, 200 * ms, 1}, {2, 500 * ms, 501 * ms, 560 * ms, 1}};
  cut_to_slices(record, two_slices);
  EXPECT_EQ(record.windows[0].end, 90 * ms) << "what came before stays";
  EXPECT_EQ(record.windows[1].begin, 100 * ms);
  EXPECT_EQ(record.windows[1].end, 300 * ms);
  EXPECT_EQ(record.timings[1].end, 200 * ms);
  EXPECT_EQ(record.timings[2].scheduled, 200 * ms);
  EXPECT_EQ(record.timings[2].begin, 201 * ms);
  EXPECT_EQ(record.timings[2].end, 260 * ms);
}

TEST(OwnTime, ACounterDoesNotGrowBetweenSlices) {
  // It grows by 1 a ms all the time, and is read every 75 ms.
  Series counter{"proc", "cpu_time", "s", true, {}, {}};
  for (Nanoseconds at = 0; at <= 750; at += 75) {
    counter.times.push_back(at * ms);
    counter.values.push_back(static_cast<double>(at));
  }
  Record record = record_with(std::move(counter));
  cut_to_slices(record, two_slices);
  const Series& cut = record.series[0];
  EXPECT_THAT(cut.times, ElementsAre(0, 75 * ms, 150 * ms, 200 * ms, 225 * ms, 300 * ms, 375 * ms, 450 * ms));
  EXPECT_THAT(cut.values, Pointwise(DoubleNear(1e-9), {0.0, 75.0, 150.0, 200.0, 225.0, 300.0, 375.0, 450.0}));
}

TEST(OwnTime, WhatGrewWhileOthersRanIsNotCounted) {
  Series counter{"proc", "machine_busy", "s", true, {90 * ms, 100 * ms, 200 * ms, 500 * ms, 600 * ms, 700 * ms}, {0, 1, 2, 302, 303, 304}};
  Record record = record_with(std::move(counter));
  cut_to_slices(record, two_slices);
  EXPECT_THAT(record.series[0].times, ElementsAre(90 * ms, 100 * ms, 200 * ms, 300 * ms, 400 * ms));
  EXPECT_THAT(record.series[0].values, ElementsAre(0, 1, 2, 3, 4));
}

TEST(OwnTime, OtherReadingsBetweenSlicesAreDropped) {
  Record record = record_with({"proc", "power", "W", false, {150 * ms, 300 * ms, 400 * ms, 550 * ms, 700 * ms}, {10, 99, 99, 11, 12}});
  cut_to_slices(record, two_slices);
  EXPECT_THAT(record.series[0].times, ElementsAre(150 * ms, 250 * ms, 400 * ms));
  EXPECT_THAT(record.series[0].values, ElementsAre(10, 11, 12));
}

TEST(OwnTime, WithoutSlicesNothingChanges) {
  Record record = record_with({"proc", "power", "W", false, {300 * ms}, {5}});
  cut_to_slices(record, {});
  EXPECT_EQ(record.windows[1].end, 600 * ms);
  EXPECT_THAT(record.series[0].times, ElementsAre(300 * ms));
}

}  // namespace
}  // namespace deepgap
