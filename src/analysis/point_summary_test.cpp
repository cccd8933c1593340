#include "analysis/point_summary.h"

#include "analysis/comparison.h"
#include "analysis/latency_percentile.h"
#include "analysis/metric.h"
#include "stats/percentile.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cmath>

namespace deepgap {
namespace {

Record ok_record(double throughput, int64_t batch = 1) {
  Record record;
  record.point.model = "resnet18";
  record.point.batch = batch;
  record.verdict = Verdict::valid;
  record.estimates["throughput"] = {throughput, throughput - 1, throughput + 1, 100};
  return record;
}

Record failed_record(Outcome outcome, const std::string& reason) {
  Record record = ok_record(0);
  record.outcome = outcome;
  record.verdict = Verdict::none;
  record.reason = reason;
  record.estimates.clear();
  return record;
}

TEST(PointSummary, groups_by_what_makes_a_point_in_order_of_appearance) {
  const std::vector<Record> records{ok_record(10, 4), ok_record(20, 1), ok_record(11, 4)};
  const auto points = summarize_points(records);
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].point.batch, 4);
  EXPECT_EQ(points[0].records, 2);
  EXPECT_EQ(points[1].records, 1);
  EXPECT_NE(points[0].point_id, points[1].point_id);
}

// What was only found so is no more in a Point of several repeats, and what speaks against the others comes first.
TEST(PointSummary, one_repeat_that_was_only_found_makes_the_point_so) {
  const auto verdict_with = [](Verdict third) {
    std::vector<Record> records{ok_record(100), ok_record(101), ok_record(102)};
    records[1].verdict = Verdict::as_found;
    records[2].verdict = third;
    return summarize_points(records).at(0).verdict;
  };
  EXPECT_EQ(verdict_with(Verdict::valid), Verdict::as_found);
  EXPECT_EQ(verdict_with(Verdict::as_found), Verdict::as_found);
  EXPECT_EQ(verdict_with(Verdict::unstable), Verdict::unstable);
  EXPECT_EQ(verdict_with(Verdict::invalid), Verdict::unstable) << "one of three misses its bound";
}

// Three repeats 99, 100, 101: mean 100, standard deviation 1, t(2) = 4.302653: 100 +- 4.302653 / sqrt(3) = 2.48414.
TEST(PointSummary, interval_over_repeats_is_students) {
  const std::vector<Record> records{ok_record(99), ok_record(100), ok_record(101)};
  const auto points = summarize_points(records);
  const MetricSummary* throughput = points.at(0).find("throughput");
  ASSERT_NE(throughput, nullptr);
  EXPECT_TRUE(throughput->over_repeats);
  EXPECT_DOUBLE_EQ(throughput->estimate.value, 100);
  EXPECT_NEAR(*throughput->estimate.high, 102.48414, 1e-4);
  EXPECT_NEAR(*throughput->estimate.low, 97.51586, 1e-4);
  EXPECT_EQ(throughput->estimate.n, 300);
}

// Repeats that agree by chance are no better known than the scatter within each: error 1 / t(31) = 1 / 2.039513 each, over sqrt(2).
TEST(PointSummary, interval_is_never_narrower_than_within_the_repeats) {
  const std::vector<Record> records{ok_record(100), ok_record(100)};
  const MetricSummary throughput = *summarize_points(records).at(0).find("throughput");
  const double error = 1 / 2.039513 / std::sqrt(2.0);
  EXPECT_NEAR(*throughput.estimate.high - 100, 12.706205 * error, 1e-3);
}

