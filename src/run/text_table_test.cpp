#include "run/text_table.h"

#include "base/text.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

const std::vector<TextColumn> columns{{"point", false, {"net \u00b7 native \u00b7 batch 1", "net \u00b7 ort \u00b7 batch 16"}},
                                      {"items/s", true, {"995.5", "1990"}},
                                      {"verdict", false, {"same within 2 %", "faster"}}};

TEST(TextTable, ColumnsAreAligned) {
  EXPECT_EQ(text_table(columns),
            "point                   items/s  verdict\n"
            "net \u00b7 native \u00b7 batch 1    995.5  same within 2 %\n"
            "net \u00b7 ort \u00b7 batch 16       1990  faster\n")
      << "a character counts once, however many bytes it has";
}

TEST(TextTable, IsSqueezedUntilItFits) {
  EXPECT_EQ(fitted_table(columns, 0, {{"point"}}), text_table(columns)) << "a file is as wide as it takes";
  EXPECT_EQ(fitted_table(columns, 80, {{"point"}}), text_table(columns)) << "it fits";
  EXPECT_EQ(fitted_table(columns, 40, {{"point", 12}, {"verdict"}}),
            "point         items/s  verdict\n"
            "net \u00b7..tch 1    995.5  same within 2 %\n"
            "net \u00b7..ch 16     1990  faster\n"
            "(shortened: point; --json has all)\n");
  EXPECT_EQ(fitted_table(columns, 25, {{"no such"}, {"verdict", 8}, {"point", 12}, {"verdict"}}),
            "point         items/s\n"
            "net \u00b7..tch 1    995.5\n"
            "net \u00b7..ch 16     1990\n"
            "(left out: verdict;\n    shortened: point;\n    --json has all)\n");
  EXPECT_EQ(fitted_table({}, 80, {}), "");
}

TEST(TextTable, WhatCannotBeSqueezedIsMarked) {
  EXPECT_EQ(fitted_table({{"point", false, {"abcdefghijklmnop"}}}, 10, {}), "point\nabcdefgh..\n");
}

TEST(WrappedLines, GoOnBelowTheirIndent) {
  EXPECT_EQ(wrapped_lines("short\n", 40), "short\n");
  EXPECT_EQ(wrapped_lines("  one two three four five six seven\nnext\n", 30), "  one two three four five\n      six seven\nnext\n");
  EXPECT_EQ(wrapped_lines("  one two three four five six seven\n", 0), "  one two three four five six seven\n")
      << "a file is as wide as it takes";
}

TEST(WrappedLines, ACommandCanBeCopied) {
  EXPECT_EQ(wrapped_lines("    deepgap run net --axis 'text=two words' --check on\n", 40),
            "    deepgap run net --axis \\\n        'text=two words' --check on\n")
      << "a word in quotes stays whole, and the break has room for the mark";
}

}  // namespace
}  // namespace deepgap
