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
  // fp32 was measured on one device alone: leaving that out leaves nothing to foretell it from.
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