// A run of days holds what its table at the end is made of, and no more: of a further Record of a Point its values, in vectors that double.
TEST(PointSummary, a_collector_keeps_of_a_further_record_its_values_alone) {
  Record record = ok_record(100);
  for (int i = 0; i < 25; ++i) record.estimates["metric " + std::to_string(i)] = {1, 0.9, 1.1, 100};
  record.timings.resize(1000);
  record.facts["load"] = std::string(10'000, 'x');
  record.environment["cpu.model"] = "Xeon 1";
  PointCollector collector;
  collector.add(record);
  const size_t before = ::mallinfo2().uordblks;  // 0 where a sanitizer allocates
  constexpr size_t more = 4095;
  for (size_t i = 0; i < more; ++i) collector.add(record);
  const size_t each = (::mallinfo2().uordblks - before) / more;
  EXPECT_LE(each, 2 * sizeof(Estimate) * record.estimates.size());
}

TEST(PointSummary, repeats_that_looks_at_them_ended_are_known_less_well) {
  std::vector<Record> counted{ok_record(99), ok_record(100), ok_record(101)}, others{ok_record(102), ok_record(104), ok_record(106)};
  const PointSummary fixed = summarize_points(counted).at(0), other = summarize_points(others).at(0);
  counted.back().stopping.auto_repeats = true;  // of one: it went on by looks
  const PointSummary looked = summarize_points(counted).at(0);
  const auto half = [](const PointSummary& point) {
    return *point.find("throughput")->estimate.high - point.find("throughput")->mean.mean;
  };
  EXPECT_NEAR(half(looked), ended_by_looks * half(fixed), 1e-9);
  EXPECT_DOUBLE_EQ(looked.find("throughput")->mean.mean, fixed.find("throughput")->mean.mean);
  const double error = compare_points(fixed, other, "throughput")->repeats.log_error;
  ASSERT_GT(error, 0);
  EXPECT_NEAR(compare_points(looked, other, "throughput")->repeats.log_error, ended_by_looks * error, 1e-12);
  EXPECT_NEAR(compare_points(other, looked, "throughput")->repeats.log_error, ended_by_looks * error, 1e-12);
}

// Each by itself is known as well as it was asked to be; together they are not.
TEST(PointSummary, repeats_are_held_against_what_was_asked_of_all_of_them) {
  std::vector<Record> records{ok_record(99), ok_record(100), ok_record(101)};
  for (Record& record : records) record.verdict = Verdict::valid;
  EXPECT_EQ(summarize_points(records).at(0).verdict, Verdict::valid) << "nothing was";
  for (Record& record : records) record.stopping.asked_of_all = 0.02;
  const PointSummary wide = summarize_points(records).at(0);
  EXPECT_EQ(wide.verdict, Verdict::unstable);
  EXPECT_EQ(wide.reason, "throughput CI ±2.5 % over 3 repeats (target ±2 %)");
  for (Record& record : records) record.stopping.asked_of_all = 0.03;
  EXPECT_EQ(summarize_points(records).at(0).verdict, Verdict::valid);
  records.resize(1);
  EXPECT_EQ(summarize_points(records).at(0).verdict, Verdict::unstable) << "one says nothing of all";
}

// 97.51586 to 102.48414 over three repeats is their standard error times t(2), so that it is compared as three repeats are.
TEST(PointSummary, an_averaged_record_has_the_interval_of_repeats_that_are_not_here) {
  Record record = ok_record(100);
  record.estimates["throughput"] = {100, 97.51586, 102.48414, 300};
  record.estimates["latency_p50_ms"] = {5, {}, {}, 0};
  record.point.options["averaged"] = "on";
  record.facts = {{"averaged.repeats", int64_t{3}}, {"averaged.records", int64_t{4}}, {"averaged.nodes", int64_t{1}}};
  const PointSummary point = summarize_points(std::vector{record}).at(0);
  EXPECT_EQ(point.used, 3);
  EXPECT_EQ(point.records, 4);
  EXPECT_EQ(point.node_count(), 1);
  const MetricSummary& throughput = *point.find("throughput");
  EXPECT_TRUE(throughput.over_repeats);
  EXPECT_TRUE(throughput.repeats.empty());
  EXPECT_DOUBLE_EQ(*throughput.estimate.low, 97.51586);
  EXPECT_DOUBLE_EQ(throughput.mean.degrees_of_freedom, 2);
  EXPECT_NEAR(throughput.mean.variance_of_mean, 1.0 / 3, 1e-5);

  const std::vector<Record> measured{ok_record(199), ok_record(200), ok_record(201)};
  const PointSummary other = summarize_points(measured).at(0);
  const auto compared = compare_points(other, point, "throughput");
  ASSERT_TRUE(compared && compared->interval);
  EXPECT_EQ(compared->repeats.repeats, 3u);
  EXPECT_LT(compared->interval->low, 2);
  EXPECT_GT(compared->interval->low, 1.9);
  PointSummary told = other;
  told.metrics["latency_p50_ms"] = throughput;
  const auto untold = compare_points(told, point, "latency_p50_ms");
  ASSERT_TRUE(untold);
  EXPECT_FALSE(untold->interval);
  EXPECT_EQ(why_too_few(*untold), "an average without an interval");
}

// Never a repeat of one that was measured.
TEST(PointSummary, an_averaged_record_stands_beside_measured_ones) {
  Record averaged = ok_record(100);
  averaged.point.options["averaged"] = "on";
  averaged.facts["averaged.repeats"] = int64_t{1};
  const std::vector<Record> records{ok_record(99), averaged, ok_record(101)};
  const auto points = summarize_points(records);
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].used, 2);
  EXPECT_FALSE(points[1].find("throughput")->over_repeats);
}

