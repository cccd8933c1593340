#include "analysis/interference.h"

#include "record/tenant_set.h"

#include <gmock/gmock.h>

namespace deepgap {
namespace {

using ::testing::HasSubstr;

Point point_of(const std::string& model, const std::string& scenario = "batch") {
  Point point;
  point.model = model;
  point.scenario = scenario;
  return point;
}

// `throughput` items/s in three repeats that lie `apart`, as a share of it; the latency of one is its inverse.
void add(std::vector<Record>& records, const Point& point, double throughput, double apart = 0.01) {
  for (int repeat = 0; repeat < 3; ++repeat) {
    Record record;
    record.point = point;
    record.repeat = repeat;
    record.verdict = Verdict::valid;
    const double value = throughput * (1 + apart * (repeat - 1));
    record.estimates["throughput"] = {value, value * 0.99, value * 1.01, 100};
    record.estimates["latency_p99_ms"] = {1e3 / value, {}, {}, 100};
    records.push_back(record);
  }
}

std::vector<Record> two_tenants(const std::string& scenario, const std::string& cpus, double apart = 0.01) {
  std::vector<Point> points{point_of("a"), point_of("b", scenario)};
  std::vector<Record> records;
  add(records, points[0], 100);
  add(records, points[1], 50);
  for (Point& point : points) point.options["tenant_cpus"] = cpus;
  join_tenants(points);
  add(records, points[1], 20, apart);  // in any order
  add(records, points[0], 70, apart);
  return records;
}

TEST(Interference, is_the_ratio_to_each_alone) {
  const auto points = summarize_points(two_tenants("batch", "share"));
  const auto sets = tenant_sets(points);
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0].label(), "a beside b, batch 1, CPUs shared");
  ASSERT_EQ(sets[0].tenants.size(), 2u);
  const TenantInterference& a = sets[0].tenants[0];
  EXPECT_NEAR(a.throughput->ratio, 0.7, 1e-9);
  EXPECT_NEAR(a.latency_p99->ratio, 1 / 0.7, 1e-3);
  ASSERT_TRUE(a.throughput->interval);
  EXPECT_LT(a.throughput->interval->low, 0.7);
  EXPECT_GT(a.throughput->interval->high, 0.7);
  EXPECT_TRUE(a.throughput->over_repeats);
  EXPECT_THAT(interference_words(a), HasSubstr("a keeps 0.70 (0."));
  EXPECT_THAT(interference_words(a), HasSubstr("its p99 latency is 1.43 ("));
}

TEST(Interference, the_work_of_a_set_is_the_sum_where_all_take_what_they_can) {
  const auto points = summarize_points(two_tenants("batch", "split"));
  const auto work = tenant_sets(points)[0].work();
  ASSERT_TRUE(work);
  EXPECT_NEAR(work->value, 0.7 + 0.4, 1e-9);
  EXPECT_LT(work->interval->low, 1.1);
  EXPECT_THAT(work_words(tenant_sets(points)[0]), HasSubstr("the work of 1.10 (1."));
  const auto served = summarize_points(two_tenants("server", "split"));
  EXPECT_FALSE(tenant_sets(served)[0].work()) << "a server's throughput is what was offered";
  EXPECT_EQ(work_words(tenant_sets(served)[0]), "");
}

TEST(Interference, the_interval_of_a_sum_lies_above_zero_however_wide_its_parts_are) {
  const auto points = summarize_points(two_tenants("batch", "split", 0.6));
  const auto sets = tenant_sets(points);
  const auto work = sets[0].work();
  ASSERT_TRUE(work && work->interval);
  EXPECT_GT(work->interval->low, 0);
  EXPECT_GT(work->interval->high - work->value, work->value) << "the parts are wide";
}

TEST(Interference, a_set_needs_every_tenant_together_and_alone) {
  std::vector<Record> records = two_tenants("batch", "share");
  std::vector<Record> without_alone(records.begin() + 3, records.end());
  EXPECT_TRUE(tenant_sets(summarize_points(without_alone)).empty());
  for (Record& record : records) {
    if (record.estimates["throughput"].value < 30) record.outcome = Outcome::crashed;
  }
  EXPECT_TRUE(tenant_sets(summarize_points(records)).empty());
}

}  // namespace
}  // namespace deepgap
