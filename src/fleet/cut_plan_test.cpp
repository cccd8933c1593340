#include "fleet/cut_plan.h"

#include "base/file.h"
#include "base/temporary_folder.h"
#include "base/test_error.h"
#include "fleet/gather.h"
#include "record/record_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace deepgap {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Job> plan_of(const std::vector<std::string>& models, const std::vector<std::string>& backends, int batches, int repeats) {
  std::vector<Job> jobs;
  for (const std::string& model : models) {
    for (const std::string& backend : backends) {
      for (int batch = 1; batch <= batches; ++batch) {
        Job job;
        job.point.model = model;
        job.point.backend = backend;
        job.point.batch = batch;
        job.point_id = point_id(job.point);
        for (job.repeat = 0; job.repeat < repeats; ++job.repeat) jobs.push_back(job);
      }
    }
  }
  return jobs;
}

std::vector<std::vector<Job>> cut(Fleet& fleet, const std::vector<Job>& plan, const CutSettings& settings) {
  return cut_plan(fleet, plan, settings, [](const Job&) { return 10.0; });
}

TEST(CutPlan, EveryRunIsInOneTaskOfEachKind) {
  Fleet fleet;
  fleet.kinds = {"h100", "a100"};
  const std::vector<Job> plan = plan_of({"a", "b"}, {"x", "y"}, 7, 3);
  const auto tasks = cut(fleet, plan, {.task_s = 130});
  ASSERT_EQ(tasks.size(), fleet.tasks.size());
  std::map<int, std::multiset<std::pair<std::string, int>>> seen;
  for (size_t i = 0; i < tasks.size(); ++i) {
    for (const Job& job : tasks[i]) seen[fleet.task_group_of(static_cast<int>(i)).kind].emplace(job.point_id, job.repeat);
    EXPECT_EQ(static_cast<size_t>(fleet.tasks[i].records), tasks[i].size());
    EXPECT_LE(fleet.tasks[i].seconds, 130);
  }
  for (const int kind : {0, 1}) {
    EXPECT_EQ(seen[kind].size(), plan.size());
    EXPECT_EQ(std::set(seen[kind].begin(), seen[kind].end()).size(), plan.size());
  }
  EXPECT_EQ(fleet.task_groups.size(), 4u);  // a kind and a network each
}

TEST(CutPlan, WhatIsComparedStaysInOneTask) {
  Fleet fleet;
  const auto tasks = cut(fleet, plan_of({"a"}, {"x", "y", "z"}, 5, 4), {.task_s = 1});
  EXPECT_EQ(tasks.size(), 5u);
  for (const auto& task : tasks) {
    EXPECT_EQ(task.size(), 12u);
    for (const Job& job : task) EXPECT_EQ(job.point.batch, task.front().point.batch);
  }
}

TEST(CutPlan, MostTasksMakesThemLonger) {
  Fleet fleet;
  EXPECT_LE(cut(fleet, plan_of({"a", "b"}, {"x"}, 100, 1), {.task_s = 10, .most_tasks = 16}).size(), 16u);
  Fleet least;  // a network and a kind are at least one
  least.kinds = {"h100", "a100"};
  EXPECT_EQ(cut(least, plan_of({"a", "b"}, {"x"}, 100, 1), {.task_s = 10, .most_tasks = 1}).size(), 4u);
}

TEST(CutPlan, EveryTaskOfAGroupMeasuresOnePoint) {
  Fleet fleet;
  const auto tasks = cut(fleet, plan_of({"a"}, {"x"}, 5, 3), {.task_s = 1, .common_runs = 2});
  ASSERT_EQ(tasks.size(), 5u);
  const std::string common = fleet.task_groups.at(0).common;
  EXPECT_EQ(common, tasks[0].front().point_id) << "all take the same time: the first";
  std::set<int> repeats;
  for (size_t i = 0; i < tasks.size(); ++i) {
    int runs = 0;
    for (const Job& job : tasks[i]) {
      if (job.point_id != common) continue;
      ++runs;
      EXPECT_TRUE(repeats.insert(job.repeat).second) << "each (Point, repeat) is there once";
    }
    EXPECT_EQ(runs, i == 0 ? 3 : 2) << "the task that has it measures it as the plan says";
    EXPECT_EQ(static_cast<size_t>(fleet.tasks[i].records), tasks[i].size());
  }
  EXPECT_EQ(fleet.records(), 15 + 8);
  EXPECT_EQ(fleet.task_groups[0].longest_s, 50);
  EXPECT_EQ(fleet.task_groups[0].seconds, 230);
}

TEST(CutPlan, TwoTasksHaveNothingInCommonNorHaveOpenLoops) {
  Fleet two, loops;
  cut(two, plan_of({"a"}, {"x"}, 2, 1), {.task_s = 1, .common_runs = 2});
  EXPECT_EQ(two.records(), 2) << "of two nodes nobody can tell which is the odd one";
  std::vector<Job> plan = plan_of({"a"}, {"x"}, 4, 1);
  for (Job& job : plan) job.point.scenario = "server";
  cut(loops, plan, {.task_s = 1, .common_runs = 2});
  EXPECT_EQ(loops.records(), 4) << "a rate that is given tells nothing of the node";
}

TEST(CutPlan, DevicesAreApart) {
  Fleet fleet;
  std::vector<Job> plan = plan_of({"a"}, {"x"}, 2, 1);
  plan[1].point.placement.devices = {{"", "cuda", 0}, {"", "cuda", 3}};
  plan[1].point_id = point_id(plan[1].point);
  cut(fleet, plan, {});
  ASSERT_EQ(fleet.task_groups.size(), 2u);
  EXPECT_EQ(fleet.task_groups[0].gpus, 0);
  EXPECT_EQ(fleet.task_groups[1].gpus, 4);
}