Record on_node(const std::string& node, double throughput) {
  Record record = ok_record(throughput);
  record.facts["fleet.node"] = node;
  return record;
}

// Nodes at 100 and 110, each once, however many processes ran there: 105 +- 12.7 * sqrt(50 / 2).
TEST(PointSummary, of_several_nodes_each_counts_once) {
  const std::vector<Record> records{on_node("a", 99), on_node("a", 100), on_node("a", 101), on_node("b", 110)};
  const auto points = summarize_points(records);
  const MetricSummary& throughput = *points.at(0).find("throughput");
  EXPECT_DOUBLE_EQ(throughput.estimate.value, 105);
  EXPECT_NEAR(*throughput.estimate.high - 105, 12.706205 * 5, 1e-3);
  EXPECT_EQ(points[0].nodes.size(), 2u);
  EXPECT_EQ(points[0].nodes.at(throughput.repeats.at(3).node), "b");
}

TEST(PointSummary, of_one_node_nothing_changes) {
  const std::vector<Record> plain{ok_record(99), ok_record(100), ok_record(101)},
      named{on_node("a", 99), on_node("a", 100), ok_record(101)};  // one that does not tell ran there too
  const auto expected = summarize_points(plain), points = summarize_points(named);
  EXPECT_EQ(points.at(0).find("throughput")->estimate.low, expected.at(0).find("throughput")->estimate.low);
  EXPECT_EQ(points.at(0).find("throughput")->estimate.high, expected.at(0).find("throughput")->estimate.high);
  EXPECT_EQ(points[0].nodes.size(), 1u);
  EXPECT_EQ(points[0].nodes.begin()->second, "a");
}

TEST(PointSummary, hosts_are_nodes_and_a_fleets_name_goes_before) {
  Record a = ok_record(99), b = ok_record(101);
  a.environment["host.name"] = b.environment["host.name"] = std::string("frontend");
  EXPECT_EQ(summarize_points(std::vector{a, b}).at(0).nodes.size(), 1u);
  a.facts["fleet.node"] = std::string("n1");
  b.facts["fleet.node"] = std::string("n2");
  EXPECT_EQ(summarize_points(std::vector{a, b}).at(0).nodes.size(), 2u);
}

// Queries of a node resemble each other: its runs are one cluster.
TEST(PointSummary, percentiles_of_several_nodes_have_nodes_as_clusters) {
  const auto half_width = [](bool tells_nodes) {
    std::vector<Record> records;
    for (int run = 0; run < 12; ++run) {
      Record record = ok_record(100);
      const double slow = 1 + 0.05 * (run / 4);
      for (int query = 0; query < 1000; ++query) record.timings.push_back({0, 0, 0, static_cast<int64_t>(slow * (1e6 + 1000 * query)), 1});
      record.estimates["latency_p99_ms"] = *latency_percentile(record, 99);
      keep_latency_sketch(record);
      if (tells_nodes) record.facts["fleet.node"] = "n" + std::to_string(run / 4);
      records.push_back(std::move(record));
    }
    const Estimate p99 = summarize_points(records).at(0).find("latency_p99_ms")->estimate;
    return *p99.high - *p99.low;
  };
  EXPECT_GT(half_width(true), 2 * half_width(false));
}

TEST(PointSummary, no_interval_reaches_below_zero) {
  const std::vector<Record> records{ok_record(10), ok_record(30)};  // 20 +- 12.7 * 10
  const Estimate estimate = summarize_points(records).at(0).find("throughput")->estimate;
  EXPECT_EQ(*estimate.low, 0);
  EXPECT_NEAR(*estimate.high, 147.062, 1e-3);
}

