#include "backends/xla/hlo_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace deepgap {
namespace {

using testing::HasSubstr;

// That XLA reads the text is tried in xla_session_test.cpp and by the conformance suite.

TEST(HloWriter, OperandsAreBroadcastAsOnnxHasIt) {
  HloWriter writer;
  const HloValue a = writer.argument(DataType::f32, {2, 1, 3}), b = writer.argument(DataType::f32, {4, 1});
  const HloValue sum = writer.binary("add", a, b);
  EXPECT_EQ(sum.shape, (Shape{2, 4, 3}));
  const std::string text = writer.program({sum});
  EXPECT_THAT(text, HasSubstr("@main(%arg0: tensor<2x1x3xf32>, %arg1: tensor<4x1xf32>) -> (tensor<2x4x3xf32>)"));
  EXPECT_THAT(text, HasSubstr("\"stablehlo.broadcast_in_dim\"(%arg1) <{broadcast_dimensions = array<i64: 1, 2>}>"));
}

TEST(HloWriter, NumbersAreWrittenAsTheirBytes) {
  HloWriter writer;
  const HloValue half = writer.number(DataType::f16, 1.5), least = writer.number(DataType::f32, -std::numeric_limits<double>::infinity());
  const std::string text = writer.program({half, least});
  EXPECT_THAT(text, HasSubstr("dense<\"0x003E\"> : tensor<f16>"));
  EXPECT_THAT(text, HasSubstr("dense<\"0x000080FF\"> : tensor<f32>"));
}

TEST(HloWriter, ComparisonsSayWhetherNumbersHaveASign) {
  HloWriter writer;
  const HloValue numbers = writer.argument(DataType::i32, {2}), truth = writer.compare("LT", numbers, numbers);
  const std::string text = writer.program({writer.compare("NE", truth, truth)});
  EXPECT_THAT(text, HasSubstr("comparison_direction LT>, compare_type = #stablehlo<comparison_type SIGNED>"));
  EXPECT_THAT(text, HasSubstr("comparison_direction NE>, compare_type = #stablehlo<comparison_type UNSIGNED>"));
}

TEST(HloWriter, WindowsGiveAsManyPositionsAsFit) {
  HloWriter writer;
  const HloValue x = writer.argument(DataType::f32, {1, 3, 7, 8});
  EXPECT_EQ(writer.reduce_window("maximum", x, 0, {{1, 1, 3, 2}, {1, 1, 2, 2}, {1, 1, 2, 1}, {0, 0, 1, 0}, {0, 0, 1, 0}}).shape,
            (Shape{1, 3, 3, 4}));
}

TEST(HloWriter, ReducedAxesGoOrStayAsOne) {
  HloWriter writer;
  const HloValue x = writer.argument(DataType::f32, {2, 3, 4});
  EXPECT_EQ(writer.reduce("add", x, 0, {2, 0}, false).shape, (Shape{3}));
  EXPECT_EQ(writer.reduce("add", x, 0, {2, 0}, true).shape, (Shape{1, 3, 1}));
}

TEST(HloWriter, GatheredIndicesTakeTheAxisPlace) {
  HloWriter writer;
  const HloValue x = writer.argument(DataType::f32, {2, 5, 4}), indices = writer.argument(DataType::i64, {7, 6});
  EXPECT_EQ(writer.gather(x, indices, 1).shape, (Shape{2, 7, 6, 4}));
  EXPECT_THAT(writer.program({x}), HasSubstr("offset_dims = [0, 3], collapsed_slice_dims = [1]"));
}

}  // namespace
}  // namespace deepgap
