#include "quantize/scales.h"

#include "engine/passes/test_graphs.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <cmath>

namespace deepgap {
namespace {

using testing::floats;

TEST(ActivationScale, UnsignedLevelsCoverTheRange) {
  const ActivationScale positive = activation_scale({0, 5.1F}, "u8");
  EXPECT_EQ(positive.zero_point, 0);
  EXPECT_EQ(positive.type, DataType::u8);
  EXPECT_NEAR(positive.scale, 5.1 / 255, 1e-7);
  const ActivationScale both = activation_scale({-3, 1}, "u8");
  EXPECT_EQ(both.zero_point, 128);
  EXPECT_NEAR(both.scale, 3.0 / 127, 1e-7);
  const ActivationScale plain = activation_scale({0, 5.1F}, "s8");
  EXPECT_EQ(plain.type, DataType::i8);
  EXPECT_EQ(plain.zero_point, 0);
}

TEST(ActivationScale, NeverPassesTheEndByRounding) {
  // An engine leaves a Clip away only where the levels end at or below its bound.
  for (float high = 0.1F; high < 100; high *= 1.07F) EXPECT_LE(activation_scale({0, high}, "u8").scale * 255, high);
  EXPECT_LE(activation_scale({0, 6}, "u8").scale * 255, 6.0F);
}

TEST(ActivationScale, AnEmptyRangeStillHasANormalScale) {
  EXPECT_EQ(activation_scale({0, 0}, "u8").scale, 1);
  EXPECT_TRUE(std::isnormal(activation_scale({0, 1e-40F}, "u8").scale));
}

TEST(ThroughLevels, RoundsTiesToEvenAndSaturates) {
  const ActivationScale scale{0.5F, 0, DataType::u8};
  EXPECT_EQ(through_levels(0.25F, scale), 0);
  EXPECT_EQ(through_levels(0.75F, scale), 1);
  EXPECT_EQ(through_levels(-4, scale), 0);
  EXPECT_EQ(through_levels(1e6F, scale), 127.5F);
  const ActivationScale both{0.5F, 128, DataType::u8};
  EXPECT_EQ(through_levels(-1e6F, both), -64);
}

TEST(QuantizeWeights, EachChannelHasItsOwnScale) {
  const Tensor weights = floats({2, 1, 1, 2}, {1, -2, 100, 50});
  const QuantizedWeights by_row = quantize_weights(weights, nullptr, 0, 1, "n");
  EXPECT_NEAR(by_row.scales[0], 2.0 / 127, 1e-8);
  EXPECT_NEAR(by_row.scales[1], 100.0 / 127, 1e-6);
  EXPECT_EQ(by_row.levels.as<int8_t>()[1], -127);
  EXPECT_EQ(by_row.levels.as<int8_t>()[2], 127);
  const QuantizedWeights by_column = quantize_weights(floats({2, 2}, {1, -2, 100, 50}), nullptr, 1, 1, "n");
  EXPECT_NEAR(by_column.scales[0], 100.0 / 127, 1e-6);
  EXPECT_NEAR(by_column.scales[1], 50.0 / 127, 1e-6);
}

TEST(QuantizeWeights, ABiasThatDoesNotFitWidensItsChannel) {
  const Tensor weights = floats({2, 1}, {1e-6F, 1}), bias = floats({2}, {1000, 1});
  const float input_scale = 1e-3F;
  const QuantizedWeights result = quantize_weights(weights, &bias, 0, input_scale, "n");
  for (size_t c = 0; c < 2; ++c) {
    const double real = double{result.scales[c]} * input_scale * result.bias.as<int32_t>()[c];
    EXPECT_NEAR(real, bias.as<float>()[c], 1e-3 * bias.as<float>()[c]);
  }
}

TEST(QuantizeWeights, AChannelOfZerosIsNoDivisionByZero) {
  const Tensor weights = floats({2, 1}, {0, 1}), bias = floats({2}, {0.5F, 0});
  const QuantizedWeights result = quantize_weights(weights, &bias, 0, 0.01F, "n");
  EXPECT_TRUE(std::isnormal(result.scales[0]));
  EXPECT_NEAR(double{result.scales[0]} * 0.01 * result.bias.as<int32_t>()[0], 0.5, 1e-3);
}

TEST(QuantizeWeights, NaNIsNamed) {
  try {
    quantize_weights(floats({1, 2}, {1, NAN}), nullptr, 0, 1, "conv1");
    FAIL() << "NaN was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_STREQ(error.what(), "node 'conv1': weights hold NaN at position 1; no scale fits it");
  }
}

}  // namespace
}  // namespace deepgap
