#include "base/test_error.h"
#include "plan/place.h"
#include "plan/planner.h"
#include "plan/point_fields.h"
#include "record/load_axis.h"
#include "record/record_json.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace deepgap {
namespace {

using ::testing::HasSubstr;

Study study_of(std::vector<Axis> axes) {
  Study study;
  study.grids.emplace_back().axes = std::move(axes);
  return study;
}

TEST(Expand, IsTheProductOfTheAxes) {
  Study study = study_of({{"model", {"a", "b"}}, {"batch", {"1", "2", "4"}}, {"streams", {"1", "2"}}});
  study.grids[0].repeats = 2;
  study.grids[0].sweeps = 3;
  study.grids[0].check = false;
  const auto jobs = expand(study, 8);
  EXPECT_EQ(jobs.size(), 2u * 3 * 2 * 6);
  std::set<std::pair<std::string, int>> distinct;
  for (const Job& job : jobs) {
    distinct.emplace(job.point_id, job.repeat);
    EXPECT_EQ(job.point_id, point_id(job.point));
    EXPECT_EQ(job.sweep, job.repeat / 2);
    EXPECT_EQ(job.point.threads, 8);
    EXPECT_FALSE(job.check);
  }
  EXPECT_EQ(distinct.size(), jobs.size());
  EXPECT_EQ(jobs[0].point.model, "a");
  EXPECT_EQ(jobs[6].point.options.at("streams"), "2");  // the last axis turns fastest
}

// An axis that is read or copied anew for each of its values would take minutes here.
TEST(Expand, AnAxisOfManyValuesIsReadOnce) {
  const Study study =
      parse_study("[[grid]]\nmodel = \"m\"\nbackend = \"null\"\nrepeats = 1\n[grid.axis]\nnull.seed = \"1..200000\"\n", "many.toml");
  const auto jobs = expand(study, 1);
  ASSERT_EQ(jobs.size(), 200'000u);
  EXPECT_EQ(jobs.back().point.options.at("null.seed"), "200000");
}

TEST(Expand, EveryFieldIsSet) {
  const auto jobs = expand(study_of({{"task", {"train"}},
                                     {"model", {"m"}},
                                     {"weights", {"imagenet"}},
                                     {"dataset", {"pictures"}},
                                     {"backend", {"null"}},
                                     {"device", {"cuda"}},
                                     {"precision", {"int8"}},
                                     {"batch", {"32"}},
                                     {"scenario", {"single-stream"}},
                                     {"threads", {"0", "cpus", "3"}},
                                     {"env.OMP_WAIT_POLICY", {"active"}}}),
                           5);
  ASSERT_EQ(jobs.size(), 2u);  // threads 0 and cpus are both 5
  Point expected;
  expected.task = Task::train;
  expected.model = "m";
  expected.weights = "imagenet";
  expected.dataset = "pictures";
  expected.backend = "null";
  expected.placement.devices = {{"", "cuda", 0}};
  expected.precision = Precision::int8;
  expected.batch = 32;
  expected.scenario = "single-stream";
  expected.threads = 5;
  expected.options = {{"env.OMP_WAIT_POLICY", "active"}};
  EXPECT_EQ(jobs[0].point, expected);
  EXPECT_EQ(jobs[1].point.threads, 3);
}

TEST(Expand, SkipRules) {
  Study study =
      study_of({{"model", {"small", "large"}}, {"device", {"cpu", "cuda:1"}}, {"batch", {"8", "64"}}, {"threads", {"1", "4", "16"}}});
  study.grids[0].skips = {{{{"model", "=", "large"}, {"batch", ">", "32"}}, "too large"},
                          {{{"threads", ">", "cpus"}}, ""},
                          {{{"device", "=", "cuda"}, {"threads", "!=", "1"}}, ""}};
  int skipped = 0, measured = 0;
  for (const Job& job : expand(study, 4)) {
    const bool expected_skip = job.point.model == "large" && job.point.batch == 64;
    EXPECT_EQ(!job.skip_reason.empty(), expected_skip);
    skipped += expected_skip;
    measured += !expected_skip;
    if (!expected_skip) {
      EXPECT_LE(job.point.threads, 4);
      EXPECT_TRUE(job.point.placement.devices[0].kind == "cpu" || job.point.threads == 1);
    }
  }
  EXPECT_EQ(skipped, 6);             // a reason goes first: also with 16 threads
  EXPECT_EQ(measured, 3 * (2 + 1));  // small 8, small 64, large 8; cpu with 1 and 4 threads, cuda with 1
}

TEST(Expand, ConditionsCompareNumbersAndTexts) {
  Point point;
  point.options = {{"rate", "100"}, {"wait", "8ms"}, {"mode", "fast"}};
  EXPECT_TRUE(holds({"rate", "<", "1000"}, point, 1));  // not as texts
  EXPECT_TRUE(holds({"wait", "<=", "0.01s"}, point, 1));
  EXPECT_TRUE(holds({"mode", "=", "fast"}, point, 1));
  EXPECT_FALSE(holds({"mode", "<", "3"}, point, 1));
  EXPECT_FALSE(holds({"absent", "=", "1"}, point, 1));
  EXPECT_TRUE(holds({"absent", "!=", "1"}, point, 1));
  EXPECT_TRUE(holds({"batch", "=", "1"}, point, 1));
  EXPECT_TRUE(holds({"device", "=", "cpu"}, point, 1));
  EXPECT_TRUE(holds({"device", "!=", "cuda"}, point, 1));
}

TEST(Expand, APointOfSeveralGridsIsMeasuredOnce) {
  Study study = study_of({{"model", {"a", "b"}}});
  study.grids[0].repeats = 2;
  study.grids[0].check = false;
  Grid more = study.grids[0];
  more.axes[0].values = {"b", "c"};
  more.repeats = 5;
  more.check = true;
  more.stopping.interval = 0.5;
  study.grids.push_back(more);
  std::vector<std::string> notes;
  const auto jobs = expand(study, 1, &notes);
  EXPECT_EQ(jobs.size(), 2u + 5 + 5);
  for (const Job& job : jobs) {
    EXPECT_EQ(job.stopping.interval, job.point.model == "a" ? 0.01 : 0.5);
    EXPECT_EQ(job.check, job.point.model != "a");
  }
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], HasSubstr("1 point is named more than once"));
  // What one grid skips another one may measure.
  study.grids[1].skips = {{{{"model", "=", "b"}}, "why"}};
  int with_b = 0;
  for (const Job& job : expand(study, 1)) {
    if (job.point.model != "b") continue;
    ++with_b;
    EXPECT_EQ(job.skip_reason, "");
  }
  EXPECT_EQ(with_b, 2);
}

