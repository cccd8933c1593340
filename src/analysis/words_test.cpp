#include "analysis/words.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

TEST(Words, numbers_have_the_digits_that_mean_something) {
  EXPECT_EQ(format_significant(0.01234), "0.0123");
  EXPECT_EQ(format_significant(12.34), "12.3");
  EXPECT_EQ(format_significant(1234.5), "1234");
  EXPECT_EQ(format_significant(123456), "123,456");
  EXPECT_EQ(format_significant(0), "0");
  EXPECT_EQ(format_significant(-12345678), "-12,345,678");
  EXPECT_EQ(format_significant(1e15), "1e+15");
}

TEST(Words, an_interval_sets_the_decimals_of_its_estimate) {
  EXPECT_EQ(format_estimate({142.3456, 141.1, 143.5, 3}), "142.3");  // +-1.2
  EXPECT_EQ(format_interval(Estimate{142.3456, 141.1, 143.5, 3}), "141.1 to 143.5");
  EXPECT_EQ(format_estimate({142.3456, 100.0, 180.0, 3}), "142");          // +-40
  EXPECT_EQ(format_estimate({142.3456, 142.3455, 142.3457, 3}), "142.3");  // never more than four
  EXPECT_EQ(format_estimate({142.3456, {}, {}, 3}), "142");
  EXPECT_EQ(format_interval(Estimate{142.3456, {}, {}, 3}), "");
  EXPECT_EQ(format_estimate({0, {}, {}, 3}), "0");
}

TEST(Words, ratios_counts_lists) {
  EXPECT_EQ(format_ratio(1.2097, Interval{1.149, 1.271}), "1.21 (1.15 to 1.27)");
  EXPECT_EQ(format_ratio(0.0123), "0.012");
  EXPECT_EQ(format_percent(0.0512), "5.1 %");
  EXPECT_EQ(format_percent(0.5), "50 %");
  EXPECT_EQ(count_of(1, "point", "points"), "1 point");
  EXPECT_EQ(count_of(12345, "point", "points"), "12,345 points");
  EXPECT_EQ(list_of({}), "");
  EXPECT_EQ(list_of({"a"}), "a");
  EXPECT_EQ(list_of({"a", "b"}), "a and b");
  EXPECT_EQ(list_of({"a", "b", "c", "d"}, 2), "a, b and 2 more");
  EXPECT_EQ(format_time(1'790'000'000'000'000'000), "2026-09-21 14:13 UTC");
}

}  // namespace
}  // namespace deepgap
