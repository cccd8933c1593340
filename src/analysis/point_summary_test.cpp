#include "analysis/point_summary.h"

#include "analysis/comparison.h"
#include "analysis/latency_percentile.h"
#include "analysis/metric.h"
#include "analysis/point_verdict.h"
#include "record/verdict.h"
#include "stats/percentile.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cmath>
#include <functional>
#include <random>

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
    for (Record& record : records) record.stopping.name = "duration";
    records[1].verdict = Verdict::as_found;
    records[2].verdict = third;
    return summarize_points(records).at(0).verdict;
  };
  EXPECT_EQ(verdict_with(Verdict::valid), Verdict::as_found);
  EXPECT_EQ(verdict_with(Verdict::as_found), Verdict::as_found);
  EXPECT_EQ(verdict_with(Verdict::unstable), Verdict::unstable);
  EXPECT_EQ(verdict_with(Verdict::invalid), Verdict::unstable) << "one of three misses its bound";
}

// Three repeats 99, 100, 101: mean 100, standard deviation of the logarithms 0.0100004, t(2) = 4.302653: a factor of exp(0.0248423).
TEST(PointSummary, interval_over_repeats_is_students) {
  const std::vector<Record> records{ok_record(99), ok_record(100), ok_record(101)};
  const auto points = summarize_points(records);
  const MetricSummary* throughput = points.at(0).find("throughput");
  ASSERT_NE(throughput, nullptr);
  EXPECT_TRUE(throughput->over_repeats);
  EXPECT_DOUBLE_EQ(throughput->estimate.value, 100);
  EXPECT_NEAR(*throughput->estimate.high, 102.51534, 1e-4);
  EXPECT_NEAR(*throughput->estimate.low, 97.54640, 1e-4);
  EXPECT_EQ(throughput->estimate.n, 300);
}