TEST(Place, IsThatOfTheValueInTheGridThatMadeThePoint) {
  Study study;
  study.grids.resize(2);
  study.grids[0].place = "s.toml:1";
  study.grids[0].axes = {{"model", {"a"}, {"s.toml:2"}}, {"threads", {"0"}, {"s.toml:3"}}};
  study.grids[1].place = "s.toml:5";
  study.grids[1].axes = {{"model", {"a"}, {"s.toml:6"}}, {"backend", {"native", "null"}, {"s.toml:7", "--backend"}}, {"streams", {"2"}}};
  const auto jobs = expand(study, 4);
  ASSERT_EQ(jobs.size(), 3u);
  EXPECT_EQ(place_of(study, jobs[0].point, "model", 4), "s.toml:2");
  EXPECT_EQ(place_of(study, jobs[0].point, "threads", 4), "s.toml:3") << "0 became 4 on the Point";
  EXPECT_EQ(place_of(study, jobs[0].point, "backend", 4), "s.toml:1") << "a default: the grid's place";
  EXPECT_EQ(place_of(study, jobs[1].point, "model", 4), "s.toml:6");
  EXPECT_EQ(place_of(study, jobs[2].point, "backend", 4), "--backend");
  EXPECT_EQ(place_of(study, jobs[2].point, "streams", 4), "s.toml:5") << "nobody wrote down where";
  Point other = jobs[0].point;
  other.batch = 3;
  EXPECT_EQ(place_of(study, other, "model", 4), "") << "of no grid";
}

