#include "worker/mark_meter.h"

#include "base/clocks.h"
#include "scenario/flight.h"

#include <gtest/gtest.h>

#include <vector>

namespace deepgap {
namespace {

// A Target that completes a query when the test asks for it.
class MarkedTarget final : public Target {
 public:
  TargetLimits limits() const override { return {4, 2}; }
  void on_completion(TargetCompletion completion) override { completion_ = std::move(completion); }
  void load(std::span<const uint32_t> /*indices*/) override {}
  void unload(std::span<const uint32_t> /*indices*/) override {}
  void submit(std::span<const Query> queries) override {
    for (const Query& query : queries) submitted.push_back(query.id);
  }
  std::vector<uint64_t> submitted;
  void flush() override {}
  void cancel() override {}
  void complete(const std::vector<Mark>& marks, Status status = Status::ok, uint64_t query = 0) {
    Completed completed;
    completed.query = query;
    completed.count = 1;
    completed.status = status;
    completed.marks = marks;
    completion_(std::span(&completed, 1));
  }

 private:
  TargetCompletion completion_;
};

std::vector<Mark> on_device(Nanoseconds copied, Nanoseconds computed, Nanoseconds returned) {
  return {{MarkId::enqueued, 0, 5},
          {MarkId::h2d_begin, 1, 0},
          {MarkId::compute_begin, 1, copied},
          {MarkId::compute_end, 1, computed},
          {MarkId::d2h_end, 1, returned}};
}

TEST(MarkMeter, MeansOfWhatTheDevicesClockSaw) {
  MarkedTarget target;
  MarkMeter meter(target);
  int heard = 0;
  meter.on_completion([&](std::span<const Completed>) { ++heard; });
  target.complete(on_device(1'000'000, 4'000'000, 4'500'000));
  target.complete(on_device(1'000'000, 6'000'000, 6'500'000));
  target.complete(on_device(1'000'000, 9'000'000, 9'500'000), Status::failed);
  EXPECT_EQ(heard, 3);
  const auto estimates = meter.estimates();
  EXPECT_DOUBLE_EQ(estimates.at("copy_in_ms").value, 1);
  EXPECT_DOUBLE_EQ(estimates.at("compute_ms").value, 4);
  EXPECT_DOUBLE_EQ(estimates.at("copy_out_ms").value, 0.5);
  EXPECT_EQ(estimates.at("compute_ms").n, 2);
  EXPECT_EQ(meter.limits().max_in_flight, 2);
}

TEST(MarkMeter, PartsOfSingleQueriesAreSeriesBesideTheirTimings) {
  MarkedTarget target;
  MarkMeter meter(target, 4);
  meter.on_completion([](std::span<const Completed>) {});
  target.complete(on_device(1'000'000, 4'000'000, 4'500'000), Status::ok, 1);
  target.complete({}, Status::ok, 2);
  target.complete({{MarkId::compute_begin, 0, 100}, {MarkId::compute_end, 0, 1'000'100}}, Status::ok, 3);
  target.complete({{MarkId::compute_begin, 0, 100}, {MarkId::compute_end, 0, 2'000'100}}, Status::ok, 3);  // its second batch
  target.complete(on_device(1'000'000, 4'000'000, 4'500'000), Status::ok, 4);
  target.complete(on_device(1'000'000, 4'000'000, 4'500'000), Status::ok, 5);  // beyond the limit
  std::vector<Timing> timings;
  for (const uint64_t query : {1, 2, 3, 5}) timings.push_back({query, 0, 0, static_cast<Nanoseconds>(100 * query), 1, Status::ok});
  const auto series = meter.series(timings);
  ASSERT_EQ(series.size(), 3U);
  EXPECT_EQ(series[0].name, "copy_in_ms");
  EXPECT_EQ(series[0].times, (std::vector<Nanoseconds>{100}));
  EXPECT_EQ(series[1].name, "compute_ms");
  EXPECT_EQ(series[1].times, (std::vector<Nanoseconds>{100, 300}));
  EXPECT_EQ(series[1].values, (std::vector<double>{3, 2}));
  meter.restart();
  EXPECT_TRUE(meter.series(timings).empty());
}

// A loop with several queries in flight has their slots in the ids; Timings have the numbers alone.
TEST(MarkMeter, PartsOfQueriesInFlightTogetherFindTheirTimings) {
  const auto clock = make_virtual_clock();
  MarkedTarget target;
  MarkMeter meter(target);
  Traffic traffic;
  traffic.target = &meter;
  traffic.samples = {0};
  Flight flight(traffic, *clock, 2);
  for (int i = 0; i < 2; ++i) flight.add(0, 0, 1);
  flight.send();
  for (size_t i = 0; i < 2; ++i)
    target.complete({{MarkId::compute_begin, 0, 0}, {MarkId::compute_end, 0, static_cast<Nanoseconds>(i + 1) * 1'000'000}}, Status::ok,
                    target.submitted.at(i));
  const auto series = meter.series(flight.collect());
  ASSERT_EQ(series.size(), 1U);
  EXPECT_EQ(series[0].values, (std::vector<double>{1, 2}));
}

TEST(MarkMeter, WithoutMarksThereIsNothing) {
  MarkedTarget target;
  MarkMeter meter(target);
  meter.on_completion([](std::span<const Completed>) {});
  target.complete({});
  target.complete({{MarkId::compute_begin, 0, 100}, {MarkId::compute_end, 1, 200}});  // two clocks
  EXPECT_TRUE(meter.estimates().empty());
}

}  // namespace
}  // namespace deepgap
