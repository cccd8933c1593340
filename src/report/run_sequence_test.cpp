// Charts of runs that are not valid. DEEPGAP_PAGE=FILE keeps a page of them all, to look at.
#include "report/run_sequence.h"

#include "base/file.h"
#include "report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr Nanoseconds second = 1'000'000'000;

// Queries one after the other for ten seconds, each as long as `ms_at` says of the second it begins in.
Record run_of(const std::function<double(double)>& ms_at, const std::string& reason, Nanoseconds length = 10 * second) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(1, 0.01);
  Record record;
  record.verdict = Verdict::unstable;
  record.reason = reason;
  record.windows = {{"steady", 100, 100 + length}};
  for (Nanoseconds t = 100; t < 100 + length;) {
    const auto next = t + static_cast<Nanoseconds>(ms_at(static_cast<double>(t) / 1e9) * normal(random) * 1e6);
    record.timings.push_back({record.timings.size(), t, t, next, 1, Status::ok});
    t = next;
  }
  return record;
}

RunSequence sequence_of(const Record& record) { return run_sequence_of(record, "resnet50 \u00b7 native \u00b7 batch 1").value(); }

Record step() {
  return run_of([](double t) { return t < 6 ? 5.0 : 6.0; }, "not steady: 20% slower from 6 s of 10 s on (throughput +-0.4%)");
}
Record drift() {
  return run_of([](double t) { return 5 + t * 0.1; }, "not steady: drifted: 20% slower at the end of 10 s (throughput +-0.5%)");
}
Record modes() {
  return run_of([](double t) { return std::fmod(t, 2.3) < 1.1 ? 5.0 : 5.6; },
                "not steady: two speeds took turns, 12% apart (throughput +-0.9%)");
}
Record warming() {
  return run_of([](double t) { return 5 + 2 * std::exp(-t / 0.7); },
                "not steady: 20% slower in its first 1 s, steady then (throughput +-0.9%)");
}

TEST(RunSequence, a_step_is_where_it_was) {
  const RunSequence sequence = sequence_of(step());
  ASSERT_TRUE(sequence.edge_s);
  EXPECT_NEAR(*sequence.edge_s, 6, 0.3);
  EXPECT_FALSE(sequence.shaded);
  ASSERT_EQ(sequence.marks.size(), 2u);
  EXPECT_NEAR(sequence.marks[0].begin_value, 5, 0.05);
  EXPECT_NEAR(sequence.marks[1].end_value, 6, 0.05);
  EXPECT_THAT(sequence.mark_words, HasSubstr("slower from here on"));
  EXPECT_EQ(sequence.verdict, "unstable");
}

TEST(RunSequence, a_drift_is_a_line) {
  const RunSequence sequence = sequence_of(drift());
  EXPECT_FALSE(sequence.edge_s);
  ASSERT_EQ(sequence.marks.size(), 1u);
  EXPECT_NEAR(sequence.marks[0].begin_value, 5, 0.02);
  EXPECT_NEAR(sequence.marks[0].end_value, 6, 0.02);
  EXPECT_THAT(sequence.mark_words, HasSubstr("slower at the end"));
}

TEST(RunSequence, two_speeds_are_two_levels) {
  const RunSequence sequence = sequence_of(modes());
  ASSERT_EQ(sequence.marks.size(), 2u);
  EXPECT_NEAR(sequence.marks[0].begin_value, 5, 0.15);
  EXPECT_NEAR(sequence.marks[1].begin_value, 5.6, 0.15);
  EXPECT_THAT(sequence.mark_words, HasSubstr("took turns"));
}

TEST(RunSequence, a_warm_up_that_went_on_is_shaded) {
  const RunSequence sequence = sequence_of(warming());
  ASSERT_TRUE(sequence.edge_s);
  EXPECT_TRUE(sequence.shaded);
  EXPECT_LT(*sequence.edge_s, 5);
  EXPECT_THAT(run_sequence_svg(sequence), HasSubstr("<rect"));
}

TEST(RunSequence, without_a_shape_nothing_is_marked) {
  const RunSequence sequence = sequence_of(run_of([](double) { return 5.0; }, "throughput CI ±3 % after the budget of 30 s (target ±1 %)"));
  EXPECT_TRUE(sequence.marks.empty());
  EXPECT_EQ(sequence.mark_words, "");
  EXPECT_THAT(run_sequence_svg(sequence), Not(HasSubstr("class=\"found\"")));
}

