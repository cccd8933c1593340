#include "worker/accuracy.h"
#include "worker/classes.h"

#include <gmock/gmock.h>

namespace deepgap {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Tensor floats(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor = make_tensor(DataType::f32, shape);
  std::copy(values.begin(), values.end(), writable<float>(tensor).begin());
  return tensor;
}

TEST(BestClasses, AreOfTheScoresOfARow) {
  const Tensor scores = floats({2, 4}, {1, 2, 3, 4, 7, 5, 7, 6});
  const TensorView view = scores.view();
  EXPECT_THAT(best_classes(std::span(&view, 1), 0, 5), ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(best_classes(std::span(&view, 1), 1, 3), ElementsAre(0, 2, 3)) << "of equal scores the lower class goes first";
  const Tensor wide = floats({2, 4, 1, 1}, {1, 2, 3, 4, 7, 5, 7, 6});
  const TensorView wide_view = wide.view();
  EXPECT_THAT(best_classes(std::span(&wide_view, 1), 1, 1), ElementsAre(0));
}

TEST(BestClasses, AreTheLabelWhereNothingElseIsAnswered) {
  Tensor label = make_tensor(DataType::i64, {3});
  writable<int64_t>(label)[2] = 42;
  const Tensor scores = floats({3, 2}, {0, 1, 0, 1, 1, 0});
  const std::vector<TensorView> both{label.view(), scores.view()};
  EXPECT_THAT(best_classes(std::span(both).first(1), 2, 5), ElementsAre(42));
  EXPECT_THAT(best_classes(both, 2, 5), ElementsAre(0, 1)) << "scores tell more";
}

TEST(BestClasses, AreNotADetectors) {
  const Tensor boxes = floats({1, 2, 4}, std::vector<float>(8)), scores = floats({1, 2}, {0.9F, 0.1F});
  const std::vector<TensorView> outputs{boxes.view(), scores.view()};
  EXPECT_THAT(best_classes(outputs, 0, 5), IsEmpty());
}

TEST(ClassCount, IsOfTheFirstScores) {
  const Dim batch{1, batch_symbol};
  const TensorInfo scores{"scores", DataType::f32, Dims{batch, {1000, ""}}}, boxes{"boxes", DataType::f32, Dims{batch, {8, ""}, {4, ""}}};
  const TensorInfo label{"label", DataType::i64, Dims{batch}}, unknown{"y", DataType::f32, std::nullopt};
  EXPECT_EQ(class_count(std::vector{scores}), 1000);
  EXPECT_EQ(class_count(std::vector{label, scores}), 1000);
  EXPECT_EQ(class_count(std::vector{label}), 0);
  EXPECT_EQ(class_count(std::vector{unknown}), 0);
  EXPECT_EQ(class_count(std::vector{boxes, scores}), std::nullopt);
}

TEST(AccuracyCount, CountsTheFirstAndTheFirstFive) {
  AccuracyCount count;
  const std::vector<int64_t> ranked{4, 2, 0, 9, 7};
  for (const int64_t label : {4, 4, 9, 1}) count.add(ranked, label);
  const auto estimates = count.estimates();
  EXPECT_EQ(estimates.at("accuracy_top1").value, 0.5);
  EXPECT_EQ(estimates.at("accuracy_top5").value, 0.75);
  EXPECT_EQ(estimates.at("accuracy_top1").n, 4);
  EXPECT_NEAR(*estimates.at("accuracy_top1").low, 0.1500, 5e-5);
  EXPECT_NEAR(*estimates.at("accuracy_top1").high, 0.8500, 5e-5);
  AccuracyCount few;
  few.add(std::vector<int64_t>{1, 0}, 0);
  EXPECT_FALSE(few.estimates().contains("accuracy_top5")) << "of two classes both are among the five best";
  EXPECT_THAT(AccuracyCount().estimates(), IsEmpty());
}

}  // namespace
}  // namespace deepgap
