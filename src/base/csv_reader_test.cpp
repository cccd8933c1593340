#include "base/csv_reader.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<CsvRow> rows_of(const std::string& text) {
  std::vector<CsvRow> rows;
  CsvReader reader(text, "a.csv");
  for (CsvRow row; reader.next(row);) rows.push_back(row);
  return rows;
}

TEST(CsvReader, CellsInQuotesHoldCommasQuotesAndLineBreaks) {
  const auto rows = rows_of(
      "\xEF\xBB\xBF"
      "a,\"b, \"\"c\"\"\nd\",\r\n\r\n\"\",e\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_THAT(rows[0].cells, ElementsAre("a", "b, \"c\"\nd", ""));
  EXPECT_EQ(rows[0].line, 1);
  EXPECT_THAT(rows[1].cells, ElementsAre("", "e"));
  EXPECT_EQ(rows[1].line, 4);
}

TEST(CsvReader, TextBehindAQuoteIsKeptAndSeen) {
  const auto rows = rows_of("\"a\"b,c\nd\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_TRUE(rows[0].is_broken);
  EXPECT_THAT(rows[0].cells, ElementsAre("ab", "c"));
  EXPECT_FALSE(rows[1].is_broken);
}

TEST(CsvReader, AQuoteThatDoesNotEndNamesItsLine) {
  try {
    rows_of("a\n\"b\nc");
    FAIL() << "nothing was refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_THAT(error.what(), HasSubstr("a.csv:2: a quote begins here and does not end"));
  }
}

}  // namespace
}  // namespace deepgap
