#include "base/option_values.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap {
namespace {

std::string complaint(const OptionInfo& option, const std::string& value) {
  try {
    check_option("e", option, value);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "";
}

TEST(OptionValues, EachKindTakesItsOwn) {
  const OptionInfo text{"t", "", ""}, choice{"c", "", "", false, OptionKind::choice, {"fast", "plain"}},
      count{"n", "", "", false, OptionKind::count, {"auto"}, 1, 8}, number{"x", "", "", false, OptionKind::number},
      duration{"d", "", "", false, OptionKind::duration};
  EXPECT_EQ(complaint(text, "whatever"), "");
  EXPECT_EQ(complaint(choice, "plain"), "");
  EXPECT_EQ(complaint(choice, "fats"), "e: invalid value 'fats' for c: expected fast or plain; did you mean 'fast'?");
  EXPECT_EQ(complaint(choice, "other"), "e: invalid value 'other' for c: expected fast or plain");
  for (const char* value : {"auto", "1", "8"}) EXPECT_EQ(complaint(count, value), "") << value;
  for (const char* value : {"0", "9", "2.5", "", "x"})
    EXPECT_EQ(complaint(count, value), std::string("e: invalid value '") + value + "' for n: expected auto or a whole number from 1 to 8");
  EXPECT_EQ(complaint(number, "-2.5e3"), "");
  EXPECT_EQ(complaint(number, "much"), "e: invalid value 'much' for x: expected a number");
  EXPECT_EQ(complaint(duration, "2ms"), "");
  EXPECT_EQ(complaint(duration, "2"), "e: invalid value '2' for d: expected a time such as 1ms");
}

TEST(OptionValues, AreListedInWords) {
  EXPECT_EQ(allowed_values({"t", "", ""}), "");
  EXPECT_EQ(allowed_values({"c", "", "", false, OptionKind::choice, {"a", "b", "c"}}), "a, b or c");
  EXPECT_EQ(allowed_values({"n", "", "", false, OptionKind::count, {}, 0}), "a whole number from 0");
}

TEST(OptionValues, WhatIsNotDeclaredIsNamed) {
  EXPECT_THROW(check_options("e", {{"path", "", ""}}, {{"pth", "x"}}), Error);
  EXPECT_NO_THROW(check_options("e", {{"path", "", ""}}, {{"path", "x"}}));
}

}  // namespace
}  // namespace deepgap
