#include "base/messages.h"

#include "base/test_error.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace deepgap {
namespace {

TEST(InvalidValue, NamesValuePlaceAndWhatIsExpected) {
  EXPECT_EQ(invalid_value("soon", "--duration", "a time such as 8s"), "invalid value 'soon' for --duration: expected a time such as 8s");
}

TEST(InvalidChoice, NamesTheChoicesAndTheNearestOne) {
  const std::vector<std::string> choices{"fp32", "fp16", "int8"};
  EXPECT_EQ(invalid_choice("fp17", "--precision", choices),
            "invalid value 'fp17' for --precision: expected fp32, fp16 or int8; did you mean 'fp16'?");
  EXPECT_EQ(invalid_choice("half", "--precision", choices), "invalid value 'half' for --precision: expected fp32, fp16 or int8");
  EXPECT_EQ(invalid_choice("sed", "dataset", {"zeros"}, "a path"), "invalid value 'sed' for dataset: expected zeros or a path");
  EXPECT_EQ(did_you_mean("3", {"2", "4"}), "") << "a number is not a slip of the hand";
}

TEST(CheckedFraction, TakesPercentagesAndFractions) {
  EXPECT_DOUBLE_EQ(checked_fraction("5%", "--margin", "2%"), 0.05);
  EXPECT_DOUBLE_EQ(checked_fraction("0.05", "--margin", "2%"), 0.05);
  EXPECT_DOUBLE_EQ(checked_fraction("0", "--margin", "2%"), 0);
}

std::string complaint(const char* text) {
  return error_of([&] { checked_positive_fraction(text, "--interval", "1%"); });
}

TEST(CheckedFraction, ABareNumberIsProbablyAPercentage) {
  EXPECT_EQ(complaint("5"),
            "invalid value '5' for --interval: expected a percentage or fraction below 100 %, such as 1% or 0.01; did you mean 5%?");
  EXPECT_EQ(complaint("1"),
            "invalid value '1' for --interval: expected a percentage or fraction below 100 %, such as 1% or 0.01; did you mean 1%?");
}

TEST(CheckedFraction, RefusesWhatCannotBeMeant) {
  for (const char* text : {"100%", "500", "250%"})
    EXPECT_EQ(complaint(text),
              fmt::format("invalid value '{}' for --interval: expected a percentage or fraction below 100 %, such as 1% or 0.01", text));
  for (const char* text : {"", "x", "5 percent", "nan", "inf", "1e999"})
    EXPECT_THAT(complaint(text), testing::HasSubstr("expected a percentage or fraction, such as 1% or 0.01")) << text;
  for (const char* text : {"0", "0%", "-1%"}) EXPECT_THAT(complaint(text), testing::HasSubstr("above 0 %")) << text;
}

}  // namespace
}  // namespace deepgap
