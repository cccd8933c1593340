#include "base/csv_text.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

TEST(CsvText, IsQuotedWhereItMust) {
  EXPECT_EQ(csv_text(""), "");
  EXPECT_EQ(csv_text("plain"), "plain");
  EXPECT_EQ(csv_text("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_text("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv_text("two\nlines"), "\"two\nlines\"");
}

TEST(CsvText, IsNoFormula) {
  EXPECT_EQ(csv_text("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
  EXPECT_EQ(csv_text("=HYPERLINK(\"x\",1)"), "\"'=HYPERLINK(\"\"x\"\",1)\"");
  for (const char* text : {"+1", "-1", "@x", "\tx"}) EXPECT_EQ(csv_text(text), "'" + std::string(text));
  EXPECT_EQ(csv_text("\r=1"), "' =1");
  EXPECT_EQ(csv_text("a=b"), "a=b");
}

TEST(CsvText, CommandsNoTerminal) {
  EXPECT_EQ(csv_text("a\x1b[31mb"), "a [31mb");
  EXPECT_EQ(csv_text("a\xc2\x9b\xe2\x80\xae"), "a  ");
  EXPECT_EQ(csv_text("a \xc2\xb7 b"), "a \xc2\xb7 b");
}

}  // namespace
}  // namespace deepgap
