// Findings on offered loads: lateness, latency bounds, peaks.
#include "analysis/finding_rig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Findings, queries_that_were_issued_late_are_a_warning) {
  ResultsCollector collector;
  add(collector, {.model = "resnet50", .throughputs = {100}, .metrics = {{"issue_lateness_p99_us", 490}}});  // p50 is 10 ms
  EXPECT_THAT(find("late_issue", collector), SizeIs(0));
  add(collector, {.model = "resnet18", .throughputs = {100}, .metrics = {{"issue_lateness_p99_us", 510}}});
  const auto statements = find("late_issue", collector);
  ASSERT_THAT(statements, SizeIs(1));
  EXPECT_EQ(statements[0].headline, "1 point was issued late");
  EXPECT_THAT(statements[0].detail, HasSubstr("at least 510 us after they were due, at a median latency of 10.0 ms"));
}

TEST(Findings, a_latency_bound_of_which_cannot_be_told_is_not_broken) {
  const auto add_point = [](ResultsCollector& collector, double rate, Verdict verdict, const std::string& reason) {
    Record record;
    record.point.model = "resnet50";
    record.point.options = {{"bound", "p99=15ms"}, {"rate", std::to_string(rate)}};
    record.verdict = verdict;
    record.reason = reason;
    record.estimates["achieved_rate"] = {rate, {}, {}, 1000};
    collector.add(record);
  };
  ResultsCollector collector;
  add_point(collector, 10, Verdict::undecided, "40 queries are too few");
  const auto alone = find("latency_bounds", collector);
  ASSERT_THAT(alone, SizeIs(1));
  EXPECT_THAT(alone[0].headline, HasSubstr("p99=15ms is inconclusive"));
  EXPECT_EQ(alone[0].detail, "40 queries are too few");
  add_point(collector, 100, Verdict::valid, "");
  const auto held = find("latency_bounds", collector);
  ASSERT_THAT(held, SizeIs(1));
  EXPECT_THAT(held[0].headline, HasSubstr("meets p99=15ms at 100 queries a second"));
  EXPECT_THAT(held[0].detail, HasSubstr("It is inconclusive at 10.0: 40 queries are too few"));
  EXPECT_THAT(find("trust", collector).at(0).headline, HasSubstr("1 point undecided"));
}

TEST(Findings, a_latency_bound_is_held_or_broken_with_its_reason) {
  ResultsCollector collector;
  Record record;
  record.point.model = "resnet50";
  record.point.scenario = "server";
  record.point.options = {{"bound", "p99=15ms"}, {"rate", "100"}};
  record.verdict = Verdict::valid;
  record.estimates["latency_p99_ms"] = {12.5, {}, {}, 1000};
  record.estimates["achieved_rate"] = {99.5, {}, {}, 1000};
  collector.add(record);
  record.point.options["rate"] = "200";
  record.verdict = Verdict::invalid;
  record.reason = "p99 latency is 21 ms";
  record.estimates["achieved_rate"] = {198, {}, {}, 1000};
  collector.add(record);
  record.point.options["max_batch"] = "8";  // another line, which has no smaller rate
  collector.add(record);
  const auto statements = find("latency_bounds", collector);
  ASSERT_THAT(statements, SizeIs(2));
  EXPECT_EQ(statements[0].headline, "resnet50, native, batch 1: meets p99=15ms at 99.5 queries a second");
  EXPECT_EQ(statements[0].detail, "p99 latency 12.5 ms there. At 198 it is missed: p99 latency is 21 ms");
  EXPECT_EQ(statements[1].headline, "resnet50, native \u00b7 max_batch=8, batch 1: p99=15ms is missed");
  EXPECT_EQ(statements[1].detail, "p99 latency is 21 ms");
}

