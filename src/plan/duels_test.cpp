#include "plan/duels.h"

#include "record/duel_set.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::HasSubstr;

Study study_of(const std::string& axis, std::vector<Axis> axes) {
  Study study;
  Grid& grid = study.grids.emplace_back();
  grid.axes = std::move(axes);
  grid.duel = axis;
  return study;
}

std::string refusal(const Study& study) {
  try {
    expand(study, 2);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "no refusal";
}

TEST(Duels, EveryChoiceOfTheOtherAxesIsOne) {
  const auto jobs =
      expand(study_of("backend", {{"model", {"resnet50"}}, {"backend", {"native", "onnxruntime"}}, {"batch", {"1", "8"}}}), 2);
  ASSERT_EQ(jobs.size(), 4U);
  for (const size_t i : {0, 2}) {
    EXPECT_EQ(jobs[i].point.backend, "native");
    EXPECT_EQ(jobs[i + 1].point.backend, "onnxruntime");
    EXPECT_EQ(duel_of(jobs[i].point), duel_of(jobs[i + 1].point));
    EXPECT_EQ(contender_place(jobs[i + 1].point)->number, 2);
  }
  EXPECT_NE(duel_of(jobs[0].point), duel_of(jobs[2].point));
}

TEST(Duels, EndByMarginAndBudget) {
  Study study = study_of("backend", {{"model", {"resnet50"}}, {"backend", {"native", "onnxruntime"}}});
  EXPECT_EQ(expand(study, 2)[0].stopping.name, "duel");
  EXPECT_EQ(expand(study, 2)[0].stopping.interval, 0.02);
  EXPECT_EQ(expand(study, 2)[0].stopping.budget, 120'000'000'000);
  Overrides overrides;
  overrides.margin = 0.01;
  overrides.budget = 30'000'000'000;
  overrides.repeats = 3;
  apply_overrides(study, overrides);
  EXPECT_EQ(expand(study, 2).size(), 6U);
  EXPECT_EQ(expand(study, 2)[0].stopping.interval, 0.01);
  EXPECT_EQ(expand(study, 2)[0].stopping.budget, 10'000'000'000) << "of all starts together, though it is the usual one of other runs";
}

TEST(Duels, OneThatARuleLeavesOutLeavesOutTheDuel) {
  Study study = study_of("backend", {{"model", {"resnet50"}}, {"backend", {"native", "openvino"}}, {"batch", {"1", "8"}}});
  study.grids[0].skips.push_back({{{"backend", "=", "openvino"}, {"batch", "=", "8"}}, ""});
  EXPECT_EQ(expand(study, 2).size(), 2U);
}

TEST(Duels, WhatTakesNoTurnsIsRefusedInOneLine) {
  const Axis model{"model", {"resnet50"}}, backends{"backend", {"native", "onnxruntime"}};
  EXPECT_THAT(refusal(study_of("backend", {model})), HasSubstr("the axis has no value"));
  EXPECT_THAT(refusal(study_of("backend,batch", {model, backends, {"batch", {"1", "8"}}})), HasSubstr("compare along one axis"));
  EXPECT_THAT(refusal(study_of("backend", {model, {"backend", {"native"}}})),
              HasSubstr("one value, native; a comparison needs two or more"));
  EXPECT_THAT(refusal(study_of("backend", {model, backends, {"scenario", {"server"}}, {"rate", {"10"}}})),
              HasSubstr("batch or single-stream, not server"));
  EXPECT_THAT(refusal(study_of("scenario", {model, {"scenario", {"batch", "single-stream"}}})), HasSubstr("do the same work"));
  EXPECT_THAT(refusal(study_of("backend", {model, backends, {"processes", {"2"}}})), HasSubstr("one process"));
  EXPECT_THAT(refusal(study_of("backend", {model, backends, {"contender", {"1/2"}}})), HasSubstr("cannot be set"));
  EXPECT_THAT(refusal(study_of("backend", {model, backends, {"mlperf", {"v6.0"}}})), HasSubstr("MLPerf"));
  Study tenants = study_of("backend", {model, backends});
  tenants.grids[0].tenants.resize(2);
  EXPECT_THAT(refusal(tenants), HasSubstr("leave out one of them"));
  for (const char* rule : {"counts", "duration", "interval"}) {
    Study study = study_of("backend", {model, backends});
    study.grids[0].stopping.name = rule;
    study.grids[0].stopping.interval = 0.005;
    EXPECT_THAT(refusal(study), HasSubstr("--margin sets the smallest difference"));
  }
}

TEST(Duels, StandInStudyFilesToo) {
  const Study study = parse_study(
      "[[grid]]\nmodel = \"resnet50\"\nbackend = [\"native\", \"onnxruntime\"]\nduel = \"backend\"\nmargin = \"1%\"\n", "a.toml");
  EXPECT_EQ(study.grids[0].duel, "backend");
  EXPECT_EQ(study.grids[0].margin, 0.01);
  EXPECT_EQ(expand(study, 2).size(), 2U);
}

}  // namespace
}  // namespace deepgap