TEST(Fleet, ItsFolderTellsWhatWasWritten) {
  const TemporaryFolder folder;
  Fleet fleet;
  fleet.folder = folder.path();
  fleet.id = "01234567";
  fleet.options = {{"partition", "a,b"}};
  const auto tasks = cut(fleet, plan_of({"a"}, {"x", "y"}, 3, 2), {.task_s = 1});
  write_fleet(fleet, tasks);
  const Fleet back = read_fleet(folder.path());
  EXPECT_EQ(back.options, fleet.options);
  EXPECT_EQ(back.records(), 12);
  for (int i = 0; i < 3; ++i) {
    const std::vector<Job> jobs = read_task(back, i), &written = tasks[static_cast<size_t>(i)];
    ASSERT_EQ(jobs.size(), written.size());
    for (size_t j = 0; j < jobs.size(); ++j) {
      EXPECT_EQ(jobs[j].point, written[j].point);
      EXPECT_EQ(jobs[j].repeat, written[j].repeat);
      EXPECT_EQ(jobs[j].stopping, written[j].stopping);
    }
  }
  EXPECT_THAT(error_of([&] { write_fleet(fleet, tasks); }, ErrorKind::input), HasSubstr("holds a fleet already"));
}

Attempt attempt(int task, const std::string& node, Attempt::State state) {
  Attempt made;
  made.id = node;
  made.task = task;
  made.node = node;
  made.state = state;
  made.device = "NVIDIA H100";
  return made;
}

TEST(Fleet, AnAttemptThatEndedInAnUnknownWayIsLeftOut) {
  const TemporaryFolder folder;
  Fleet fleet;
  fleet.folder = folder.path();
  make_directories(fleet.parts_of(0));
  write_attempt(fleet, attempt(0, "known", Attempt::State::failed));
  write_attempt(fleet, attempt(0, "newer", Attempt::State::failed));
  const std::string path = fleet.parts_of(0) + "/attempt-newer.json";
  std::string text = read_text(path);
  text.replace(text.find("\"failed\""), 8, "\"melted\"");
  write_file_atomic(path, text);
  const std::vector<Attempt> attempts = read_attempts(fleet, 0);
  ASSERT_EQ(attempts.size(), 1u);
  EXPECT_EQ(attempts[0].id, "known");
}

TEST(NodeNotes, TellWhatIsWrongByNode) {
  Fleet fleet;
  cut(fleet, plan_of({"a"}, {"x"}, 6, 1), {.task_s = 1});
  using State = Attempt::State;
  std::vector<Attempt> attempts;
  for (int task = 0; task < 4; ++task) attempts.push_back(attempt(task, "n" + std::to_string(task), State::done));
  EXPECT_THAT(node_notes(fleet, attempts), IsEmpty());
  attempts[1].clock_ahead_s = -3600;
  attempts[2].device = "NVIDIA A100";
  attempts[3].slowest_hand_in_s = 31;
  attempts.push_back(attempt(4, "n5", State::running));
  attempts.push_back(attempt(4, "n6", State::done));
  attempts.push_back(attempt(5, "n7", State::failed));
  attempts.back().reason = "could not write results back";
  const std::vector<std::string> notes = node_notes(fleet, attempts);
  EXPECT_EQ(notes.size(), 5u);
  EXPECT_THAT(notes, Contains(HasSubstr("n1: its clock is 3600.0 s behind")));
  EXPECT_THAT(notes, Contains(HasSubstr("n2: it has NVIDIA A100, most of its kind have NVIDIA H100")));
  EXPECT_THAT(notes, Contains(HasSubstr("n3: the shared disk took up to 31.0 s")));
  EXPECT_THAT(notes, Contains(HasSubstr("n5: an attempt at task 4 ended without a word")));
  EXPECT_THAT(notes, Contains(HasSubstr("n7: could not write results back")));
}

TEST(NodeNotes, NameSlowNodesByTheCommonPoint) {
  Fleet fleet;
  cut(fleet, plan_of({"a"}, {"x"}, 8, 1), {.task_s = 1, .common_runs = 2});
  std::vector<Attempt> attempts;
  for (int task = 0; task < 8; ++task) {
    attempts.push_back(attempt(task, "n" + std::to_string(task), Attempt::State::done));
    const double speed = task == 6 ? 90 : 100;
    attempts.back().common = {speed + 0.1 * task, speed - 0.1 * task};
  }
  const std::vector<std::string> notes = node_notes(fleet, attempts);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], HasSubstr("n6: outlier node: 10.0 % slower"));
  EXPECT_THAT(notes[0], HasSubstr("than the 7 others of its kind, by 2 runs"));
  attempts[6].device = "NVIDIA A100";  // the only node with this device
  for (const std::string& note : node_notes(fleet, attempts)) EXPECT_EQ(note.find("outlier"), std::string::npos) << note;
}

TEST(FleetStatus, EveryTaskIsInOneState) {
  Fleet fleet;
  cut(fleet, plan_of({"a"}, {"x"}, 5, 1), {.task_s = 1});
  using State = QueuedTask::State;
  const std::vector<QueuedTask> queue{
      {1, State::running, "n1", ""}, {2, State::waiting, "", "Priority"}, {3, State::held, "", "DependencyNeverSatisfied"}};
  const FleetStatus status = status_of(fleet, {attempt(0, "n0", Attempt::State::done)}, queue);
  EXPECT_EQ(status.done, 1);
  EXPECT_EQ(status.running, 1);
  EXPECT_EQ(status.waiting, 1);
  EXPECT_EQ(status.held, 1);
  EXPECT_EQ(status.missing, std::vector<int>{4});
}

}  // namespace
}  // namespace deepgap
