#include "base/file.h"
#include "base/text.h"
#include "run/first_look.h"
#include "run/interrupts.h"
#include "run/memory_kills.h"
#include "run/progress.h"
#include "run/run_summary.h"
#include "run/time_estimate.h"
#include "run/winner.h"
#include "worker/fake_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

Record ok_record(int64_t batch, double throughput) {
  Record record;
  record.record_id = std::string(31, '0') + std::to_string(batch % 10);
  record.point.model = "resnet18";
  record.point.backend = "null";
  record.point.batch = batch;
  record.verdict = Verdict::valid;
  record.estimates["throughput"] = {throughput, throughput * 0.99, throughput * 1.01, 100};
  record.estimates["latency_p50_ms"] = {1.5, {}, {}, 100};
  return record;
}

Record failed_record(Outcome outcome) {
  Record record = ok_record(8, 1);
  record.estimates.clear();
  record.outcome = outcome;
  record.verdict = Verdict::none;
  record.reason = "why";
  return record;
}

TEST(PointLabel, names_the_slo_as_its_flag_does) {
  Point point = ok_record(1, 10).point;
  point.options = {{"bound", "p99=15ms"}, {"max_batch", "8"}};
  EXPECT_THAT(point_label(point), ::testing::EndsWith(" slo=p99=15ms max_batch=8"));
}

TEST(RunSummary, what_counts_as_usable) {
  Record record = ok_record(1, 10);
  EXPECT_TRUE(is_usable(record, true));
  record.verdict = Verdict::unstable;
  EXPECT_TRUE(is_usable(record, false));
  EXPECT_FALSE(is_usable(record, true));
  record.verdict = Verdict::invalid;
  EXPECT_FALSE(is_usable(record, false));
  EXPECT_TRUE(is_usable(failed_record(Outcome::skipped), true));
  for (Outcome outcome : {Outcome::refused, Outcome::incorrect, Outcome::out_of_memory, Outcome::crashed, Outcome::timed_out,
                          Outcome::device_lost, Outcome::interrupted}) {
    EXPECT_FALSE(is_usable(failed_record(outcome), false));
  }
}

TEST(RunSummary, table_shows_values_and_outcomes_and_only_columns_that_differ) {
  const std::vector<Record> records{ok_record(1, 250), ok_record(2, 480.25), failed_record(Outcome::crashed)};
  const std::string table = summary_table(summarize_points(records));
  EXPECT_NE(table.find("250.0  247.5 to 252.5    1.50"), std::string::npos) << table;
  EXPECT_NE(table.find("crashed"), std::string::npos);
  EXPECT_EQ(table.find("scenario"), std::string::npos) << "all are the same";
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 4);
  std::vector<Record> differing = records;
  differing[1].point.scenario = "single-stream";
  EXPECT_NE(summary_table(summarize_points(differing)).find("single-stream"), std::string::npos);
  EXPECT_EQ(summary_json(summarize_points(records))[1]["metrics"]["throughput"]["value"], 480.25);
}

// One that generates, of 8 answers a second with 16 tokens each.
Record generated_record() {
  Record record = ok_record(1, 8);
  record.point.task = Task::generate;
  record.estimates["output_tokens_per_s"] = {128, 125, 131, 100};
  record.estimates["ttft_p50_ms"] = {20, {}, {}, 100};
  record.estimates["tpot_ms"] = {6.5, {}, {}, 100};
  return record;
}

TEST(RunSummary, generation_is_shown_in_tokens) {
  const auto points = summarize_points(std::vector<Record>{generated_record()});
  const std::string table = summary_table(points);
  EXPECT_EQ(table.find("items/s"), std::string::npos) << table;
  EXPECT_NE(table.find("tokens/s         95 % CI  TTFT ms  TPOT ms"), std::string::npos) << table;
  EXPECT_NE(table.find("128.0  125.0 to 131.0     20.0     6.50"), std::string::npos) << table;
  EXPECT_EQ(result_text(generated_record()), "128.0 tokens/s (±2.3 %), TTFT 20.0 ms, TPOT 6.50 ms");
  const auto lines = winner_lines(points);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].text.find("reaches 128.0 tokens/s"), std::string::npos) << lines[0].text;
  const std::string both = summary_table(summarize_points(std::vector<Record>{generated_record(), ok_record(2, 480.25)}));
  EXPECT_NE(both.find("items/s"), std::string::npos) << both;
  EXPECT_NE(both.find("tokens/s"), std::string::npos) << both;
}

