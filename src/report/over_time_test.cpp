#include "report/over_time.h"

#include <gmock/gmock.h>

namespace deepgap {
namespace {

TEST(OverTime, latencies_lie_where_their_queries_were_due) {
  constexpr Nanoseconds s = 1'000'000'000, ms = 1'000'000;
  Record record;
  record.windows = {{"steady", 0, 120 * s}};
  record.timings = {{0, 0, 0, 1 * ms, 1, Status::ok}, {1, 119'900 * ms, 119'900 * ms, 119'902 * ms, 1, Status::ok}};
  const Track track = track_of(record, "a point");
  ASSERT_FALSE(track.pictures.empty());
  ASSERT_EQ(track.pictures[0].title, "Latency");
  using Points = std::vector<std::pair<double, double>>;
  EXPECT_EQ(track.pictures[0].lines[0].points, (Points{{0.5, 1}, {119.5, 2}})) << "in the middle of the first and the last second";
}

// A counter is drawn as its growth; of several GPUs each has a line.
TEST(OverTime, what_a_server_tells_is_drawn) {
  constexpr Nanoseconds s = 1'000'000'000;
  Record record;
  record.windows = {{"steady", 0, 10 * s}};
  const std::vector<Nanoseconds> times{1 * s, 2 * s, 4 * s};
  record.series = {{"server", "power.gpu0", "W", false, times, {100, 200, 300}},
                   {"server", "power.gpu1", "W", false, times, {50, 50, 50}},
                   {"server", "requests", "1", true, times, {1000, 1500, 2500}},
                   {"other", "power", "W", false, times, {1, 1, 1}}};
  const Track track = track_of(record, "a point");
  ASSERT_EQ(track.pictures.size(), 2u);
  EXPECT_EQ(track.pictures[0].title, "Power");
  ASSERT_EQ(track.pictures[0].lines.size(), 2u);
  EXPECT_EQ(track.pictures[0].lines[1].label, "server:1");
  EXPECT_EQ(track.pictures[1].title, "Requests that the server answered");
  using Points = std::vector<std::pair<double, double>>;
  EXPECT_EQ(track.pictures[1].lines[0].points, (Points{{2, 500}, {4, 500}}));
}

TEST(OverTime, waits_for_a_cpu_are_drawn_slice_by_slice) {
  constexpr Nanoseconds ms = 1'000'000;
  Record record;
  record.windows = {{"steady", 0, 80 * ms}};
  record.series = {{"slices", "run_delay", "s", true, {0, 20 * ms, 40 * ms, 60 * ms}, {1, 1, 1.01, 1.01}}};
  const Track track = track_of(record, "a point");
  ASSERT_EQ(track.pictures.size(), 1u);
  EXPECT_EQ(track.pictures[0].title, "Threads of the engine that waited for a CPU");
  ASSERT_EQ(track.pictures[0].lines[0].points.size(), 3u);
  EXPECT_NEAR(track.pictures[0].lines[0].points[1].second, 0.5, 1e-9) << "10 ms of 20";
}

}  // namespace
}  // namespace deepgap
