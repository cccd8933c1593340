#include "training/train_options.h"

#include "base/test_error.h"
#include "worker/point_conflicts.h"
#include "worker/task_work.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using ::testing::HasSubstr;

Point training() {
  Point point;
  point.task = Task::train;
  point.model = "resnet18";
  point.backend = "libtorch";
  point.batch = 16;
  return point;
}

std::string usage_of(const Point& point) {
  try {
    task_work(point).require(point);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return {};
}

std::string usage_of(const std::string& name, const std::string& value) {
  TrainSettings settings;
  try {
    EXPECT_TRUE(train_options().set(settings, name, value));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return {};
}

TEST(TrainOptions, AreRead) {
  TrainSettings settings;
  for (const auto& [name, value] : std::map<std::string, std::string>{{"optimizer", "adamw"},
                                                                      {"loss", "mse"},
                                                                      {"learning_rate", "0.5"},
                                                                      {"momentum", "0.8"},
                                                                      {"weight_decay", "0.25"},
                                                                      {"loss_scale", "128"},
                                                                      {"accumulation", "4"}})
    EXPECT_TRUE(train_options().set(settings, name, value)) << name;
  EXPECT_EQ(settings, (TrainSettings{Optimizer::adamw, Loss::mse, 0.5, 0.8, 0.25, 128, 4}));
  EXPECT_TRUE(train_options().set(settings, "loss", "cross-entropy"));
  EXPECT_TRUE(train_options().set(settings, "loss_scale", "off"));
  EXPECT_EQ(settings.loss, Loss::cross_entropy);
  EXPECT_EQ(settings.loss_scale, 1);
  EXPECT_FALSE(train_options().set(settings, "latency", "1ms"));
}

TEST(TrainOptions, WhatTheyDoNotTakeIsNamed) {
  EXPECT_THAT(usage_of("optimizer", "adam_w"), HasSubstr("did you mean 'adamw'"));
  EXPECT_THAT(usage_of("loss", "hinge"), HasSubstr("hinge"));
  EXPECT_THAT(usage_of("learning_rate", "-1"), HasSubstr("'-1' for learning_rate"));
  EXPECT_THAT(usage_of("learning_rate", "nan"), HasSubstr("learning_rate"));
  EXPECT_THAT(usage_of("loss_scale", "0"), HasSubstr("auto, off or a number from 1 to 16777216"));
  EXPECT_THAT(usage_of("accumulation", "0"), HasSubstr("accumulation"));
  EXPECT_THAT(usage_of("accumulation", "1.5"), HasSubstr("whole number"));
}

TEST(TrainOptions, ApplyToTrainingAlone) {
  Point point = training();
  point.options = {{"optimizer", "sgd"}};
  refuse_point_conflicts(point);
  point.task = Task::infer;
  EXPECT_EQ(error_of([&] { refuse_point_conflicts(point); }), "optimizer applies to training: add --task train, or leave it out");
}

TEST(TrainOptions, TrainingRunsScenarioBatch) {
  Point point = training();
  EXPECT_EQ(usage_of(point), "");
  point.scenario = "server";
  EXPECT_THAT(usage_of(point), HasSubstr("scenario batch"));
}

TEST(TrainOptions, ProcessesHaveEqualDevicesOfTheirOwnOrOneCpu) {
  const auto refusal = [](int processes, std::vector<DeviceId> devices) {
    Point point = training();
    point.placement = {processes, std::move(devices)};
    return usage_of(point);
  };
  const DeviceId cpu, first{"", "cuda", 0}, second{"", "cuda", 1};
  EXPECT_EQ(refusal(2, {cpu}), "");
  EXPECT_EQ(refusal(1, {second}), "");
  EXPECT_EQ(refusal(2, {first, second}), "");
  EXPECT_THAT(refusal(1, {first, second}), HasSubstr("--processes 2"));
  EXPECT_THAT(refusal(2, {first}), HasSubstr("name 2 devices"));
  EXPECT_THAT(refusal(2, {first, first}), HasSubstr("cuda:0 is named twice"));
  EXPECT_THAT(refusal(2, {cpu, first}), HasSubstr("equal devices, not cpu and cuda"));
}

TEST(TrainOptions, AFewSamplesAreCheckedInEqualParts) {
  const auto samples = [](const Point& point) {
    PointOptions options;
    task_work(point).set_defaults(point, options);
    return options.samples;
  };
  Point point = training();
  EXPECT_EQ(engine_request(point, {}).batch_sizes, (std::vector<int64_t>{8, 16}));
  EXPECT_EQ(checked_batch(point, {.accumulation = 3}), 9);
  EXPECT_EQ(checked_batch(point, {.accumulation = 16}), 16);
  point.batch = 4;
  EXPECT_EQ(engine_request(point, {}).batch_sizes, std::vector<int64_t>{4});
  EXPECT_EQ(samples(point), 16);
  point.batch = 128;
  EXPECT_EQ(samples(point), 256);
  point.batch = 512;
  EXPECT_EQ(samples(point), 512);
}

}  // namespace
}  // namespace deepgap