TEST(RunSummary, options_of_all_points_are_left_out_and_a_cell_has_no_reason) {
  std::vector<Record> records{ok_record(1, 250), ok_record(1, 480.25)};
  for (size_t i = 0; i < records.size(); ++i) {
    records[i].point.options = {{"bound", "p99=15ms"}, {"rate", std::to_string(10 * (i + 1))}};
    records[i].unchecked = true;
    records[i].reason = "no reference could be made";
  }
  const std::string table = summary_table(summarize_points(records));
  EXPECT_NE(table.find("  rate=10  "), std::string::npos) << table;
  EXPECT_EQ(table.find("bound"), std::string::npos) << table;
  EXPECT_NE(table.find("valid, unchecked\n"), std::string::npos) << "the reason stands below: " << table;
}

TEST(RunSummary, a_table_for_a_narrow_terminal_says_what_was_cut) {
  std::vector<Record> records{ok_record(1, 250), ok_record(2, 480.25)};
  for (Record& record : records) record.point.model = "a_network_with_a_very_long_name:width=0.125,classes=10,image=32";
  records[1].point.options["some_option"] = std::string(40, 'x');
  const auto points = summarize_points(records);
  const std::string table = summary_table(points, 80);
  size_t longest = 0, begin = 0;
  for (size_t end = table.find('\n'); end != std::string::npos; begin = end + 1, end = table.find('\n', begin))
    longest = std::max(longest, end - begin);
  EXPECT_LE(longest, 80u) << table;
  EXPECT_NE(table.find("shortened: "), std::string::npos) << table;
  EXPECT_NE(table.find("items/s"), std::string::npos);
  EXPECT_NE(table.find("480"), std::string::npos) << table;
  EXPECT_EQ(summary_table(points).find("shortened"), std::string::npos) << "a file is as wide as it takes";
  const std::vector<Record> one{ok_record(1, 250)};
  EXPECT_EQ(summary_table(summarize_points(one), 100), summary_table(summarize_points(one)));
}

TEST(RunSummary, every_row_fits_eighty_columns) {
  std::vector<Record> records{ok_record(1, 1250.5), ok_record(2, 480.25)};
  for (Record& record : records) {
    record.point.model = "a_network_with_a_very_long_name:width=0.125,classes=10,image=32";
    record.point.backend = "onnxruntime";
    record.verdict = Verdict::as_found;
    record.unchecked = true;
    record.reason = "no reference could be made: it needs more memory than there is";
    record.estimates["latency_p99_ms"] = {1234.5, {}, {}, 100};
  }
  records[1].point.backend = "libtorch_cuda";
  for (const bool crowded : {false, true}) {
    if (crowded) {
      records[1].point.placement.devices = {{"", "cuda", 0}};
      records[1].point.precision = Precision::bf16;
      records[1].point.scenario = "single-stream";
      records[1].point.threads = 128;
      records[1].point.options["some_option"] = std::string(40, 'x');
    }
    const std::string table = summary_table(summarize_points(records), 80);
    for (const std::string& line : split(table, '\n')) {
      if (line.starts_with("(")) continue;
      EXPECT_LE(line.size(), 80u) << table;
    }
    EXPECT_NE(table.find("1251"), std::string::npos) << table;
    EXPECT_NE(table.find("--json has all"), std::string::npos) << table;
  }
}

