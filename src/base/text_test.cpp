#include "base/text.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

TEST(Text, NearestNameForgivesASlip) {
  const std::vector<std::string> names{"resnet18", "resnet50", "mobilenet_v2"};
  EXPECT_EQ(nearest_name("resnet5", names), "resnet50");
  EXPECT_EQ(nearest_name("mobilenetv2", names), "mobilenet_v2");
  EXPECT_EQ(nearest_name("resnte50", names), "resnet50");
  EXPECT_EQ(nearest_name("btach", {"batch", "backend"}), "batch");
  EXPECT_EQ(nearest_name("in_flite", {"isa", "in_flight"}), "in_flight");
  EXPECT_EQ(nearest_name("bert", names), std::nullopt);
  EXPECT_EQ(unknown_name("model", "bert", names), "unknown model 'bert'; known: resnet18, resnet50, mobilenet_v2");
}

TEST(Text, DurationsNeedAUnit) {
  EXPECT_EQ(parse_duration("500ms"), 500'000'000);
  EXPECT_EQ(parse_duration("1.5s"), 1'500'000'000);
  EXPECT_EQ(parse_duration("2m"), 120'000'000'000);
  EXPECT_EQ(parse_duration("5min"), 300'000'000'000);
  EXPECT_EQ(parse_duration("5"), std::nullopt);
  EXPECT_EQ(parse_duration("-1s"), std::nullopt);
  EXPECT_EQ(parse_duration("1e3s"), std::nullopt);
  EXPECT_EQ(parse_duration("99999999999h"), std::nullopt);
  EXPECT_EQ(parse_duration("s"), std::nullopt);
}

TEST(Text, NumbersAreWhole) {
  EXPECT_EQ(parse_int("12"), 12);
  EXPECT_EQ(parse_int("12x"), std::nullopt);
  EXPECT_EQ(parse_int(""), std::nullopt);
  EXPECT_EQ(parse_double("nan"), std::nullopt);
  EXPECT_EQ(parse_double("inf"), std::nullopt);
  EXPECT_DOUBLE_EQ(parse_fraction("1%").value(), 0.01);
  EXPECT_DOUBLE_EQ(parse_fraction("0.05").value(), 0.05);
}

TEST(Text, SplitAndTrim) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
  EXPECT_EQ(trim("  a b\n"), "a b");
}

}  // namespace
}  // namespace deepgap
