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
  EXPECT_EQ(one_line(std::string(299, 'x') + "\xc3\xbc" + "yy"), std::string(299, 'x') + "...") << "no half of a character";
}

TEST(Words, WhatATerminalObeysIsNotPrinted) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a [31mb");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "31mb"),
            "a 31mb")
      << "the same command as one character";
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b\xe2\x81\xa6"),
            "a b ")
      << "right to left";
  EXPECT_EQ(printable("a\xe2\x80\xa8"), "a ");
  EXPECT_EQ(printable("a\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c"
                      "b"),
            "a   b");
  EXPECT_EQ(printable("caf\xe9 \xc3\xbc \xe2\x82\xac \xe2\x80\x9c"), "caf\xe9 \xc3\xbc \xe2\x82\xac \xe2\x80\x9c")
      << "what is no UTF-8 stays";
  EXPECT_EQ(printable("a\xe2\x80\x8b\xe2\x81\xa0\xe2\x81\xa4\xef\xbb\xbf\xf3\xa0\x81\x81"
                      "b"),
            "a     b")
      << "what is not seen";
  EXPECT_EQ(printable("\xe2\x80\x8c\xe2\x80\x8d\xe2\x81\xb0\xef\xbb\xbe"), "\xe2\x80\x8c\xe2\x80\x8d\xe2\x81\xb0\xef\xbb\xbe")
      << "joiners are part of words";
  EXPECT_EQ(printable("\xc2"), "\xc2");
  EXPECT_EQ(printable("\xe2\x80"), "\xe2\x80");
}

}  // namespace
}  // namespace deepgap