std::vector<Record> engines(double native, double openvino, int repeats = 3) {
  std::vector<Record> records;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const double drift = 1 + 0.01 * repeat, other_drift = 1 + 0.01 * (repeat == 1 ? 2 : repeat == 2 ? 1 : 0);
    records.push_back(ok_record(1, native * drift));
    records.back().point.backend = "native";
    records.push_back(ok_record(1, openvino * other_drift));
    records.back().point.backend = "openvino";
    for (size_t i = records.size() - 2; i < records.size(); ++i) records[i].repeat = repeat;
  }
  return records;
}

TEST(Winner, is_named_with_its_lead_or_without_a_difference) {
  const auto clear = winner_lines(summarize_points(engines(100, 150)));
  ASSERT_EQ(clear.size(), 1u);
  EXPECT_NE(clear[0].text.find("openvino is the fastest, 1.5"), std::string::npos) << clear[0].text;
  EXPECT_NE(clear[0].text.find("that of native"), std::string::npos) << clear[0].text;
  const auto close = winner_lines(summarize_points(engines(100, 100.5)));
  ASSERT_EQ(close.size(), 1u);
  EXPECT_NE(close[0].text.find("openvino vs native: no significant difference, "), std::string::npos) << close[0].text;
  EXPECT_TRUE(close[0].open);
  EXPECT_FALSE(clear[0].open);
  const auto once = winner_lines(summarize_points(engines(100, 150, 1)));
  ASSERT_EQ(once.size(), 1u);
  EXPECT_NE(once[0].text.find("not compared (single run); add --repeats 5, or --duel backend"), std::string::npos) << once[0].text;
  std::vector<Record> generated = engines(100, 150, 1);
  for (Record& record : generated) {
    record.point.task = Task::generate;
    record.estimates["output_tokens_per_s"] = record.estimates.at("throughput");
  }
  ASSERT_NE(winner_lines(summarize_points(generated)).at(0).text.find("add --repeats 5"), std::string::npos);
  for (const WinnerLine& line : winner_lines(summarize_points(generated)))
    EXPECT_EQ(line.text.find("--duel"), std::string::npos) << "generation refuses it: " << line.text;
  const std::vector<Record> alone{ok_record(1, 100)};
  const auto only = winner_lines(summarize_points(alone));
  ASSERT_EQ(only.size(), 1u) << "what it reaches";
  EXPECT_NE(only[0].text.find("at batch 1 reaches 100"), std::string::npos) << only[0].text;
}

// What came was asked of both alike, and one of them at two loads.
TEST(Winner, is_not_named_by_the_load_that_was_offered) {
  std::vector<Record> records = engines(100, 101);
  for (Record& record : records) {
    record.estimates["offered_rate"] = {100, {}, {}, 1000};
    record.point.scenario = "server";
    record.point.options["rate"] = "100";
  }
  const auto lines = winner_lines(summarize_points(records));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].text.find("throughput is the offered load here"), std::string::npos) << lines[0].text;
  std::vector<Record> clients{ok_record(1, 100), ok_record(1, 300)};
  for (size_t i = 0; i < clients.size(); ++i) {
    clients[i].point.scenario = "concurrency";
    clients[i].point.options["clients"] = std::to_string(1 + 7 * i);
  }
  const auto reached = winner_lines(summarize_points(clients));
  ASSERT_EQ(reached.size(), 1u);
  EXPECT_EQ(reached[0].text.find("fastest"), std::string::npos) << "eight clients are no faster way than one: " << reached[0].text;
}

TEST(Progress, plain_lines_have_no_control_characters) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* out = ::open_memstream(&text, &size);
  {
    Progress progress(out, false);
    progress.begin(2);
    progress.under_way("a", "steady", "5 batches", {10});
    progress.finished("a", "fine", {75});
    progress.finished("b", "crashed: why", {});
  }
  std::fclose(out);
  EXPECT_STREQ(text, "[1/2] a: fine, about 1 min 15 s left\n[2/2] b: crashed: why\n");
  ::free(text);
}

