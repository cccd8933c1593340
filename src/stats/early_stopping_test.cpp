#include "stats/early_stopping.h"

#include <gtest/gtest.h>

#include <cmath>

namespace deepgap {
namespace {

TEST(EarlyStopping, PublishedCounts) {
  EXPECT_EQ(early_stopping_min_within(0.9, 0), 44);
  EXPECT_EQ(early_stopping_min_within(0.9, 1), 63);
  EXPECT_EQ(early_stopping_min_within(0.9, 2), 79);
  EXPECT_EQ(early_stopping_min_within(0.99, 0), 459);
  EXPECT_EQ(early_stopping_min_within(0.99, 1), 661);
  EXPECT_EQ(early_stopping_min_within(0.99, 2), 836);
}

// With none over the bound the condition is percentile^h < 0.01.
TEST(EarlyStopping, NoneOverIsAPower) {
  for (const double percentile : {0.5, 0.8, 0.95, 0.999}) {
    EXPECT_EQ(early_stopping_min_within(percentile, 0), static_cast<int64_t>(std::ceil(std::log(0.01) / std::log(percentile))))
        << percentile;
  }
}

TEST(EarlyStopping, TheOtherSideIsABinomialTailToo) {
  EXPECT_FALSE(shown_to_be_over(0.99, 459, 0));
  EXPECT_FALSE(shown_to_be_over(0.99, 1, 1)) << "one in a hundred is late anyway";
  EXPECT_TRUE(shown_to_be_over(0.99, 2, 2)) << "both: one pair in 10,000";
  EXPECT_FALSE(shown_to_be_over(0.99, 40, 2)) << "6 % of such";
  EXPECT_TRUE(shown_to_be_over(0.99, 40, 4));
  EXPECT_FALSE(shown_to_be_over(0.5, 10, 9)) << "11 of 1024";
  EXPECT_TRUE(shown_to_be_over(0.5, 10, 10));
  for (int64_t over = 0; over < 60; ++over) {
    EXPECT_FALSE(early_stopping_met(0.99, 2000, over) && shown_to_be_over(0.99, 2000, over)) << over;
  }
}

TEST(EarlyStopping, ServerAndEstimates) {
  EXPECT_TRUE(early_stopping_met(0.99, 459, 0));
  EXPECT_FALSE(early_stopping_met(0.99, 458, 0));
  EXPECT_TRUE(early_stopping_met(0.99, 662, 1));
  EXPECT_FALSE(early_stopping_met(0.99, 661, 1));
  EXPECT_EQ(early_stopping_discards(0.9, 63), std::nullopt);
  EXPECT_EQ(early_stopping_discards(0.9, 64), 1);
  EXPECT_EQ(early_stopping_discards(0.9, 80), 1);
  EXPECT_EQ(early_stopping_discards(0.9, 81), 2);
  EXPECT_EQ(early_stopping_discards(0.99, 661), std::nullopt);
  EXPECT_EQ(early_stopping_discards(0.99, 662), 1);
  for (int64_t count = 64; count < 3000; count += 37) {
    const int64_t most = early_stopping_discards(0.9, count).value();
    EXPECT_TRUE(early_stopping_met(0.9, count, most));
    EXPECT_FALSE(early_stopping_met(0.9, count, most + 1));
  }
}

}  // namespace
}  // namespace deepgap