TEST(RunSequence, under_a_bound_it_is_latency_with_the_bound) {
  Record record = run_of([](double) { return 5.0; }, "p99 latency is 5.1 ms, above the SLO of 4 ms");
  record.verdict = Verdict::invalid;
  record.point.options = {{"bound", "p99=4ms"}};
  const RunSequence sequence = sequence_of(record);
  EXPECT_THAT(sequence.axis, HasSubstr("Latency"));
  ASSERT_EQ(sequence.marks.size(), 1u);
  EXPECT_DOUBLE_EQ(sequence.marks[0].begin_value, 4);
  record.point.options = {{"bound", "whatever"}};
  EXPECT_TRUE(sequence_of(record).marks.empty());
}

TEST(RunSequence, what_the_probes_read_is_below_on_the_same_axis) {
  Record record = step();
  Series clock{"nvml", "clock_sm.cuda0", "Hz", false, {}, {}};
  for (Nanoseconds t = 0; t < 12 * second; t += second / 10) {
    clock.times.push_back(t);
    clock.values.push_back(t < 6 * second ? 1.98e9 : 1.4e9);
  }
  record.series = {clock};
  const RunSequence sequence = sequence_of(record);
  ASSERT_EQ(sequence.strips.size(), 1u);
  EXPECT_EQ(sequence.strips[0].title, "Clock of the GPU (MHz)");
  EXPECT_THAT(run_sequence_svg(sequence), HasSubstr("Clock of the GPU (MHz): 1400 to 1980"));
}

TEST(RunSequence, two_readings_are_no_strip) {
  Record record = step();
  record.series = {{"proc", "machine_busy", "1", true, {0, 5 * second, 11 * second}, {0, 1, 2}}};
  EXPECT_TRUE(sequence_of(record).strips.empty());
}

TEST(RunSequence, few_timings_or_none_make_no_picture) {
  Record record = step();
  record.timings.resize(10);
  EXPECT_FALSE(run_sequence_of(record, ""));
  record.timings.clear();
  EXPECT_FALSE(run_sequence_of(record, ""));
  record = step();
  record.windows.clear();
  EXPECT_FALSE(run_sequence_of(record, ""));
}

TEST(RunSequence, is_small_whatever_the_length_of_the_run) {
  const Record record = run_of([](double t) { return t < 60 ? 0.5 : 0.6; }, "x", 100 * second);
  ASSERT_GT(record.timings.size(), 150'000u);
  EXPECT_LT(run_sequence_svg(sequence_of(record)).size(), 10'000u);
}

TEST(RunSequence, the_section_says_what_it_leaves_out) {
  RunSequences sequences;
  EXPECT_EQ(run_sequences_section(sequences), "");
  Record record = step();
  record.reason = "<b>odd</b>";
  sequences.shown = {sequence_of(record)};
  sequences.left_out = 3;
  sequences.without_timings = 1;
  const std::string html = run_sequences_section(sequences);
  EXPECT_THAT(html, HasSubstr("&lt;b&gt;odd"));
  EXPECT_THAT(html, HasSubstr("3 more points that are not valid are not drawn"));
  EXPECT_THAT(html, HasSubstr("1 more point that is not valid is not drawn"));
}

TEST(RunSequence, can_be_looked_at) {
  RunSequences sequences;
  for (Record record : {step(), drift(), modes(), warming()}) {
    Series busy{"proc", "machine_busy", "1", true, {}, {}};
    for (Nanoseconds t = 0; t < 12 * second; t += second / 10) {
      busy.times.push_back(t);
      busy.values.push_back(static_cast<double>(t) / 1e9 * (t < 6 * second ? 1 : 1.3));
    }
    record.series = {busy};
    sequences.shown.push_back(sequence_of(record));
  }
  const std::string page = html_page({"deepgap report", "Runs that are not valid", "", run_sequences_section(sequences), ""});
  EXPECT_LT(page.size(), 60'000u);
  if (const char* path = std::getenv("DEEPGAP_PAGE")) write_file_atomic(path, page);
}

}  // namespace
}  // namespace deepgap
