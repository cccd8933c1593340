#include "base/words.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

TEST(Words, AWordStandsByItself) {
  EXPECT_TRUE(has_word("no kernel for Conv(11)", "Conv"));
  EXPECT_FALSE(has_word("no kernel for ConvTranspose", "Conv"));
  EXPECT_TRUE(has_word("ConvTranspose before Conv", "Conv"));
  EXPECT_FALSE(has_word("Conv_1", "Conv"));
  EXPECT_FALSE(has_word("Conv", ""));
}

TEST(Words, OneLineIsShortAndPrintable) {
  EXPECT_EQ(one_line("a\nb\tc"), "a b c");
  EXPECT_EQ(one_line(std::string(300, 'x')).size(), 300u);
  EXPECT_EQ(one_line(std::string(301, 'x')), std::string(300, 'x') + "...");
}

}  // namespace
}  // namespace deepgap
