#include "worker/rounding_watch.h"

#include "base/test_model.h"
#include "model/eval/element_types.h"
#include "worker/run_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace deepgap {
namespace {

Tensor numbers(DataType type, const std::vector<float>& values) {
  Tensor tensor = make_tensor(DataType::f32, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), writable<float>(tensor).begin());
  return converted(tensor, type);
}

struct Step {
  std::string op;
  float with = 0;
  bool is_alone = false;  // without a second input
};

// Computes the steps on 16-bit floats, one after the other.
class StepsModel final : public TestModel {
 public:
  StepsModel(DataType type, const std::vector<Step>& steps) {
    graph_.name = "steps";
    graph_.opset = 17;
    const Dims dims{Dim{4, ""}};
    graph_.values = {{"x", type, dims}};
    graph_.inputs = {0};
    ValueId last = 0;
    for (const Step& step : steps) {
      std::vector<ValueId> inputs{last};
      if (!step.is_alone) {
        inputs.push_back(static_cast<ValueId>(graph_.values.size()));
        graph_.values.push_back({"c" + std::to_string(graph_.values.size()), type, Dims{Dim{1, ""}}});
        graph_.constants[inputs.back()] = numbers(type, {step.with});
      }
      last = static_cast<ValueId>(graph_.values.size());
      graph_.values.push_back({"v" + std::to_string(last), type, step.op == "ReduceL2" ? Dims{Dim{1, ""}} : dims});
      graph_.nodes.push_back({"n" + std::to_string(last), step.op, "", inputs, {last}, {}});
    }
    graph_.outputs = {last};
    summary_.name = "steps";
    summary_.inputs = {{"x", type, dims}};
  }
};

std::string why(DataType type, const std::vector<Step>& steps) {
  const StepsModel model(type, steps);
  const Tensor x = numbers(type, {0.31F, -0.72F, 1.13F, 0.054F});
  const std::vector<std::vector<TensorView>> queries{{x.view()}};
  return run_reference(model, 1, queries, "", [](size_t, std::span<const TensorView>) {}).overflow;
}

TEST(RoundingWatch, SaysNothingWhereRoundingIsHarmless) {
  EXPECT_EQ(why(DataType::f16, {{"Mul", 3}, {"Add", 1}, {"Div", 2}}), "");
  EXPECT_EQ(why(DataType::bf16, {{"Mul", 3}, {"Add", 1}, {"Div", 2}}), "");
}

TEST(RoundingWatch, NamesWhatOverflows) {
  EXPECT_THAT(why(DataType::f16, {{"Mul", 60000}, {"Mul", 2}, {"Div", 60000}}),
              ::testing::AllOf(::testing::HasSubstr("(Mul) makes"), ::testing::HasSubstr("ends at 65504")));
}

TEST(RoundingWatch, SeesSumsThatSwallowASummand) {
  EXPECT_THAT(why(DataType::f16, {{"Add", 3000}, {"Sub", 3000}}), ::testing::HasSubstr("leaves an SQNR of"));
  EXPECT_THAT(why(DataType::bf16, {{"Add", 300}, {"Sub", 300}}), ::testing::HasSubstr("leaves an SQNR of"));
}

TEST(RoundingWatch, SeesProductsThatVanish) {
  EXPECT_NE(why(DataType::f16, {{"Mul", 1e-5F}, {"Mul", 1e-5F}, {"Div", 1e-5F}, {"Div", 1e-5F}}), "");
}

TEST(RoundingWatch, SeesSquaresThatAnOperatorKeepsToItself) {
  EXPECT_THAT(why(DataType::f16, {{"Mul", 1000}, {"ReduceL2", 0, true}}), ::testing::HasSubstr("(ReduceL2) squares"));
}

}  // namespace
}  // namespace deepgap