// All of them lie too low, and so does their mean.
TEST(PointSummary, percentiles_of_a_handful_have_no_upper_end_over_repeats) {
  const auto p99_of = [](int64_t n) {
    std::vector<Record> records;
    for (const double p99 : {5.0, 5.1, 5.2}) {
      records.push_back(ok_record(100));
      records.back().estimates["latency_p99_ms"] = {p99, {}, {}, n};
    }
    return summarize_points(records).at(0).find("latency_p99_ms")->estimate;
  };
  EXPECT_TRUE(p99_of(1000).high.has_value());
  EXPECT_FALSE(p99_of(107).high.has_value());
  EXPECT_TRUE(p99_of(107).low.has_value());
}

TEST(PointSummary, one_repeat_keeps_its_own_interval) {
  Record record = ok_record(100);
  record.estimates["latency_p99_ms"] = {5, 4.9, 7, 1000};
  record.estimates["load_s"] = {0.5, {}, {}, 1};
  const auto points = summarize_points(std::vector{record});
  const MetricSummary& p99 = *points[0].find("latency_p99_ms");
  EXPECT_FALSE(p99.over_repeats);
  EXPECT_EQ(*p99.estimate.low, 4.9);
  EXPECT_EQ(*p99.estimate.high, 7);
  EXPECT_FALSE(points[0].find("load_s")->estimate.low.has_value());
  EXPECT_EQ(points[0].find("nothing"), nullptr);
}

TEST(PointSummary, unstable_is_kept_and_labelled) {
  Record unstable = ok_record(90);
  unstable.verdict = Verdict::unstable;
  unstable.reason = "throughput +-3% at the budget";
  const auto points = summarize_points(std::vector{ok_record(110), unstable});
  EXPECT_EQ(points[0].verdict, Verdict::unstable);
  EXPECT_EQ(points[0].reason, "throughput +-3% at the budget");
  EXPECT_DOUBLE_EQ(points[0].find("throughput")->estimate.value, 100);
  EXPECT_TRUE(points[0].usable());
}

TEST(PointSummary, undecided_is_an_answer_of_its_own) {
  Record untold = ok_record(500);
  untold.verdict = Verdict::undecided;
  untold.reason = "40 queries are too few";
  const auto alone = summarize_points(std::vector{untold});
  EXPECT_EQ(alone[0].verdict, Verdict::undecided);
  EXPECT_EQ(alone[0].reason, untold.reason);
  EXPECT_FALSE(alone[0].usable());
  const auto mixed = summarize_points(std::vector{untold, ok_record(100), ok_record(100)});
  EXPECT_EQ(mixed[0].verdict, Verdict::unstable);
  EXPECT_EQ(mixed[0].reason, "1 of 3 repeats undecided: 40 queries are too few");
  Record broken = untold;
  broken.verdict = Verdict::invalid;
  EXPECT_EQ(summarize_points(std::vector{untold, broken})[0].verdict, Verdict::invalid);
}

// Each run alone has some two queries beyond its p99, so its own lies too low; all of them together have 20.
TEST(PointSummary, a_percentile_is_that_of_all_repeats_queries_together) {
  std::vector<Record> records;
  std::vector<double> all;
  for (int repeat = 0; repeat < 10; ++repeat) {
    Record& record = records.emplace_back(ok_record(100));
    for (int i = 0; i < 200; ++i) {
      const double u = (i * 10 + repeat + 0.5) / 2000;  // an even share of one distribution
      all.push_back(1 / (1 - u));
      const auto begin = static_cast<Nanoseconds>(i) * 1'000'000'000;
      record.timings.push_back({static_cast<uint64_t>(i), begin, begin, begin + static_cast<Nanoseconds>(all.back() * 1e6), 1, Status::ok});
    }
    compute_metrics(record);
    record.timings.clear();
  }
  const Estimate p99 = summarize_points(records)[0].find("latency_p99_ms")->estimate;
  EXPECT_NEAR(p99.value, percentile(all, 99), 0.003 * p99.value);
  ASSERT_TRUE(p99.low && p99.high);
  EXPECT_LT(*p99.low, 100);
  EXPECT_GT(*p99.high, 100);
  records.resize(1);
  EXPECT_FALSE(summarize_points(records)[0].find("latency_p99_ms")->estimate.high) << "200 queries alone";
}

