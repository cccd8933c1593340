// A whole run over scripted workers and a scripted inspection: what becomes Records, what is found again, what is said in the end.
#include "run/run_study.h"

#include "record/dataset_hash.h"
#include "record/record_json.h"
#include "record/timing_block.h"
#include "run/inspected_plan.h"
#include "run/scripted_host.h"
#include "store/store.h"
#include "worker/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <utility>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Nanoseconds s = 1'000'000'000;

Frame answer_to(const Frame& request, Outcome outcome = Outcome::ok) {
  Record record = begin_record(order_from_json(request.header.at("order")));
  record.outcome = outcome;
  record.verdict = outcome == Outcome::ok ? Verdict::valid : Verdict::none;
  record.windows = {{"steady", 1 * s, 2 * s}};
  record.timings = {{0, 1 * s, 1 * s, 2 * s, 1, Status::ok}};
  record.estimates["throughput"] = {static_cast<double>(record.point.batch), {}, {}, 1};
  return {{{"kind", "record"}, {"record", record_to_json(record)}}, {encode_timings(record.timings), encode_series({})}};
}

class RunStudy : public testing::Test {
 protected:
  RunStudy() {
    std::filesystem::remove(settings.store_path = testing::TempDir() + "run_study.db");
    settings.cache_dir = testing::TempDir() + "run_study_cache";
    settings.progress = std::fopen("/dev/null", "w");
    study.name = "scripted";
    study.grids.push_back({});
    study.grids[0].axes = {{"model", {"resnet18"}}, {"backend", {"null"}}, {"batch", {"1", "2"}}};
  }
  ~RunStudy() override { std::fclose(settings.progress); }

  RunReport run() {
    return run_study_with(
        study, settings,
        [this](const std::vector<Point>& points, const std::string&, Interrupts&) {
          Inspected inspected;
          for (const Point& point : points) inspected.points.push_back(look_at(point));
          return inspected;
        },
        &host);
  }
  // Workers that answer every order, one after the other.
  void let_workers_answer(size_t workers) {
    for (size_t i = 0; i < workers; ++i)
      host.scripts.push_back([](ScriptedLink& worker, const Frame& frame) { worker.say(1 * s, answer_to(frame)); });
  }
  std::vector<Record> records() const {
    std::vector<Record> all;
    Store(settings.store_path, Store::Mode::read).each([&](Record&& record) { all.push_back(std::move(record)); });
    return all;
  }

  Study study;
  RunSettings settings;
  ScriptedHost host;
  std::function<InspectedPoint(const Point&)> look_at = [](const Point& point) {
    InspectedPoint inspected;
    inspected.batch = point.batch;
    return inspected;
  };
};

TEST_F(RunStudy, every_point_becomes_a_record_of_this_run) {
  let_workers_answer(2);
  const RunReport report = run();
  EXPECT_EQ(report.jobs, 2U);
  EXPECT_EQ(report.saved, 2U);
  EXPECT_THAT(report.failures, IsEmpty());
  ASSERT_EQ(report.points.size(), 2U);
  EXPECT_EQ(report.points[0].point.batch, 1) << "shown in the study's order, whatever was measured first";
  for (const Record& record : records()) {
    EXPECT_EQ(record.study, "scripted");
    EXPECT_EQ(record.run_id, report.run_id);
  }
}

// Two tenants that turn out to be one model are alone once; the sets behind them in the Plan are still reported.
TEST_F(RunStudy, a_set_is_refused_as_a_whole_where_points_before_it_are_one) {
  study.grids[0].axes = {{"backend", {"null"}}};
  study.grids[0].tenants = {{{"model", {"here/a.onnx"}}}, {{"model", {"there/a.onnx"}}}, {{"model", {"b"}}}};
  look_at = [](const Point& point) {
    InspectedPoint inspected;
    inspected.batch = point.batch;
    inspected.model_hash = point.model == "b" ? "" : "0123";
    inspected.supported = point.model != "b";
    inspected.reason = "no such operator";
    inspected.refused_by = "null";
    return inspected;
  };
  let_workers_answer(1);
  run();
  EXPECT_EQ(host.started, 1U) << "a.onnx alone";
  const std::vector<Record> all = records();
  EXPECT_EQ(all.size(), 1U + 1 + 3);
  size_t with_the_other = 0;
  for (const Record& record : all) with_the_other += record.reason.starts_with("tenant b") ? 1 : 0;
  EXPECT_EQ(with_the_other, 2U);
}

