#include "base/common_words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace deepgap {
namespace {

TEST(CommonWords, AreDifferent) {
  std::set<std::string> words;
  for (size_t i = 0; i < common_word_count; ++i) words.insert(common_word(i));
  EXPECT_EQ(words.size(), common_word_count);
}

TEST(CommonWords, UniqueTextsOfASeedDifferAndBeginDifferently) {
  std::set<std::string> texts;
  int same_beginning = 0;
  std::string before;
  for (uint64_t number = 0; number < 20'000; ++number) {
    const std::string text = unique_text(3, number);
    EXPECT_EQ(std::count(text.begin(), text.end(), ' '), unique_words);
    texts.insert(text);
    const std::string beginning = text.substr(0, text.find(' ', 1));
    same_beginning += beginning == before ? 1 : 0;
    before = beginning;
  }
  EXPECT_EQ(texts.size(), 20'000U);
  EXPECT_LT(same_beginning, 400) << "else requests after each other would share a prefix";
  EXPECT_NE(unique_text(1, 0), unique_text(2, 0));
}

}  // namespace
}  // namespace deepgap