TEST(Progress, events_for_programs_are_an_object_a_line) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* out = ::open_memstream(&text, &size);
  {
    Progress progress(out, true, Words::json);
    progress.begin(2);
    progress.note("b\xc3\xa4\ny");
    progress.under_way("a", "steady", "5 batches", {10});
    progress.under_way("a", "steady", "6 batches", {9});  // too soon after the other
    progress.passed();
    progress.finished("b", "crashed: why", {});
  }
  std::fclose(out);
  EXPECT_STREQ(
      text,
      "{\"event\":\"begin\",\"total\":2}\n"
      "{\"event\":\"note\",\"text\":\"b\\u00e4\\ny\"}\n"
      "{\"done\":\"5 batches\",\"event\":\"phase\",\"left_s\":10.0,\"number\":1,\"phase\":\"steady\",\"point\":\"a\",\"total\":2}\n"
      "{\"event\":\"record\",\"left_s\":null,\"number\":2,\"point\":\"b\",\"result\":\"crashed: why\",\"total\":2}\n");
  ::free(text);
}

TEST(Progress, result_text_says_what_matters) {
  EXPECT_EQ(result_text(ok_record(1, 200)), "200.0 items/s (±1 %), p50 1.50 ms");
  EXPECT_EQ(result_text(failed_record(Outcome::timed_out)), "timed_out: why");
  Record record = ok_record(1, 200);
  record.verdict = Verdict::unstable;
  record.reason = "wide";
  record.unchecked = true;
  EXPECT_EQ(result_text(record), "200.0 items/s (±1 %), p50 1.50 ms, unstable: wide, unchecked");
  EXPECT_EQ(result_text(record, false), "200.0 items/s (±1 %), p50 1.50 ms, unstable, unchecked");
  record.reason = "wide; unchecked: no reference";
  EXPECT_EQ(result_text(record), "200.0 items/s (±1 %), p50 1.50 ms, unstable: wide; unchecked: no reference") << "once";
  EXPECT_EQ(result_text(failed_record(Outcome::timed_out), false), "timed_out");
}

// The interval of a verdict is that of the time an item takes: 1 +- 0.8 of 5 ms are 111 to 1000 items a second.
TEST(Progress, result_text_tells_an_interval_by_one_figure) {
  Record record = ok_record(1, 200);
  record.estimates["throughput"] = {200, 200 / 1.8, 200 / 0.2, 100};
  record.verdict = Verdict::unstable;
  record.reason = "throughput +-80%";
  EXPECT_EQ(result_text(record), "200.0 items/s (±80 %), p50 1.50 ms, unstable: throughput +-80%");
}

TEST(TimeEstimate, learns_from_what_jobs_took) {
  Job job;
  job.point_id = "a";
  job.stopping.name = "duration";
  job.stopping.duration = 8'000'000'000;
  Job other = job;
  other.point_id = "b";
  TimeEstimate estimate;
  EXPECT_DOUBLE_EQ(estimate.seconds(job), 10);
  estimate.took(job, 5);
  EXPECT_DOUBLE_EQ(estimate.seconds(job), 5) << "its next repeat";
  EXPECT_DOUBLE_EQ(estimate.seconds(other), 5) << "half of the guess, as the first";
  EXPECT_DOUBLE_EQ(TimeEstimate({{"b", 7}}).seconds(other), 7);
}

TEST(TimeEstimate, counted_queries_take_as_long_as_their_arithmetic) {
  Job job;
  job.point_id = "a";
  job.stopping.name = "counts";
  job.stopping.warmup = 20;
  job.stopping.iterations = 100;
  EXPECT_DOUBLE_EQ(guessed_query_s(200e9, 2), guessed_query_s(100e9, 1));
  EXPECT_GT(guessed_query_s(100e9, 1), 0.5) << "no core does a hundred thousand million operations in half a second by itself";
  EXPECT_LT(guessed_query_s(100e9, 1), 5);
  EXPECT_DOUBLE_EQ(TimeEstimate({}, {{"a", 2}}).seconds(job), 2 + 120 * 2);
  EXPECT_DOUBLE_EQ(TimeEstimate().seconds(job), 7) << "nothing is known of its queries";
}