// Repeats that agree by chance are no better known than the scatter within each: error 1 / t(31) = 1 / 2.039513 each, over sqrt(2).
TEST(PointSummary, interval_is_never_narrower_than_within_the_repeats) {
  const std::vector<Record> records{ok_record(100), ok_record(100)};
  const MetricSummary throughput = *summarize_points(records).at(0).find("throughput");
  const double error = 1 / 2.039513 / std::sqrt(2.0);
  EXPECT_NEAR(std::log(*throughput.estimate.high / 100), 12.706205 * error / 100, 1e-5);
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
  counted.back().stopping.auto_repeats = true;  // on one Record: its repeats depended on the results
  const PointSummary looked = summarize_points(counted).at(0);
  const auto half = [](const PointSummary& point) {
    return std::log(*point.find("throughput")->estimate.high / point.find("throughput")->mean.mean);
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
  for (Record& record : records) record.stopping.name = "duration";
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

// Windows of less than two seconds by themselves do not show what lasts for seconds.
TEST(PointSummary, repeats_may_be_short_where_five_others_were_not) {
  std::vector<Record> records;
  for (int i = 0; i < 9; ++i) {
    records.push_back(ok_record(100 + i % 2));
    records.back().stopping.asked_of_all = 0.02;
    records.back().stopping.auto_repeats = true;
    if (i >= 5) records.back().verdict = Verdict::as_found;
  }
  EXPECT_EQ(summarize_points(records).at(0).verdict, Verdict::valid);
  records.erase(records.begin());
  EXPECT_EQ(summarize_points(records).at(0).verdict, Verdict::as_found) << "four are too few";
  for (Record& record : records) record.stopping.asked_of_all = 0.0001;
  EXPECT_EQ(summarize_points(records).at(0).verdict, Verdict::unstable);
}

// 97.546424 to 102.515249 over three repeats is their relative standard error times t(2) as a factor, so that it is compared as three
// repeats are.
TEST(PointSummary, an_averaged_record_has_the_interval_of_repeats_that_are_not_here) {
  Record record = ok_record(100);
  record.estimates["throughput"] = {100, 97.546424, 102.515249, 300};
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
  EXPECT_DOUBLE_EQ(*throughput.estimate.low, 97.546424);
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

// Nodes at 100 and 110, each once, however many processes ran there: a factor of exp(12.7 * ln(1.1) / 2) around 105.
TEST(PointSummary, of_several_nodes_each_counts_once) {
  const std::vector<Record> records{on_node("a", 99), on_node("a", 100), on_node("a", 101), on_node("b", 110)};
  const auto points = summarize_points(records);
  const MetricSummary& throughput = *points.at(0).find("throughput");
  EXPECT_DOUBLE_EQ(throughput.estimate.value, 105);
  EXPECT_NEAR(std::log(*throughput.estimate.high / 105), 12.706205 * std::log(1.1) / 2, 1e-3);
  EXPECT_EQ(points[0].nodes.size(), 2u);
  EXPECT_EQ(points[0].nodes.at(throughput.repeats.at(3).node), "b");
}

TEST(PointSummary, of_one_node_nothing_changes) {
  const std::vector<Record> plain{ok_record(99), ok_record(100), ok_record(101)},
      named{on_node("a", 99), on_node("a", 100), ok_record(101)};  // the Record without a node ran there too
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
      for (int query = 0; query < 1000; ++query)
        record.timings.push_back({0, 0, 0, static_cast<int64_t>(slow * (1e6 + 1000 * (query * 617 % 1000))), 1});
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

// Runs of 2 and 2.5 ms: 450 items/s, and a factor of exp(12.7 * ln(1.25) / 2) = 4.13 to either side.
TEST(PointSummary, no_interval_of_positive_values_includes_zero) {
  std::vector<Record> records{ok_record(500), ok_record(400)};
  for (size_t i = 0; i < records.size(); ++i) {
    records[i].estimates["latency_p50_ms"] = {i == 0 ? 2.0 : 2.5, {}, {}, 100};
    records[i].estimates["failed_queries"] = {i == 0 ? 0.0 : 3.0, {}, {}, 100};
  }
  const PointSummary point = summarize_points(records).at(0);
  const Estimate throughput = point.find("throughput")->estimate, latency = point.find("latency_p50_ms")->estimate;
  EXPECT_DOUBLE_EQ(throughput.value, 450);
  EXPECT_NEAR(*throughput.low, 450 / 4.1276, 0.05);
  EXPECT_NEAR(*throughput.high, 450 * 4.1276, 0.5);
  EXPECT_NEAR(*latency.low, 2.25 / 4.1276, 1e-3);
  EXPECT_EQ(*point.find("failed_queries")->estimate.low, 0) << "what may be 0 scatters around its mean";
  EXPECT_EQ(point.verdict, Verdict::unstable);
}

// What one repeat says of itself is not what the Point is known by.
TEST(PointSummary, the_verdict_of_a_point_is_about_its_interval_over_repeats) {
  const auto point_of = [](const std::vector<double>& values, const std::function<void(Record&)>& change) {
    std::vector<Record> records;
    for (const double value : values) change(records.emplace_back(ok_record(value)));
    return summarize_points(records).at(0);
  };
  const auto nothing = [](Record&) {};
  const auto wide = [](Record& record) {
    record.verdict = Verdict::unstable;
    record.facts[wide_interval_fact] = true;
    record.reason = "throughput CI ±1.4 % after the budget of 2 s (target ±1 %)";
  };
  const auto drifting = [&](Record& record) {
    wide(record);
    record.facts.clear();
    record.reason += "; drifted: 3 % slower at the end of 2 s";
  };
  const std::vector<double> apart{351, 487, 624}, close{1000, 1001, 999, 1002, 998};
  const PointSummary scattered = point_of(apart, nothing);
  EXPECT_EQ(scattered.verdict, Verdict::unstable) << "each of them valid";
  EXPECT_TRUE(scattered.reason.starts_with("throughput CI ±")) << scattered.reason;
  EXPECT_TRUE(scattered.reason.ends_with("over 3 repeats (target ±1 %)")) << scattered.reason;
  EXPECT_TRUE(is_judged_by_interval(scattered));
  EXPECT_EQ(point_of(close, wide).verdict, Verdict::valid);
  EXPECT_EQ(point_of(close, wide).reason, "");
  const auto wide_before = [&](Record& record) {
    wide(record);
    record.facts.clear();
    record.reason = "throughput +-1.4% at the budget of 2 s, asked 1%";
  };
  EXPECT_EQ(point_of(close, wide_before).verdict, Verdict::valid) << "a store of before says it in words";
  EXPECT_EQ(point_of(close, drifting).verdict, Verdict::unstable) << "their interval does not show what all do alike";
  EXPECT_TRUE(point_of(close, drifting).reason.starts_with("5 of 5 repeats: ")) << point_of(close, drifting).reason;
  EXPECT_EQ(point_of({1000}, wide).verdict, Verdict::unstable) << "one repeat is its own";
  const auto untargeted = [](Record& record) { record.stopping.name = "duration"; };
  EXPECT_EQ(point_of(apart, untargeted).verdict, Verdict::valid) << "nothing was asked";
  const auto offered = [](Record& record) { record.estimates["offered_rate"] = {400, {}, {}, 100}; };
  EXPECT_EQ(point_of(apart, offered).verdict, Verdict::valid) << "the load was asked for";
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
  unstable.reason = "not steady: two speeds took turns, 10% apart (throughput +-0.5%)";
  const auto points = summarize_points(std::vector{ok_record(110), unstable});
  EXPECT_EQ(points[0].verdict, Verdict::unstable);
  EXPECT_EQ(points[0].reason, "1 of 2 repeats: " + unstable.reason);
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
      const double u = (i * 77 % 200 * 10 + repeat + 0.5) / 2000;  // an even share of one distribution, in no order
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

// Queries of a run that resemble their neighbours count for few, alone and together: 5 x 2000 of AR(1) 0.99 are some 100.
TEST(PointSummary, correlated_queries_give_no_upper_end_over_repeats_either) {
  const auto p99_of = [](double correlation, bool tells) {
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal;
    std::vector<Record> records;
    for (int repeat = 0; repeat < 5; ++repeat) {
      Record& record = records.emplace_back(ok_record(100));
      double state = normal(random);
      for (uint64_t i = 0; i < 2000; ++i) {
        state = correlation * state + std::sqrt(1 - correlation * correlation) * normal(random);
        record.timings.push_back({i, 0, 0, static_cast<int64_t>(1e7 * std::exp(0.1 * state)), 1, Status::ok});
      }
      compute_metrics(record);
      record.timings.clear();
      if (!tells) record.facts.erase("latency.independent");
    }
    return summarize_points(records)[0].find("latency_p99_ms")->estimate;
  };
  EXPECT_TRUE(p99_of(0, true).high.has_value());
  EXPECT_TRUE(p99_of(0, false).high.has_value());
  EXPECT_FALSE(p99_of(0.99, true).high.has_value());
  EXPECT_FALSE(p99_of(0.99, false).high.has_value()) << "a store of before: its own p99 has none";
  EXPECT_TRUE(p99_of(0.99, true).low.has_value());
}

// Means of extremes would contradict percentiles of all queries.
TEST(PointSummary, counts_and_extremes_are_those_of_all_repeats) {
  std::vector<Record> records;
  for (int repeat = 0; repeat < 3; ++repeat) {
    Record& record = records.emplace_back(ok_record(100));
    for (uint64_t i = 0; i < 200; ++i)
      record.timings.push_back({i, 0, 0, static_cast<int64_t>((1 + 0.1 * repeat) * (1'000'000 + 1000 * (i * 77 % 200))), 1, Status::ok});
    compute_metrics(record);
    record.timings.clear();
  }
  const PointSummary point = summarize_points(records)[0];
  const auto value = [&](const char* id) { return point.find(id)->estimate.value; };
  EXPECT_DOUBLE_EQ(value("latency_max_ms"), 1.2 * 1.199);
  EXPECT_DOUBLE_EQ(value("latency_min_ms"), 1);
  EXPECT_EQ(value("timings"), 600);
  EXPECT_FALSE(point.find("latency_max_ms")->estimate.high.has_value());
  double before = value("latency_min_ms");
  for (const char* id : {"latency_p50_ms", "latency_p90_ms", "latency_p99_ms", "latency_p999_ms", "latency_p9999_ms", "latency_max_ms"}) {
    EXPECT_GE(value(id), before) << id;
    before = value(id);
  }
  const double p50 = value("latency_p50_ms");
  EXPECT_DOUBLE_EQ(p50, std::round(p50 * 1000) / 1000) << "four digits of a bucket of 0.5 %";
  EXPECT_EQ(fmt::format("{}", p50).size(), 5u) << fmt::format("{}", p50);
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
  EXPECT_TRUE(verdict({none, none}).reason.starts_with("over 2 repeats 0 of 400 queries missed the SLO p99=15ms: too few to decide"));
  EXPECT_EQ(verdict({none, none, none}).verdict, Verdict::valid) << "600 without a miss; none of them alone tells";
  EXPECT_EQ(verdict({none, none, none}).reason, "");
  EXPECT_EQ(verdict({some, some, some, some}).verdict, Verdict::invalid) << "16 of 800";
  EXPECT_EQ(verdict({some, some, some, some}).reason, "over 4 repeats 16 of 800 queries missed the SLO p99=15ms, more than it allows");
  const Record held = repeat(10'000, 0, Verdict::valid), missed = repeat(1000, 30, Verdict::invalid);
  EXPECT_EQ(verdict({held, held, missed}).verdict, Verdict::unstable) << "one process of three misses it: that is said";
  Record search = none;
  search.point.options["peak"] = "search";
  EXPECT_EQ(verdict({search, search, search}).reason, "its own") << "a search judges run by run";
}

// 180, 240 and 290 ms: each run holds 300 ms, and a fourth may not. With 180, 190 and 200 ms it will.
TEST(PointSummary, a_bound_held_by_every_repeat_is_undecided_where_repeats_differ_too_much) {
  const auto point_of = [](const std::vector<double>& p90_ms) {
    std::vector<Record> records;
    for (const double p90 : p90_ms) {
      Record& record = records.emplace_back(ok_record(100));
      record.point.options["bound"] = "p90=300ms";
      record.estimates["missed_share"] = {0, {}, {}, 500};
      record.estimates["latency_p90_ms"] = {p90, p90 - 1, p90 + 1, 500};
    }
    return summarize_points(records)[0];
  };
  EXPECT_EQ(point_of({180, 190, 200}).verdict, Verdict::valid);
  EXPECT_EQ(point_of({180, 240, 290}).verdict, Verdict::undecided);
  EXPECT_EQ(point_of({180, 240, 290}).reason, "p90 CI 130 to 430 ms over 3 repeats, beyond the SLO p90=300ms; measure more repeats");
  EXPECT_EQ(point_of({180, 240}).verdict, Verdict::valid) << "two do not show how much repeats differ";
  EXPECT_EQ(point_of({180}).verdict, Verdict::valid);
}

// Without the runs that missed the SLO the tail would be that of the good ones: 14.2, where the five are 14.2 to 15.2.
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