TEST_F(RunStudy, says_which_points_are_named_more_than_once) {
  study.grids.push_back(study.grids[0]);
  std::FILE* told = std::tmpfile();
  std::swap(told, settings.progress);
  let_workers_answer(2);
  EXPECT_EQ(run().saved, 2U);
  std::swap(told, settings.progress);
  std::string text(1000, '\0');
  std::rewind(told);
  text.resize(std::fread(text.data(), 1, text.size(), told));
  std::fclose(told);
  EXPECT_THAT(text, HasSubstr("2 points are named more than once"));
}

// Profiles are taken after the timing, and another run's timing is not to meet them.
TEST_F(RunStudy, the_devices_are_kept_as_long_as_the_report) {
  let_workers_answer(2);
  EXPECT_FALSE(run().devices) << "nothing is locked unless it is asked for";
  settings.locks.folder = testing::TempDir() + "run_study_locks";
  settings.locks.cpus = {0};
  let_workers_answer(2);
  EXPECT_TRUE(run().devices);
}

TEST_F(RunStudy, what_the_inspection_refuses_needs_no_worker) {
  look_at = [](const Point& point) {
    InspectedPoint inspected;
    inspected.supported = point.batch == 1;
    inspected.reason = "too large a batch";
    inspected.refused_by = "null";
    inspected.backend_version = "of the inspection";
    return inspected;
  };
  let_workers_answer(1);
  const RunReport report = run();
  EXPECT_EQ(report.saved, 2U);
  EXPECT_EQ(host.started, 1U);
  ASSERT_EQ(report.failures.size(), 1U);
  EXPECT_THAT(report.failures[0].text, HasSubstr("refused: too large a batch"));
  for (const Record& record : records()) {
    EXPECT_EQ(record.backend_version, record.outcome == Outcome::refused ? "of the inspection" : "");
  }
}

TEST_F(RunStudy, resume_leaves_out_what_the_store_has_and_counts_it) {
  let_workers_answer(2);
  run();
  const size_t started = host.started;
  settings.resume = true;
  const RunReport again = run();
  EXPECT_EQ(host.started, started) << "nothing was left to measure";
  EXPECT_EQ(again.done_before, 2U);
  EXPECT_EQ(again.saved, 0U);
  EXPECT_EQ(again.points.size(), 2U);
}

TEST_F(RunStudy, a_changed_dataset_is_measured_again_and_a_copy_of_it_is_not) {
  std::string content = "one";
  look_at = [&](const Point&) {
    InspectedPoint inspected;
    inspected.dataset_hash = content;
    return inspected;
  };
  settings.resume = true;
  study.grids[0].axes = {{"model", {"resnet18"}}, {"backend", {"null"}}, {"batch", {"1"}}, {"dataset", {"/here"}}};
  let_workers_answer(2);
  EXPECT_EQ(run().saved, 1U);
  study.grids[0].axes[3].values = {"/a/copy"};
  EXPECT_EQ(run().saved, 0U);
  content = "two";
  EXPECT_EQ(run().saved, 1U);
  std::vector<std::string> hashes;
  for (const Record& record : records()) hashes.push_back(record.point.options.at(dataset_hash_option));
  EXPECT_THAT(hashes, ElementsAre("one", "two"));
}

TEST_F(RunStudy, a_worker_that_dies_leaves_a_record_and_the_others_go_on) {
  study.grids[0].axes[2].values = {"1", "2"};
  host.scripts.push_back([](ScriptedLink& worker, const Frame&) { worker.die(1 * s, ExitState{.signal = 11}); });
  let_workers_answer(2);
  const RunReport report = run();
  EXPECT_EQ(report.saved, 2U);
  ASSERT_EQ(report.failures.size(), 1U);
  EXPECT_THAT(report.failures[0].text, HasSubstr("crashed"));
}

TEST_F(RunStudy, an_interrupt_ends_it_and_the_rest_is_left_for_resume) {
  host.interrupt_at = 500'000'000;
  host.scripts.push_back([](ScriptedLink& worker, const Frame& frame) { worker.say(1 * s, answer_to(frame, Outcome::interrupted)); });
  const RunReport report = run();
  EXPECT_TRUE(report.interrupted);
  EXPECT_EQ(host.started, 1U);
  EXPECT_LE(report.saved, 1U);
}

TEST_F(RunStudy, a_store_that_is_taken_away_ends_the_run_with_its_reason) {
  host.scripts.push_back([this](ScriptedLink& worker, const Frame& frame) {
    std::filesystem::remove(settings.store_path);
    worker.say(1 * s, answer_to(frame));
  });
  EXPECT_THAT(run().store_error, HasSubstr("was removed or replaced"));
}

}  // namespace
}  // namespace deepgap