TEST(TimeEstimate, a_window_that_grows_for_its_bound_counts_as_it_will_be) {
  Job job;
  job.point_id = "a";
  job.point.scenario = "server";
  job.point.options = {{"rate", "20"}};
  job.stopping.name = "duration";
  job.stopping.duration = 1'000'000'000;
  EXPECT_DOUBLE_EQ(TimeEstimate().seconds(job), 2 + 0.2 + 1) << "the queue fills before the window";
  job.point.options["bound"] = "p99=15ms";
  EXPECT_DOUBLE_EQ(TimeEstimate().seconds(job), 2 + 6 + 30) << "too few queries in 1 s: the budget";
  job.point.options["rate"] = "30";
  EXPECT_NEAR(TimeEstimate().seconds(job), 2 + 1.2 * 22.95, 0.1);
}

TEST(TimeEstimate, a_look_tells_how_long_a_decision_takes) {
  Job job;
  job.point_id = "a";
  job.stopping.warmup = 0;
  TimeEstimate estimate;
  const double before = estimate.seconds(job);
  Record look = ok_record(1, 100);  // +-1 % ...
  look.windows = {{"steady", 0, 1'000'000'000}};
  estimate.saw("a", look, 1.7);
  EXPECT_NEAR(estimate.seconds(job), 0.7 + 1, 1e-6) << "... within 1 s is what was asked, 0.7 s went around it";
  job.stopping.interval = 0.005;
  EXPECT_NEAR(estimate.seconds(job), 0.7 + 4, 1e-6) << "half as wide takes four times as long";
  job.stopping.interval = 0.0001;
  EXPECT_NEAR(estimate.seconds(job), 0.7 + 30, 1e-6) << "the budget ends it";
  EXPECT_GT(before, 2 + 4);
  Record few = ok_record(1, 100);
  few.estimates = {{"latency_mean_ms", {20, {}, {}, 3}}, {"latency_std_ms", {1, {}, {}, 3}}};
  TimeEstimate by_few;
  by_few.saw("a", few, 0);
  job.stopping.interval = 0.01;
  EXPECT_NEAR(by_few.seconds(job), 0.02 * 9.8 * 9.8, 0.01) << "too few for an interval: each is taken to be by itself";
  Job other = job;
  other.point_id = "b";
  other.stopping.interval = 0.005;
  EXPECT_NEAR(estimate.seconds(other), 0.7 + 4, 1e-6) << "what was not looked at scatters as what was";
}

TEST(FirstLooks, are_of_points_whose_length_is_open_and_of_twelve_at_most) {
  std::vector<Job> jobs(40);
  for (size_t i = 0; i < jobs.size(); ++i) jobs[i].point_id = std::to_string(i);
  const FirstLooks looks = first_looks(jobs, std::chrono::seconds(3));
  ASSERT_EQ(looks.jobs.size(), 12U);
  EXPECT_EQ(looks.points, 40U);
  EXPECT_EQ(looks.jobs.front().point_id, "0");
  EXPECT_EQ(looks.jobs.back().point_id, "36") << "spread over the plan";
  EXPECT_FALSE(looks.jobs.front().check);
  EXPECT_EQ(looks.jobs.front().stopping.duration, looks.window);
  Job repeat, counted, timed, by_rules;
  repeat.repeat = 1;
  counted.stopping.name = "counts";
  timed.stopping.name = "duration";
  by_rules.point.options["fake_rules"] = "on";
  EXPECT_TRUE(first_looks({repeat, counted, timed, by_rules}, std::chrono::seconds(3)).jobs.empty());
}

TEST(RunSummary, failures_of_a_point_with_one_reason_are_one_line) {
  const std::vector<Failure> failures{
      {"a", "refused: why", 0}, {"b", "crashed: so", 0}, {"a", "refused: why", 1}, {"b", "timed_out: x", 1}};
  EXPECT_EQ(failure_lines(failures, true),
            (std::vector<std::string>{"a (2 records): refused: why", "b repeat 1: crashed: so", "b repeat 2: timed_out: x"}));
  EXPECT_EQ(failure_lines({{"a", "refused: why", 0}}, false), std::vector<std::string>{"a: refused: why"});
  EXPECT_EQ(failure_lines({{"a", "refused: why", 0}, {"b", "refused: why", 0}, {"c", "refused: why", 0}, {"d", "crashed", 0}}, false),
            (std::vector<std::string>{"a and 2 other points: refused: why", "d: crashed"}));
}

TEST(RunSummary, what_repeats_say_together_is_told_in_place_of_each) {
  PointSummary untold, held;
  untold.point_id = "u";
  untold.pooled = held.pooled = true;
  untold.verdict = Verdict::undecided;
  untold.reason = "over 2 repeats 0 of 200: too few";
  held.point_id = "h";
  held.verdict = Verdict::unstable;
  std::vector<Failure> failures{{"a", "undecided: 0 of 100", 0, "u"}, {"a", "undecided: 1 of 100", 1, "u"}, {"b", "undecided: x", 0, "h"}};
  auto strict = failures;
  judge_together(failures, {untold, held}, false);
  EXPECT_EQ(failure_lines(failures, true), std::vector<std::string>{"a (2 records): inconclusive: over 2 repeats 0 of 200: too few"});
  judge_together(strict, {untold, held}, true);
  EXPECT_EQ(strict.size(), 3u) << "unstable is not enough";
}

TEST(TimeEstimate, a_record_tells_by_its_windows) {
  Record record;
  EXPECT_EQ(seconds_of(record), 0);
  record.windows = {{"load", 1'000'000'000, 2'000'000'000}, {"steady", 3'000'000'000, 5'000'000'000}};
  record.load_s = 0.5;
  EXPECT_DOUBLE_EQ(seconds_of(record), 4.5);
}

class MemoryKillsTest : public testing::Test {
 protected:
  void SetUp() override {
    root = testing::TempDir() + "deepgap-memory-kills/";
    std::filesystem::remove_all(root);
  }
  void TearDown() override { std::filesystem::remove_all(root); }
  void put(const std::string& path, const std::string& text) const {
    make_directories(std::filesystem::path(root + path).parent_path().string());
    write_file_atomic(root + path, text);
  }
  std::string root;
};

TEST_F(MemoryKillsTest, are_read_from_the_nearest_source) {
  EXPECT_EQ(memory_kills(root).count, -1) << "no source: not known, never 0";
  put("proc/vmstat", "nr_free_pages 5\noom_kill 11\n");
  EXPECT_EQ(memory_kills(root).count, 11);
  EXPECT_EQ(memory_kills(root).source, "/proc/vmstat");
  put("proc/self/cgroup", "0::/a/b\n");
  put("sys/fs/cgroup/a/b/memory.events", "low 0\noom 4\noom_kill 3\n");
  EXPECT_EQ(memory_kills(root).count, 3);
  put("proc/self/cgroup", "5:memory:/x\n0::/nowhere\n");
  put("sys/fs/cgroup/memory/memory.oom_control", "under_oom 0\noom_kill 2\n");
  EXPECT_EQ(memory_kills(root).count, 2) << "the mount is ours in a container";
}

TEST(Interrupts, are_counted_and_wake_a_poll) {
  Interrupts interrupts;
  pollfd polled{interrupts.descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&polled, 1, 0), 0);
  ::raise(SIGTERM);
  EXPECT_EQ(interrupts.count(), 1);
  EXPECT_EQ(::poll(&polled, 1, 0), 1);
  interrupts.clear_descriptor();
  EXPECT_EQ(::poll(&polled, 1, 0), 0);
  ::raise(SIGINT);
  EXPECT_EQ(interrupts.count(), 2);
}

}  // namespace
}  // namespace deepgap
