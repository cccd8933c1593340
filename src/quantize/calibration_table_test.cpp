#include "quantize/calibration_table.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap {
namespace {

CalibrationTable example() {
  return {"0123abcd", "resnet18", "percentile 99.99", "seeded, seed 2, 4 samples", {{"relu 1", {0, 5.25F}}, {"x", {-1e-3F, 2.5e7F}}}};
}

std::string refusal(const std::string& text) {
  try {
    parse_table(text, "t.table");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "taken";
}

TEST(CalibrationTable, ComesBackToTheLastBit) {
  CalibrationTable table = example();
  table.ranges["third"] = {-0.1F, 1.0F / 3};
  EXPECT_EQ(parse_table(table_text(table), "t"), table);
}

std::string with_line(const std::string& from, const std::string& to) {
  std::string text = table_text(example());
  return text.replace(text.find(from), from.size(), to);
}

TEST(CalibrationTable, WhatIsWrongIsSaidByLine) {
  const std::string last = "-0.00100000005 25000000 x";
  EXPECT_EQ(refusal(""), "t.table is not a calibration table: its first line is not 'deepgap calibration table 1'");
  EXPECT_EQ(refusal(with_line("table 1", "table 2")), refusal(""));
  EXPECT_EQ(refusal(with_line("method ", "methods ")), "t.table, line 4: 'method' was expected");
  EXPECT_EQ(refusal(with_line(last, "nan 1 x")), "t.table, line 8: 'nan' is not a finite number");
  EXPECT_EQ(refusal(with_line(last, "0 inf x")), "t.table, line 8: 'inf' is not a finite number");
  EXPECT_EQ(refusal(with_line(last, "0 1e39 x")), "t.table, line 8: '1e39' is not a finite number");
  EXPECT_EQ(refusal(with_line(last, "1 2 x")), "t.table, line 8: the range does not hold 0");
  EXPECT_EQ(refusal(with_line(last, "1")), "t.table, line 8: not LOW HIGH NAME");
  EXPECT_EQ(refusal(with_line(last, "0 1 relu 1")), "t.table, line 8: 'relu 1' stands there twice");
  EXPECT_EQ(refusal(with_line(last + "\n", "")), "t.table has 1 ranges and says 2: it is cut off");
}

}  // namespace
}  // namespace deepgap
