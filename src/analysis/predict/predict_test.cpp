#include "analysis/predict/predict.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <cmath>

namespace deepgap {
namespace {

using Kind = KernelNeeds::Kind;

const DeviceFigures quick{"quick", "new", {{"fp16", 1e15}, {"fp32", 5e13}}, 4e12, 80e9, 700.0},
    slow{"slow", "old", {{"fp16", 1e14}}, 3e11, 16e9, 70.0};

// Two convolutions, one product, one pass over memory.
NetworkNeeds network(double scale) {
  return {{{Kind::convolution, 2e9 * scale, 1e6 * scale, 1e5},
           {Kind::convolution, 1e9 * scale, 4e6 * scale, 1e4},
           {Kind::product, 3e9 * scale, 1e5, 1e6},
           {Kind::other, 0, 2e6 * scale, 0}},
          1.5e5,
          1.11e6,
          4e6 * scale};
}

const Efficiencies truth{{{"fp16", 0.5}, {"fp32", 0.7}}, 0.8, 0.75, 4e-6, 12e-6};

std::vector<MeasuredPoint> measured(const std::vector<std::pair<std::string, const NetworkNeeds*>>& networks,
                                    const std::vector<const DeviceFigures*>& devices, double scatter = 0) {
  std::vector<MeasuredPoint> points;
  int count = 0;
  for (const auto& [name, needs] : networks)
    for (const DeviceFigures* device : devices)
      for (const auto& [precision, peak] : device->flop_per_s)
        for (const double batch : {1.0, 4.0, 16.0, 64.0, 256.0}) {
          const double sign = ++count % 2 == 0 ? 1 : -1;
          points.push_back({name, device->name, precision, batch,
                            predicted_seconds(*needs, batch, precision, *device, truth) * (1 + sign * scatter), 0, 0, needs, device});
        }
  return points;
}

TEST(CostModel, AKernelTakesItsWorstBoundAndItsLaunch) {
  const NetworkNeeds one{{{Kind::convolution, 1e9, 1e3, 1e3}}, 1, 1, 1};
  const Efficiencies plain{{{"fp16", 0.5}}, 1, 1, 3e-6, 1e-6};
  // 4 us of arithmetic at half of 5e14 operations a second, 3 us of launch, 1 us of the query.
  const DeviceFigures device{"d", "", {{"fp16", 5e14}}, 1e15, {}, {}};
  EXPECT_NEAR(predicted_seconds(one, 1, "fp16", device, plain), 1e-6 + 5e-6, 1e-9);
  // The same kernel on a device with little bandwidth: 2000 elements of 2 bytes.
  const DeviceFigures narrow{"n", "", {{"fp16", 5e14}}, 4e3 / 4e-3, {}, {}};
  EXPECT_NEAR(predicted_seconds(one, 1, "fp16", narrow, plain), 4e-3, 1e-5);
  EXPECT_THROW(predicted_seconds(one, 1, "int8", device, plain), Error);
}

// What a CPU's caches hold goes by their bandwidth, what they cannot by main memory's.
TEST(CostModel, BytesGoByTheCacheThatTheyFitInto) {
  const DeviceFigures cpu{"c", "CPU", {{"fp32", 1e20}}, 1e9, {}, {}, {{1e4, 1e12}, {1e6, 1e11}, {1e8, 1e9}}};
  const Efficiencies plain{{{"fp32", 1}}, 1, 1, 1e-12, 0};
  const auto seconds = [&](double elements) {
    return predicted_seconds({{{Kind::other, 0, elements, 0}}, 1, 1, 1}, 1, "fp32", cpu, plain);
  };
  EXPECT_NEAR(seconds(250), 1000 / 1e12, 1e-12);
  EXPECT_NEAR(seconds(2.5e5), 1e6 / 1e11, 1e-9) << "as many bytes as the second holds";
  EXPECT_NEAR(seconds(1e6), 4e6 / 1e11, 1e-8) << "more than it was gone through with, less than the next";
  EXPECT_NEAR(seconds(2.5e8), 1e9 / 1e9, 1e-3);
  try {
    predicted_seconds({}, 1, "bf16", cpu, {{{"bf16", 1}}, 1, 1, 0, 0});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("its measured peaks give"), std::string::npos) << error.what();
  }
}

TEST(CostModel, AStepIsTheSumOfItsParts) {
  NetworkNeeds step = network(1);
  step.kernels[1].part = StepPart::backward;
  step.kernels.push_back({Kind::other, 0, 0, 0, 0, 4e6, false, StepPart::update});
  const auto parts = predicted_parts(step, 8, "fp16", quick, truth);
  EXPECT_NEAR(parts[0] + parts[1] + parts[2], predicted_seconds(step, 8, "fp16", quick, truth), 1e-12);
  EXPECT_NEAR(parts[2], std::hypot(4e-6, 4e6 / (4e12 * 0.75)), 1e-12) << "whatever the precision";
  EXPECT_EQ(parts[2], predicted_parts(step, 999, "fp32", quick, truth)[2]) << "whatever the batch";
}

TEST(CostModel, CopiesToAndFromFloat32AreOfSixteenBitsAlone) {
  NetworkNeeds step;
  step.kernels.push_back({Kind::other, 0, 1e6, 0, 1e6, 0, true, StepPart::forward});
  EXPECT_EQ(predicted_seconds(step, 1, "fp32", quick, {{{"fp32", 1}}, 1, 1, 3e-6, 0}), 0) << "and launches nothing else";
  EXPECT_NEAR(predicted_seconds(step, 1, "fp16", quick, {{{"fp16", 1}}, 1, 1, 1e-12, 0}), 6e6 / 4e12, 1e-12);
}

TEST(Fit, FindsWhatMadeThePoints) {
  const NetworkNeeds small = network(0.2), large = network(3);
  const EngineFit fit = fit_engine(measured({{"small", &small}, {"large", &large}}, {&quick, &slow}));
  const NetworkNeeds other = network(1);
  for (const double batch : {1.0, 30.0, 500.0}) {
    const double asked = predicted_seconds(other, batch, "fp16", quick, fit.efficiencies);
    EXPECT_NEAR(asked / predicted_seconds(other, batch, "fp16", quick, truth), 1, 0.03) << batch;
  }
}

TEST(Fit, MissesAreOfWhatWasLeftOut) {
  const NetworkNeeds small = network(0.2), large = network(3);
  const auto points = measured({{"small", &small}, {"large", &large}}, {&quick, &slow});
  EXPECT_EQ(misses(points, LeftOut::model).fits, 2U);
  EXPECT_EQ(misses(points, LeftOut::model).log_ratios.size(), points.size());
  // fp32 was measured on one device alone: leaving that out leaves nothing to predict it from.
  EXPECT_EQ(misses(points, LeftOut::device).log_ratios.size(), points.size() - 10);
  EXPECT_TRUE(misses(measured({{"small", &small}}, {&quick}), LeftOut::model).log_ratios.empty());
}

TEST(Band, IsTheConformalQuantile) {
  Misses found;
  for (int i = 1; i <= 19; ++i) found.log_ratios.push_back(i % 2 == 0 ? -0.01 * i : 0.01 * i);
  double share = 0.9;
  EXPECT_NEAR(band_ratio(found, share), std::exp(0.18), 1e-12);  // the 18th of 19: ceil(0.9 * 20)
  EXPECT_EQ(share, 0.9);
  found.log_ratios.resize(4);
  EXPECT_NEAR(band_ratio(found, share), std::exp(0.04), 1e-12);
  EXPECT_NEAR(share, 0.8, 1e-12);  // four misses say no more
}

TEST(Predictor, AnUnknownArchitectureHasTheBandOfEnginesThatWereOnSeveral) {
  const NetworkNeeds small = network(0.2), large = network(3);
  const auto own = measured({{"small", &small}, {"large", &large}}, {&quick});
  std::vector<MeasuredPoint> across = measured({{"small", &small}}, {&quick, &slow});
  for (MeasuredPoint& point : across)
    if (point.device == "slow") point.seconds *= 2;
  Predictor predictor(own, across);
  const Band known = predictor.band("small", quick, 0.9), unknown = predictor.band("small", slow, 0.9);
  EXPECT_FALSE(known.other_architecture);
  EXPECT_LT(known.ratio, 1.5);
  EXPECT_TRUE(unknown.other_architecture);
  EXPECT_GT(unknown.ratio, 1.5);
  const Prediction found = predictor.predict(large, "large", 64, "fp16", slow, unknown);
  EXPECT_NEAR(*found.high / found.seconds, unknown.ratio, 1e-9);
  EXPECT_FALSE(found.measured_seconds);
  EXPECT_TRUE(predictor.predict(large, "large", 64, "fp16", quick, known).measured_seconds);
}

TEST(Predictor, WhatNobodyTriedHasNoBand) {
  const NetworkNeeds small = network(0.2);
  Predictor predictor(measured({{"small", &small}}, {&quick}), {});
  EXPECT_EQ(predictor.band("other", slow, 0.9).ratio, 0);
  EXPECT_FALSE(predictor.predict(small, "other", 1, "fp16", slow, {}).low);
}

// With one device measured, only the misses on others' cards give the band for another device, whatever the architecture.
TEST(Predictor, OfOneDeviceAloneAnotherHasTheBandOfOthers) {
  const NetworkNeeds small = network(0.2), large = network(3);
  DeviceFigures cousin = quick;
  cousin.name = "cousin";
  const auto own = measured({{"small", &small}, {"large", &large}}, {&quick});
  std::vector<MeasuredPoint> across = measured({{"small", &small}}, {&quick, &slow});
  for (MeasuredPoint& point : across)
    if (point.device == "slow") point.seconds *= 2;
  Predictor predictor(own, across);
  const Band band = predictor.band("small", cousin, 0.9);
  EXPECT_TRUE(band.only_device);
  EXPECT_FALSE(band.other_architecture);
  EXPECT_GT(band.ratio, 1.5);
  EXPECT_FALSE(predictor.band("small", quick, 0.9).only_device);
  Predictor without(own, {});
  EXPECT_EQ(without.band("small", cousin, 0.9).ratio, 0) << "rather no band than that of another question";
  EXPECT_GT(without.band("other", quick, 0.9).ratio, 0);
}

// What others measured of the same kernels on another device is held against the fit itself.
TEST(Predictor, OthersPointsOfTheSameEngineAreForetoldByItsOwnFit) {
  const NetworkNeeds small = network(0.2), large = network(3);
  const auto own = measured({{"small", &small}, {"large", &large}}, {&quick});
  std::vector<MeasuredPoint> across = measured({{"small", &small}}, {&slow});
  for (MeasuredPoint& point : across) point.seconds *= 3;
  EXPECT_EQ(Predictor(own, across).band("small", slow, 0.9).ratio, 0) << "one device by itself: nothing can be left out";
  const Band band = Predictor(own, across, true).band("small", slow, 0.9);
  EXPECT_NEAR(band.ratio, 3, 0.3);
  EXPECT_EQ(band.points, across.size());
  EXPECT_EQ(band.left_out, LeftOut::device);
}

TEST(Predictor, MemoryOfATrainingIsSaidByKind) {
  NetworkNeeds small = network(0.2);
  small.weights = 0;
  small.state = TrainingState{4e6, 4e6, 8e6, 1e4, 2e4, 3e4, 5e5};
  auto points = measured({{"small", &small}}, {&quick});
  for (MeasuredPoint& point : points) {
    point.setting = "adam";
    point.memory_bytes =
        16e6 + 1.5 * (element_bytes(point.precision) * point.batch * small.inputs + live_bytes(small, point.batch, point.precision));
  }
  Predictor predictor(points, {});
  const Prediction found = predictor.predict(small, "small", 16, "fp32", quick, {}, "adam");
  ASSERT_TRUE(found.memory_parts && found.part_seconds);
  EXPECT_NEAR(found.memory_parts->activations, 4 * 16 * (small.live_activations + 1e4 + 3e4), 1);
  EXPECT_NEAR(predictor.predict(small, "small", 16, "fp16", quick, {}, "adam").memory_parts->activations,
              2 * 16 * (small.live_activations + 2e4) + 4 * 16 * 1e4 + 2 * 5e5, 1)
      << "a copy in place of the value, and one of each weight";
  EXPECT_NEAR(found.memory_parts->state.all() + found.memory_parts->activations + found.memory_parts->other, *found.memory_bytes, 1);
  EXPECT_TRUE(found.measured_seconds);
  EXPECT_FALSE(predictor.predict(small, "small", 16, "fp32", quick, {}, "sgd").measured_seconds) << "another optimizer's";
  const double most = *found.largest_batch;
  EXPECT_TRUE(*predictor.predict(small, "small", most, "fp32", quick, {}, "adam").fits);
  EXPECT_FALSE(*predictor.predict(small, "small", most + 1, "fp32", quick, {}, "adam").fits);
  EXPECT_FALSE(Predictor(measured({{"small", &small}}, {&quick}), {}).predict(small, "small", 1, "fp32", quick, {}).memory_bytes)
      << "nobody told";
}

TEST(Predictor, MemoryIsWeightsAndWhatLives) {
  const NetworkNeeds small = network(0.2);
  auto points = measured({{"small", &small}}, {&quick});
  for (MeasuredPoint& point : points)
    point.memory_bytes = element_bytes(point.precision) * (small.weights + 1.25 * point.batch * (small.inputs + small.live_activations));
  Predictor predictor(points, {});
  EXPECT_NEAR(predictor.fit().memory_factor, 1.25, 1e-9);
  EXPECT_TRUE(*predictor.predict(small, "small", 16, "fp16", slow, {}).fits);
  EXPECT_FALSE(*predictor.predict(small, "small", 1 << 20, "fp16", slow, {}).fits);
}

}  // namespace
}  // namespace deepgap