TEST(PointSummary, a_bound_is_judged_over_the_queries_of_all_repeats) {
  const auto repeat = [](double queries, double missed, Verdict verdict) {
    Record record = ok_record(100);
    record.point.options["bound"] = "p99=15ms";
    record.verdict = verdict;
    if (verdict != Verdict::valid) record.reason = "its own";
    record.estimates["missed_share"] = {missed / queries, {}, {}, static_cast<int64_t>(queries)};
    return record;
  };
  const auto verdict = [](std::vector<Record> records) { return summarize_points(records)[0]; };
  const Record none = repeat(200, 0, Verdict::undecided), some = repeat(200, 4, Verdict::undecided);
  EXPECT_EQ(verdict({none, none}).verdict, Verdict::undecided);
  EXPECT_TRUE(verdict({none, none}).reason.starts_with("over 2 repeats 0 of 400 queries missed the bound p99=15ms: too few to tell"));
  EXPECT_EQ(verdict({none, none, none}).verdict, Verdict::valid) << "600 without a miss; none of them alone tells";
  EXPECT_EQ(verdict({none, none, none}).reason, "");
  EXPECT_EQ(verdict({some, some, some, some}).verdict, Verdict::invalid) << "16 of 800";
  EXPECT_EQ(verdict({some, some, some, some}).reason, "over 4 repeats 16 of 800 queries missed the bound p99=15ms, more than it allows");
  const Record held = repeat(10'000, 0, Verdict::valid), missed = repeat(1000, 30, Verdict::invalid);
  EXPECT_EQ(verdict({held, held, missed}).verdict, Verdict::unstable) << "one process of three misses it: that is said";
  Record search = none;
  search.point.options["peak"] = "search";
  EXPECT_EQ(verdict({search, search, search}).reason, "its own") << "a search judges run by run";
}

// Without the runs that missed the bound the tail would be that of the good ones: 14.2 where the five are 14.2 to 15.2.
TEST(PointSummary, all_repeats_that_ran_count_invalid_ones_too) {
  std::vector<Record> records;
  for (const double p99 : {14.2, 14.6, 14.8, 15.2, 15.2}) {
    Record record = ok_record(100);
    record.estimates["latency_p99_ms"] = {p99, {}, {}, 1000};
    record.verdict = p99 > 15 ? Verdict::invalid : Verdict::valid;
    if (p99 > 15) record.reason = "p99 15.2 ms, over 15 ms";
    records.push_back(record);
  }
  const PointSummary mixed = summarize_points(records).at(0);
  EXPECT_DOUBLE_EQ(mixed.find("latency_p99_ms")->estimate.value, 14.8);
  EXPECT_EQ(mixed.used, 5);
  EXPECT_EQ(mixed.verdict, Verdict::unstable);
  EXPECT_EQ(mixed.reason, "2 of 5 repeats invalid: p99 15.2 ms, over 15 ms");
  EXPECT_TRUE(mixed.usable());
}

TEST(PointSummary, a_point_is_invalid_where_half_of_its_repeats_are) {
  Record invalid = ok_record(500);
  invalid.verdict = Verdict::invalid;
  invalid.reason = "too few queries";
  const auto mixed = summarize_points(std::vector{invalid, ok_record(100)});
  EXPECT_DOUBLE_EQ(mixed[0].find("throughput")->estimate.value, 300);
  EXPECT_EQ(mixed[0].verdict, Verdict::invalid);
  EXPECT_EQ(mixed[0].reason, "1 of 2 repeats invalid: too few queries");
  EXPECT_EQ(mixed[0].used, 2);
  const auto alone = summarize_points(std::vector{invalid});
  EXPECT_DOUBLE_EQ(alone[0].find("throughput")->estimate.value, 500);
  EXPECT_EQ(alone[0].verdict, Verdict::invalid);
  EXPECT_EQ(alone[0].reason, "too few queries");
  EXPECT_FALSE(alone[0].usable());
}

Record on_gpu(double throughput, const std::string& name) {
  Record record = ok_record(throughput);
  record.point.placement.devices = {{"", "cuda", 0}};
  record.environment = {{"cpu.model", "A CPU 1"}};
  if (!name.empty()) record.environment["gpu.cuda0.name"] = name;
  return record;
}

TEST(PointSummary, the_same_point_on_another_device_is_another_result) {
  const auto points = summarize_points(std::vector{on_gpu(100, "H100"), on_gpu(140, "H200"), on_gpu(102, "H100")});
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].point_id, points[1].point_id);
  EXPECT_EQ(points[0].identity.device, "H100");
  EXPECT_DOUBLE_EQ(points[0].find("throughput")->estimate.value, 101);
  EXPECT_EQ(points[1].identity.device, "H200");
  EXPECT_DOUBLE_EQ(points[1].find("throughput")->estimate.value, 140);
}

