#include "analysis/point_labels.h"

#include "analysis/finding_rig.h"

#include <gmock/gmock.h>

#include <array>

namespace deepgap {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> labels_of(const Results& results) {
  const PointLabels labels(results.points);
  std::vector<std::string> told;
  for (const PointSummary& point : results.points) told.push_back(labels.of(point));
  return told;
}

TEST(PointLabels, WhatAllHaveInCommonIsLeftOut) {
  ResultsCollector collector;
  add(collector, {.batch = 1, .throughputs = {1}, .options = {{"latency", "5ms"}}});
  add(collector, {.batch = 8, .throughputs = {1}, .options = {{"latency", "5ms"}}});
  EXPECT_THAT(labels_of(collector.results()), ElementsAre("resnet50 · native · batch 1", "resnet50 · native · batch 8"));
}

TEST(PointLabels, RateThreadsAndOptionsTellApart) {
  ResultsCollector collector;
  add(collector, {.throughputs = {1}, .threads = 1, .options = {{"latency", "5ms"}, {"rate", "20"}}});
  add(collector, {.throughputs = {1}, .threads = 2, .options = {{"latency", "5ms"}, {"rate", "20"}}});
  add(collector, {.throughputs = {1}, .threads = 2, .options = {{"latency", "5ms"}, {"rate", "40"}}});
  EXPECT_THAT(labels_of(collector.results()),
              ElementsAre("resnet50 · native · 1 thread · rate=20 · batch 1", "resnet50 · native · 2 threads · rate=20 · batch 1",
                          "resnet50 · native · 2 threads · rate=40 · batch 1"));
}

TEST(PointLabels, ScenarioWeightsAndPlaceInADuelTellApart) {
  std::vector<Record> records(4);
  for (Record& record : records) record.point.model = "m", record.point.backend = "null";
  records[1].point.scenario = "server";
  records[2].point.weights = "file.safetensors";
  records[3].point.options = {{"duel", "latency: 5ms + 6ms"}, {"contender", "2/2"}};
  const std::vector<PointSummary> points = summarize_points(records);
  const PointLabels labels(points);
  std::set<std::string> told;
  for (const PointSummary& point : points) told.insert(labels.of(point));
  EXPECT_EQ(told.size(), 4u);
  EXPECT_THAT(labels.of(points[1]), testing::HasSubstr("server"));
  EXPECT_THAT(labels.of(points[2]), testing::HasSubstr("file.safetensors weights"));
  EXPECT_THAT(labels.of(points[3]), testing::HasSubstr("arm 2/2"));
}

TEST(PointLabels, CardsOfOneModelAreToldByTheirIndex) {
  std::vector<Record> records(2);
  for (int i = 0; i < 2; ++i) {
    records[static_cast<size_t>(i)].point.model = "m";
    records[static_cast<size_t>(i)].point.backend = "native";
    records[static_cast<size_t>(i)].point.placement.devices = {{"", "cuda", i}};
    records[static_cast<size_t>(i)].environment["gpu.cuda" + std::to_string(i) + ".name"] = "NVIDIA H100";
  }
  const std::vector<PointSummary> points = summarize_points(records);
  const PointLabels labels(points);
  EXPECT_EQ(labels.of(points[0]), "m · native · H100 cuda:0 · batch 1");
  EXPECT_EQ(labels.of(points[1]), "m · native · H100 cuda:1 · batch 1");
}

TEST(PointLabels, InWhatSidesDifferIsLeftToTheirHeadings) {
  ResultsCollector a, b;
  for (const char* rate : {"20", "40"}) {
    add(a, {.throughputs = {1}, .options = {{"latency", "5ms"}, {"rate", rate}}});
    add(b, {.throughputs = {1}, .options = {{"latency", "6ms"}, {"rate", rate}}});
  }
  const Results first = a.results(), second = b.results();
  const std::array<PointLabels::Side, 2> sides{{{&first.points[0], &first.points[1]}, {&second.points[0], &second.points[1]}}};
  const PointLabels labels(sides);
  EXPECT_EQ(labels.of(first.points[1]), "resnet50 · native · rate=40 · batch 1");
  EXPECT_EQ(labels.of(second.points[1]), labels.of(first.points[1]));
}

}  // namespace
}  // namespace deepgap