TEST(Place, StandsBeforeTheCauseWithoutStutter) {
  EXPECT_EQ(at_place("", "cause"), "cause");
  EXPECT_EQ(at_place("s.toml:3", "batch: 'x'"), "s.toml:3: batch: 'x'");
  EXPECT_EQ(at_place("--batch", "batch: 'x'"), "--batch: 'x'");
  EXPECT_EQ(at_place("--max-batch", "invalid value '0' for max_batch: expected 1"), "invalid value '0' for --max-batch: expected 1");
  const std::string named = "invalid value 'x' for --input: expected NAME=NUMBERS";
  EXPECT_EQ(at_place("--input", named), named) << "not twice";
  EXPECT_EQ(at_place("--input", "--input: unknown input 'k'"), "--input: unknown input 'k'");
  EXPECT_EQ(at_place("--axis streams", "invalid value 'x' for streams: expected 1"), "invalid value 'x' for --axis streams: expected 1");
  EXPECT_EQ(at_place("s.toml:3", "invalid value '0' for batch: expected 1"), "s.toml:3: invalid value '0' for batch: expected 1");
}

TEST(Expand, WhatIsForAnotherEngineMakesNoPoint) {
  const Study study = study_of({{"model", {"a"}},
                                {"backend", {"null", "native"}},
                                {"precision", {"fp32", "int8"}},
                                {"native.path", {"fast", "plain"}},
                                {"quantize.samples", {"4", "8"}}});
  std::vector<std::string> notes;
  std::map<std::string, int> points;
  for (const Job& job : expand(study, 1, &notes)) {
    ++points[job.point.backend + " " + std::string(name_of(job.point.precision))];
    EXPECT_EQ(job.point.options.contains("native.path"), job.point.backend == "native");
    EXPECT_EQ(job.point.options.contains("quantize.samples"), job.point.precision == Precision::int8);
  }
  EXPECT_EQ(points, (std::map<std::string, int>{{"native fp32", 2}, {"native int8", 4}, {"null fp32", 1}, {"null int8", 2}}));
  EXPECT_TRUE(notes.empty()) << notes[0];
}

TEST(Expand, Errors) {
  EXPECT_THAT(error_of([] { expand(study_of({{"batch", {"1"}}}), 1); }), HasSubstr("no model"));
  EXPECT_THAT(error_of([] { expand(study_of({{"model", {}}}), 1); }), HasSubstr("axis model has no value"));
  EXPECT_THAT(error_of([] { expand(study_of({{"model", {"a"}}, {"Batch", {"1"}}}), 1); }), HasSubstr("'Batch' cannot name an axis"));
  EXPECT_THAT(error_of([] {
                expand(study_of({{"model", {"a"}}, {"batch", {"x"}}}), 1);
              }),
              HasSubstr("invalid value 'x' for batch: expected a whole number"));
  EXPECT_THAT(error_of([] { expand(study_of({{"model", {"a"}}, {"model", {"b"}}}), 1); }), HasSubstr("there twice"));
  Study none = study_of({{"model", {"a"}}});
  none.grids[0].skips = {{{{"model", "=", "a"}}, ""}};
  EXPECT_THAT(error_of([&] { expand(none, 1); }), HasSubstr("nothing to measure"));
  EXPECT_THAT(error_of([] { expand(Study{}, 1); }), HasSubstr("nothing to measure"));
}

TEST(Expand, TheNumberOfRunsIsLimited) {
  const auto thousand = parse_axis_values("1..1000", "");
  Study study = study_of({{"model", {"m"}},
                          {"x", thousand},
                          {"y", thousand},
                          {"z", thousand},
                          {"u", thousand},
                          {"v", thousand},
                          {"w", thousand},
                          {"t", thousand}});
  EXPECT_THAT(error_of([&] { expand(study, 1); }), HasSubstr("more than 1000000 runs"));
  study.grids[0].axes.resize(2);
  study.grids[0].repeats = 100'000;
  EXPECT_THAT(error_of([&] { expand(study, 1); }), HasSubstr("more than 1000000 runs"));
}