// Two SLOs of one model make a label name them; a statement that names the SLO anyway says it once.
TEST(Findings, a_latency_slo_is_named_once) {
  ResultsCollector collector;
  for (const char* slo : {"p99=15ms", "p50=5ms"}) {
    Record record;
    record.point.model = "resnet50";
    record.point.scenario = "server";
    record.point.options = {{"bound", slo}, {"rate", "100"}};
    record.verdict = Verdict::valid;
    record.estimates["achieved_rate"] = {99.5, {}, {}, 1000};
    collector.add(record);
  }
  std::vector<std::string> headlines;
  for (const Statement& statement : find("latency_bounds", collector)) headlines.push_back(statement.headline);
  EXPECT_THAT(headlines, ::testing::UnorderedElementsAre("resnet50, native, batch 1: meets p99=15ms at 99.5 queries a second",
                                                         "resnet50, native, batch 1: meets p50=5ms at 99.5 queries a second"));
}

TEST(Findings, a_peak_is_told_with_its_confidence) {
  ResultsCollector collector;
  const auto add_runs = [&](const std::string& role, const std::string& rate, int held, int missed) {
    Record record;
    record.point.model = "resnet50";
    record.point.scenario = "server";
    record.point.options = {{"bound", "p99=15ms"}, {"peak", role}, {"rate", rate}};
    for (record.repeat = 0; record.repeat < held + missed; ++record.repeat) {
      record.verdict = record.repeat < held ? Verdict::valid : Verdict::invalid;
      record.estimates["achieved_rate"] = {100, {}, {}, 1000};
      collector.add(record);
    }
  };
  add_runs("search", "100", 3, 0);  // chose the load and so say nothing of it
  EXPECT_THAT(find("peak_load", collector), SizeIs(0));
  add_runs("confirm", "100", 5, 0);
  add_runs("confirm", "102", 1, 4);
  const auto statements = find("peak_load", collector);
  ASSERT_THAT(statements, SizeIs(1));
  EXPECT_THAT(statements[0].headline, testing::EndsWith("100 queries a second are the most that meet p99=15ms"));
  EXPECT_THAT(statements[0].headline, testing::Not(HasSubstr("rate=")));
  EXPECT_EQ(statements[0].detail, "5 of 5 runs there met it: with 97 % confidence at least half of all do. At 102 1 of 5 did.");
  EXPECT_THAT(find("latency_bounds", collector), SizeIs(0)) << "it is told once";
}

TEST(Findings, a_peak_does_not_contradict_itself) {
  ResultsCollector collector;
  const auto add_runs = [&](const std::string& rate, int held, int missed) {
    Record record;
    record.point.model = "resnet50";
    record.point.scenario = "server";
    record.point.options = {{"bound", "p99=15ms"}, {"peak", "confirm"}, {"rate", rate}};
    for (record.repeat = 0; record.repeat < held + missed; ++record.repeat) {
      record.verdict = record.repeat < held ? Verdict::valid : Verdict::invalid;
      collector.add(record);
    }
  };
  add_runs("107.1", 5, 0);
  add_runs("107.4", 0, 1);
  const auto near = find("peak_load", collector);
  ASSERT_THAT(near, SizeIs(1));
  EXPECT_THAT(near[0].headline, HasSubstr("107.1 queries a second are the most"));
  EXPECT_THAT(near[0].detail, HasSubstr("At 107.4 0 of 1 did."));
  add_runs("107.10", 0, 1);  // the same load
  EXPECT_THAT(find("peak_load", collector), SizeIs(0)) << "one of its runs missed";
}

TEST(Findings, one_run_that_misses_the_bound_is_not_hidden_by_the_others) {
  ResultsCollector collector;
  Record record;
  record.point.model = "resnet50";
  record.point.scenario = "server";
  record.point.options = {{"bound", "p99=15ms"}, {"rate", "100"}};
  for (record.repeat = 0; record.repeat < 5; ++record.repeat) {
    record.verdict = record.repeat < 4 ? Verdict::valid : Verdict::invalid;
    record.reason = record.repeat < 4 ? "" : "p99 latency is 15.2 ms";
    record.estimates["achieved_rate"] = {100, {}, {}, 1000};
    collector.add(record);
  }
  const auto said = find("latency_bounds", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("p99=15ms is missed"));
  EXPECT_EQ(said[0].detail, "1 of 5 repeats invalid: p99 latency is 15.2 ms");
}

}  // namespace
}  // namespace deepgap
