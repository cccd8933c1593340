#include "base/byte_text.h"

#include <gtest/gtest.h>

#include <random>

namespace deepgap {
namespace {

bool is_utf8(const std::string& text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

TEST(ByteText, what_is_utf8_stays_as_it_is) {
  for (const std::string text : {"", "resnet50", "caf\xC3\xA9.onnx", "\xF0\x9F\x98\x80"}) EXPECT_EQ(as_utf8(text), text);
}

TEST(ByteText, other_bytes_become_characters_and_come_back) {
  EXPECT_EQ(as_utf8("caf\xE9.onnx"), "caf\xEF\x9F\xA9.onnx");
  EXPECT_EQ(of_utf8("caf\xEF\x9F\xA9.onnx"), "caf\xE9.onnx");
  const std::string ours = "\xEF\x9E\x80";  // a file may be named by such a character too
  EXPECT_NE(as_utf8(ours), ours);
  EXPECT_EQ(of_utf8(as_utf8(ours)), ours);
}

TEST(ByteText, any_bytes_come_back) {
  std::mt19937 random(3);
  const std::string likely =
      "\xEF\x9E\x9F\x80\xBF\xC0\xE9\xED\xF0\xF4\xFF"
      "a";
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes;
    for (size_t left = random() % 8; left > 0; --left) bytes += likely[random() % likely.size()];
    const std::string text = as_utf8(bytes);
    ASSERT_TRUE(is_utf8(text));
    ASSERT_EQ(of_utf8(text), bytes);
  }
}

}  // namespace
}  // namespace deepgap