TEST(Overrides, AFlagReplacesAnAxisAndASetting) {
  Study study = study_of({{"model", {"a"}}, {"batch", {"1", "2"}}});
  study.grids[0].stopping.name = "counts";
  study.grids[0].stopping.iterations = 5;
  Overrides overrides;
  overrides.axes = {{"batch", {"8"}}, {"streams", {"1", "2"}}};
  overrides.repeats = 3;
  overrides.duration = 1000;
  overrides.target = "99";
  overrides.warmup = 4;
  overrides.check = false;
  apply_overrides(study, overrides);
  const auto jobs = expand(study, 1);
  EXPECT_EQ(jobs.size(), 2u * 3);
  EXPECT_EQ(jobs[0].point.batch, 8);
  EXPECT_EQ(jobs[0].stopping.name, "duration");
  EXPECT_EQ(jobs[0].stopping.duration, 1000);
  EXPECT_EQ(jobs[0].stopping.iterations, std::nullopt);
  EXPECT_EQ(jobs[0].stopping.target, "p99");
  EXPECT_EQ(jobs[0].stopping.warmup, 4);
  EXPECT_FALSE(jobs[0].check);
}

TEST(Overrides, AShortestWindowStaysWithWhateverRule) {
  Study study = study_of({{"model", {"a"}}});
  Overrides overrides;
  overrides.min_duration = 5;
  apply_overrides(study, overrides);
  Overrides later;
  later.iterations = 7;
  apply_overrides(study, later);
  EXPECT_EQ(study.grids[0].stopping.name, "counts");
  EXPECT_EQ(study.grids[0].stopping.duration, 5);
  later.energy = true;
  apply_overrides(study, later);
  EXPECT_EQ(study.grids[0].stopping.duration, 10'000'000'000);
}

TEST(Overrides, MakeAStudyOfFlagsAlone) {
  Study study;
  Overrides overrides;
  overrides.axes = {{"model", {"resnet50"}}};
  apply_overrides(study, overrides);
  EXPECT_EQ(expand(study, 2).at(0).point.model, "resnet50");
}

TEST(Overrides, Errors) {
  const auto with = [](auto change) {
    return error_of([&] {
      Overrides overrides;
      change(overrides);
      Study study;
      apply_overrides(study, overrides);
    });
  };
  EXPECT_THAT(with([](Overrides& o) { o.repeats = 0; }), HasSubstr("invalid value '0' for --repeats"));
  EXPECT_THAT(with([](Overrides& o) { o.interval = 1.5; }), HasSubstr("invalid value '1.5' for --interval"));
  EXPECT_THAT(with([](Overrides& o) { o.duration = 0; }), HasSubstr("invalid value '0 ns' for --duration: expected a time above 0"));
  EXPECT_THAT(with([](Overrides& o) { o.target = "often"; }), HasSubstr("--percentile"));
  EXPECT_THAT(with([](Overrides& o) { o.axes = {{"batch", {}}}; }), HasSubstr("no value"));
  EXPECT_THAT(with([](Overrides& o) { o.axes = {{"batch", {"0"}}}; }), HasSubstr("invalid value '0' for batch"));
  EXPECT_THAT(with([](Overrides& o) { o.axes = {{"batch", {"1"}}, {"batch", {"2"}}}; }), HasSubstr("given twice"));
}

std::string group_of(const Job& job) { return job.point.model + "/" + job.point.backend; }

std::vector<Job> drain(Planner& planner, std::vector<std::string>* groups = nullptr) {
  std::vector<Job> order;
  for (Batch batch = planner.next(); !batch.jobs.empty(); batch = planner.next()) {
    if (groups != nullptr) groups->push_back(batch.group);
    for (Job& job : batch.jobs) {
      EXPECT_EQ(batch.group, job.skip_reason.empty() ? group_of(job) : "skipped");
      order.push_back(std::move(job));
    }
  }
  EXPECT_EQ(planner.remaining(), 0u);
  return order;
}

std::vector<Job> example_jobs() {
  Study study = study_of({{"model", {"a", "b", "c", "d"}}, {"backend", {"native", "null"}}, {"batch", {"1", "2", "4", "8"}}});
  study.grids[0].repeats = 3;
  study.grids[0].skips = {{{{"model", "=", "d"}, {"batch", "=", "8"}}, "why"}};
  return expand(study, 1);
}

TEST(GridPlanner, EveryJobOnceInBlocksByRepeat) {
  const auto planner = make_grid_planner(example_jobs(), 1, group_of, {});
  EXPECT_EQ(planner->remaining(), 96u);
  std::vector<std::string> groups;
  const auto order = drain(*planner, &groups);
  ASSERT_EQ(order.size(), 96u);
  std::set<std::pair<std::string, int>> seen;
  for (size_t i = 0; i < order.size(); ++i) {
    EXPECT_TRUE(seen.emplace(order[i].point_id, order[i].repeat).second);
    EXPECT_EQ(order[i].repeat, static_cast<int>(i / 32));
  }
  EXPECT_EQ(groups.size(), 3u * 9);  // a group is one batch a block; those to be skipped come apart
  EXPECT_TRUE(planner->next().jobs.empty());
}

TEST(GridPlanner, ShufflesBySeedAndOnlyBySeed) {
  const auto ids = [](uint64_t seed) {
    std::vector<std::string> result;
    for (const Job& job : drain(*make_grid_planner(example_jobs(), seed, group_of, {}))) result.push_back(job.point_id);
    return result;
  };
  EXPECT_EQ(ids(1), ids(1));
  EXPECT_NE(ids(1), ids(2));
  const auto order = ids(1);
  EXPECT_NE(std::vector(order.begin(), order.begin() + 32), std::vector(order.begin() + 32, order.begin() + 64));  // anew in each block
}

const bool tide_is_declared = declare_scenario("tide", {.load_axis = LoadAxis{"rate", "queries a second"}});

TEST(GridPlanner, PointsThatDifferInTheirLoadAloneFollowEachOther) {
  ASSERT_TRUE(tide_is_declared);
  const Study study =
      study_of({{"model", {"a"}}, {"backend", {"null"}}, {"scenario", {"tide"}}, {"batch", {"1", "2", "4"}}, {"rate", {"10", "20", "30"}}});
  std::set<std::vector<int64_t>> batches;
  std::set<std::vector<std::string>> rates;  // rates of the first batch
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Batch block = make_grid_planner(expand(study, 1), seed, group_of, {})->next();
    ASSERT_EQ(block.jobs.size(), 9u);
    std::vector<int64_t> own_batches;
    std::vector<std::string> own_rates;
    for (size_t i = 0; i < block.jobs.size(); ++i) {
      if (i % 3 == 0) own_batches.push_back(block.jobs[i].point.batch);
      EXPECT_EQ(block.jobs[i].point.batch, own_batches.back()) << seed;
      if (i < 3) own_rates.push_back(block.jobs[i].point.options.at("rate"));
    }
    batches.insert(own_batches);
    rates.insert(own_rates);
  }
  EXPECT_EQ(batches.size(), 6u) << "in every order";
  EXPECT_EQ(rates.size(), 6u);
}

TEST(GridPlanner, EveryPositionIsAsLikelyForEveryGroup) {
  // With 3 groups and 3000 seeds each is first about 1000 times; 5 standard deviations are 129.
  std::map<std::string, int> first;
  const auto jobs = expand(study_of({{"model", {"a", "b", "c"}}}), 1);
  for (uint64_t seed = 0; seed < 3000; ++seed) ++first[make_grid_planner(jobs, seed, group_of, {})->next().group];
  for (const auto& [group, count] : first) EXPECT_NEAR(count, 1000, 129) << group;
}

TEST(GridPlanner, LeavesOutWhatIsFinished) {
  const auto jobs = example_jobs();
  std::set<std::pair<std::string, int>> finished;
  for (size_t i = 0; i < jobs.size(); i += 2) finished.emplace(jobs[i].point_id, jobs[i].repeat);
  const auto order = drain(*make_grid_planner(jobs, 1, group_of, finished));
  EXPECT_EQ(order.size(), jobs.size() - finished.size());
  for (const Job& job : order) EXPECT_EQ(finished.count({job.point_id, job.repeat}), 0u);
}

}  // namespace
}  // namespace deepgap
