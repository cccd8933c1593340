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

}  // namespace
}  // namespace deepgap
