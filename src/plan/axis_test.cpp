#include "base/test_error.h"
#include "plan/study.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(const std::string& text) {
  const std::string line = deepgap::error_of([&] { parse_axis_values(text, "--batch"); });
  EXPECT_TRUE(line.starts_with("--batch: ")) << line;
  return line;
}

TEST(Axis, ListsAndRanges) {
  EXPECT_THAT(parse_axis_values("1,2,4", ""), ElementsAre("1", "2", "4"));
  EXPECT_THAT(parse_axis_values("1..4", ""), ElementsAre("1", "2", "3", "4"));
  EXPECT_THAT(parse_axis_values("10..50+10", ""), ElementsAre("10", "20", "30", "40", "50"));
  EXPECT_THAT(parse_axis_values("1..512*2", ""), ElementsAre("1", "2", "4", "8", "16", "32", "64", "128", "256", "512"));
  EXPECT_THAT(parse_axis_values("1..8*2,12, 16..18", ""), ElementsAre("1", "2", "4", "8", "12", "16", "17", "18"));
  EXPECT_THAT(parse_axis_values("1..100*3", ""), ElementsAre("1", "3", "9", "27", "81"));  // the end need not be met
  EXPECT_THAT(parse_axis_values("-2..1", ""), ElementsAre("-2", "-1", "0", "1"));
  EXPECT_THAT(parse_axis_values("5..5", ""), ElementsAre("5"));
  EXPECT_THAT(parse_axis_values("9223372036854775806..9223372036854775807", "").size(), 2u);
  EXPECT_THAT(parse_axis_values("4611686018427387904..9223372036854775807*2", ""), ElementsAre("4611686018427387904"));
}

TEST(Axis, AValueIsThereOnce) { EXPECT_THAT(parse_axis_values("4,1..4,2", ""), ElementsAre("4", "1", "2", "3")); }

TEST(Axis, NamesArePlain) {
  EXPECT_THAT(parse_axis_values("native, onnxruntime", ""), ElementsAre("native", "onnxruntime"));
  EXPECT_THAT(parse_axis_values("../models/x.onnx,0.5", ""), ElementsAre("../models/x.onnx", "0.5"));
  EXPECT_THAT(parse_axis_values("cuda:0+cuda:1,cpu", ""), ElementsAre("cuda:0+cuda:1", "cpu"));
  EXPECT_THAT(parse_axis_values("resnet50:width=0.5,classes=10,resnet18", ""), ElementsAre("resnet50:width=0.5,classes=10", "resnet18"));
}

TEST(Axis, Errors) {
  EXPECT_THAT(error_of(""), HasSubstr("no value"));
  EXPECT_THAT(error_of("  "), HasSubstr("no value"));
  EXPECT_THAT(error_of("1,,2"), HasSubstr("empty value"));
  EXPECT_THAT(error_of("1,"), HasSubstr("empty value"));
  EXPECT_THAT(error_of("8..1"), HasSubstr("ends before it begins"));
  EXPECT_THAT(error_of("1..8*1"), HasSubstr("does not grow"));
  EXPECT_THAT(error_of("1..8+0"), HasSubstr("does not grow"));
  EXPECT_THAT(error_of("0..8*2"), HasSubstr("begin with 1"));
  for (const char* text : {"1..", "1..x", "1..8*", "1..8*x", "1..8*2*2", "1...8"})
    EXPECT_THAT(error_of(text), HasSubstr("invalid range")) << text;
  EXPECT_THAT(error_of("1..2000000"), HasSubstr("more than 1000000 values"));
}

TEST(Target, ThroughputOrAPercentile) {
  EXPECT_EQ(parse_target("throughput"), "throughput");
  EXPECT_EQ(parse_target("99"), "p99");
  EXPECT_EQ(parse_target("p99.9"), "p99.9");
  for (const char* text : {"", "p", "0", "100", "p101", "median", "-5"}) EXPECT_EQ(parse_target(text), std::nullopt) << text;
}

}  // namespace
}  // namespace deepgap