TEST(PointSummary, a_record_without_its_device_counts_with_the_only_known_one) {
  Record crashed = on_gpu(0, "");
  crashed.outcome = Outcome::crashed;
  const auto one = summarize_points(std::vector{crashed, on_gpu(100, "H100")});
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].records, 2);
  EXPECT_EQ(one[0].count(Outcome::crashed), 1);
  EXPECT_EQ(one[0].identity.device, "H100");
  const auto two = summarize_points(std::vector{crashed, on_gpu(100, "H100"), on_gpu(140, "H200")});
  ASSERT_EQ(two.size(), 3u);
  EXPECT_EQ(two[0].outcome, Outcome::crashed);
  EXPECT_EQ(two[0].identity.device, "");
}

TEST(PointSummary, the_verdict_of_a_record_without_its_device_counts_too) {
  Record untold = on_gpu(100, "");
  untold.verdict = Verdict::undecided;
  untold.reason = "40 queries are too few";
  const auto points = summarize_points(std::vector{untold, on_gpu(100, "H100")});
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].verdict, Verdict::undecided);
  EXPECT_EQ(points[0].reason, "1 of 2 repeats undecided: 40 queries are too few");
}

TEST(PointSummary, machines_around_one_device_are_told) {
  Record there = on_gpu(100, "H100");
  there.environment["cpu.model"] = "B CPU 2";
  const auto points = summarize_points(std::vector{on_gpu(100, "H100"), there});
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].machines, (std::set<std::string>{"A CPU 1", "B CPU 2"}));
}

TEST(PointSummary, failures_are_counted_beside_values) {
  const std::vector<Record> records{ok_record(100), failed_record(Outcome::crashed, "signal 9"), ok_record(102),
                                    failed_record(Outcome::crashed, "signal 9"), failed_record(Outcome::crashed, "signal 9")};
  const auto points = summarize_points(records);
  EXPECT_EQ(points[0].outcome, Outcome::ok);
  EXPECT_EQ(points[0].count(Outcome::crashed), 3);
  EXPECT_EQ(points[0].used, 2);
  EXPECT_EQ(points[0].outcomes.front().reason, "signal 9");  // most frequent first
}

TEST(PointSummary, one_wrong_result_takes_the_speed_away) {
  const std::vector<Record> records{ok_record(100), failed_record(Outcome::incorrect, "SQNR 3 dB"), ok_record(102)};
  const auto points = summarize_points(records);
  EXPECT_EQ(points[0].outcome, Outcome::incorrect);
  EXPECT_EQ(points[0].reason, "SQNR 3 dB");
  EXPECT_TRUE(points[0].metrics.empty());
  EXPECT_FALSE(points[0].usable());
}

TEST(PointSummary, an_interruption_says_least_about_a_point) {
  const std::vector<Record> records{failed_record(Outcome::interrupted, "ctrl-c"), failed_record(Outcome::interrupted, "ctrl-c"),
                                    failed_record(Outcome::refused, "Foo is not supported")};
  const auto points = summarize_points(records);
  EXPECT_EQ(points[0].outcome, Outcome::refused);
  EXPECT_EQ(points[0].verdict, Verdict::none);
}

TEST(PointSummary, the_worst_check_is_shown) {
  Record good = ok_record(100), worse = ok_record(100);
  good.check = CheckResult{"native fp32 reference", 8, 1e-6, 1e-7, 120, 1.0, 60.0, true};
  worse.check = CheckResult{"native fp32 reference", 8, 1e-4, 1e-5, 80, 1.0, 60.0, true};
  EXPECT_EQ(summarize_points(std::vector{good, worse, good})[0].check->sqnr_db, 80);
}

TEST(PointSummary, nothing_gives_nothing_and_values_that_are_no_numbers_are_left_out) {
  EXPECT_TRUE(summarize_points({}).empty());
  Record record = ok_record(100);
  record.estimates["power_w"] = {std::nan(""), {}, {}, 1};
  EXPECT_EQ(summarize_points(std::vector{record})[0].find("power_w"), nullptr);
}

}  // namespace
}  // namespace deepgap
