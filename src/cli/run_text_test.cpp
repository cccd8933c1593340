#include "cli/run_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::HasSubstr;
using testing::Not;

Record record_of(const char* backend, int repeat, double throughput, Verdict verdict) {
  Record record;
  record.outcome = Outcome::ok;
  record.verdict = verdict;
  record.point.model = "resnet18";
  record.point.backend = backend;
  record.repeat = repeat;
  record.estimates["throughput"] = {throughput, throughput * 0.99, throughput * 1.01, 100};
  return record;
}

RunReport report_of(double native, double onnxruntime, Verdict verdict = Verdict::valid) {
  std::vector<Record> records;
  for (int repeat = 0; repeat < 4; ++repeat) {
    const double scatter = 1 + 0.02 * (repeat % 2), other = 1 + 0.02 * (repeat / 2);
    records.push_back(record_of("native", repeat, native * scatter, verdict));
    records.push_back(record_of("onnxruntime", repeat, onnxruntime * other, verdict));
  }
  RunReport report;
  report.points = summarize_points(records);
  return report;
}

TEST(WinnersText, the_machine_is_named_where_it_left_the_answer_open) {
  RunReport report = report_of(100, 100);
  EXPECT_THAT(winners_text(report, 0), HasSubstr("no significant difference"));
  EXPECT_THAT(winners_text(report, 0), HasSubstr("Raise --repeats or --budget"));
  report.disturbed = "other processes used 61 % of its CPU time. Stop them and run again";
  EXPECT_THAT(winners_text(report, 0), HasSubstr("The machine is the reason: other processes used 61 % of its CPU time. Stop them"));
  EXPECT_THAT(winners_text(report, 0), Not(HasSubstr("Raise --repeats")));
}

TEST(WinnersText, an_answer_needs_no_reason) {
  RunReport report = report_of(100, 200);
  report.disturbed = "other processes used 61 % of its CPU time. Stop them and run again";
  EXPECT_THAT(winners_text(report, 0), HasSubstr("is the fastest"));
  EXPECT_THAT(winners_text(report, 0), Not(HasSubstr("reason")));
}

TEST(RunText, an_unstable_point_says_what_it_does_undisturbed) {
  Record record = record_of("native", 0, 100, Verdict::unstable);
  record.reason = "its interval is too wide";
  record.estimates["throughput_undisturbed"] = {180, 178, 182, 100};
  record.estimates["undisturbed_share"] = {0.34, {}, {}, 1};
  RunReport report;
  report.points = summarize_points(std::vector{record});
  const std::string text = run_text(report, {}, 0, {});
  EXPECT_THAT(text, HasSubstr("180.0 items/s (95 % CI 178.0 to 182.0) in the 34 % of the time without disturbance"));
  report.points[0].verdict = Verdict::valid;
  EXPECT_THAT(run_text(report, {}, 0, {}), Not(HasSubstr("without disturbance")));
}

TEST(RunText, what_could_not_be_checked_has_its_reason_once) {
  RunReport report = report_of(100, 200);
  for (PointSummary& point : report.points) {
    point.verdict = Verdict::valid;
    point.unchecked = true;
    point.reason = "no reference could be made";
  }
  EXPECT_THAT(run_text(report, {}, 0, {}), HasSubstr("\n2 of 2 points unchecked: no reference could be made\n"));
  report.points[1].verdict = Verdict::invalid;
  EXPECT_THAT(run_text(report, {}, 0, {}), HasSubstr("\n1 of 2 points unchecked: "));
}

TEST(RunText, the_machine_is_named_once_beside_what_is_unstable) {
  RunReport decided = report_of(100, 200, Verdict::unstable), open = report_of(100, 100, Verdict::unstable);
  for (RunReport* report : {&decided, &open}) {
    report->disturbed = "other processes used 61 % of its CPU time. Stop them and run again";
    const std::string text = run_text(*report, {}, 0, {}) + winners_text(*report, 0);
    EXPECT_THAT(text, HasSubstr("unstable: "));
    const size_t first = text.find("The machine is the reason");
    EXPECT_NE(first, std::string::npos) << text;
    EXPECT_EQ(text.find("The machine is the reason", first + 1), std::string::npos) << text;
  }
}

TEST(RunText, NothingDisturbsVirtualTimeOrAServersAnswer) {
  RunReport report = report_of(100, 100);
  EXPECT_FALSE(may_be_disturbed(report)) << "all was measured by an earlier run";
  report.saved = 2;
  EXPECT_TRUE(may_be_disturbed(report));
  report.points[1].point.options["null.clock"] = "virtual";
  report.points[1].point.backend = "null";
  EXPECT_FALSE(may_be_disturbed(report));
  report.points[1].point.options.clear();
  EXPECT_TRUE(may_be_disturbed(report));
  report.points[1].point.placement.devices = {{"127.0.0.1:8000", "http", 0}};
  EXPECT_FALSE(may_be_disturbed(report));
}

}  // namespace
}  // namespace deepgap
