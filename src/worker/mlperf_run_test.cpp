#include "worker/mlperf_run.h"
#include "worker/mlperf_driver.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace deepgap {
namespace {

TensorView view_of(const std::vector<float>& values, const Shape& shape) {
  return {DataType::f32, shape, reinterpret_cast<const std::byte*>(values.data())};
}

TEST(MlperfAnswer, OfAClassifierIsTheBestClassAsAFloat) {
  const std::vector<float> scores{0, 1, 0.5F, 9, 2, 8};
  const Shape shape{2, 3};
  const TensorView view = view_of(scores, shape);
  const auto answer = [&](size_t row) {
    const std::string bytes = mlperf_answer(std::span(&view, 1), row);
    float value = -1;
    EXPECT_EQ(bytes.size(), sizeof(value));
    std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
  };
  EXPECT_EQ(answer(0), 1.0F);
  EXPECT_EQ(answer(1), 0.0F);
}

TEST(MlperfAnswer, OfOtherModelsIsTheOutputItself) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6, 7, 8};
  const Shape shape{2, 2, 2};
  const TensorView view = view_of(values, shape);
  const std::string bytes = mlperf_answer(std::span(&view, 1), 1);
  ASSERT_EQ(bytes.size(), 16U);
  EXPECT_EQ(std::memcmp(bytes.data(), values.data() + 4, 16), 0);
  EXPECT_EQ(mlperf_answer({}, 0), "");
}

TEST(MlperfPoint, OptionsAreLookedAtBeforeAnythingRuns) {
  Point point;
  point.model = "resnet50";
  point.scenario = "server";
  check_mlperf(point);
  EXPECT_FALSE(is_mlperf(point));
  EXPECT_EQ(mlperf_library_size(point), 0U);
  EXPECT_EQ(mlperf_seconds(point), 0);
  point.options = {{"mlperf", "v6.0"}, {"rate", "50"}};
  check_mlperf(point);
  EXPECT_EQ(mlperf_library_size(point), 50000U);
  EXPECT_EQ(mlperf_seconds(point), 600);
  EXPECT_EQ(scenario_of(point)->name(), "batch");  // what warms up
  for (const auto& [name, value] : {std::pair("mlperf_target_qps", "60"), std::pair("mlperf_mode", "x")}) {
    Point wrong = point;
    wrong.options[name] = value;
    EXPECT_THROW(check_mlperf(wrong), Error) << name;
  }
}

}  // namespace
}  // namespace deepgap
