#include "model/decoder/tokenizer.h"

#include "model/decoder/text_split.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>

namespace deepgap {
namespace {

using Pieces = std::vector<std::string_view>;

TEST(TextSplit, AsGpt2Does) {
  EXPECT_EQ(split_text("gpt-2", "Hello  world, it's 1234 o'clock!\n\n x "),
            (Pieces{"Hello", " ", " world", ",", " it", "'s", " 1234", " o", "'", "clock", "!", "\n\n", " x", " "}));
  EXPECT_EQ(split_text("gpt-2", "\xc3\x9cn\xc3\xaf\x63ode \xe4\xbd\xa0\xe5\xa5\xbd"),
            (Pieces{"\xc3\x9cn\xc3\xaf\x63ode", " \xe4\xbd\xa0\xe5\xa5\xbd"}));
}

TEST(TextSplit, SmollmTakesEachDigitAlone) {
  EXPECT_EQ(split_text("smollm", "at 100 C"), (Pieces{"at", " ", "1", "0", "0", " C"}));
  EXPECT_EQ(split_text("smollm", "a  12"), (Pieces{"a", "  ", "1", "2"}));
}

TEST(TextSplit, Qwen2AndLlama3KeepSignsWithWords) {
  EXPECT_EQ(split_text("qwen2", "(Hello) I'M 12\r\n\r\n  next"),
            (Pieces{"(Hello", ")", " I", "'M", " ", "1", "2", "\r\n\r\n", " ", " next"}));
  EXPECT_EQ(split_text("llama-bpe", "1234567 x\n"), (Pieces{"123", "456", "7", " x", "\n"}));
  EXPECT_EQ(split_text("llama-bpe", "a;\n\nb"), (Pieces{"a", ";\n\n", "b"}));
}

TEST(TextSplit, NothingIsLost) {
  const std::string text = "\xff\xfe broken \xe4\xbd UTF-8\t\n 3\xcc\x81 'll ''";
  for (const std::string& name : text_split_names()) {
    std::string all;
    for (const std::string_view piece : split_text(name, text)) all += piece;
    EXPECT_EQ(all, text) << name;
  }
  EXPECT_THROW(split_text("other", "x"), Error);
}

// Bytes a to e, three merges of them, and a control token.
TokenizerData small_vocabulary() {
  TokenizerData data;
  data.model = "gpt2";
  data.split = "gpt-2";
  data.tokens = {"a",
                 "b",
                 "c",
                 "\xc4\xa0",
                 "ab",
                 "abc",
                 "\xc4\xa0"
                 "ab",
                 "<|end|>",
                 "bc"};
  data.kinds = {1, 1, 1, 1, 1, 1, 1, 3, 1};
  data.merges = {"b c", "a b", "ab c", "\xc4\xa0 ab"};
  return data;
}

TEST(Tokenizer, MergesInTheOrderOfTheList) {
  const auto tokenizer = make_file_tokenizer(small_vocabulary());
  EXPECT_EQ(tokenizer->encode("ab ab"), (std::vector<int64_t>{4, 6}));
  EXPECT_EQ(tokenizer->encode("abc"), (std::vector<int64_t>{0, 8})) << "'b c' comes before 'a b'";
  EXPECT_EQ(tokenizer->encode("a<|end|>b"), (std::vector<int64_t>{0, 7, 1}));
  EXPECT_EQ(tokenizer->encode(""), std::vector<int64_t>());
  EXPECT_EQ(tokenizer->decode(std::vector<int64_t>{4, 6, 7, 99}), "ab ab<|end|>");
}

TEST(Tokenizer, WordsHaveMadeUpTokens) {
  const auto tokenizer = make_word_tokenizer(100);
  const auto ids = tokenizer->encode("  one two\none ");
  ASSERT_EQ(ids.size(), 3U);
  EXPECT_EQ(ids[0], ids[2]);
  for (const int64_t id : ids) EXPECT_LT(id, 100);
}

TEST(Tokenizer, WhatIsNotSupportedIsRefusedWithAdvice) {
  TokenizerData data = small_vocabulary();
  data.model = "llama";
  try {
    make_file_tokenizer(data);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("tokenizer=words"));
  }
  data = small_vocabulary();
  data.split = "default";
  EXPECT_THROW(make_file_tokenizer(data), Error);
}

TEST(Tokenizer, ConversationsAreChatMl) {
  TokenizerData data;
  EXPECT_THROW(conversation_text(data, "[]"), Error);
  data.chat_template = "{{ '<|im_start|>system\nBe good<|im_end|>\n' }}{{ '<|im_start|>' }}";
  EXPECT_EQ(conversation_text(data, R"([{"role":"user","content":"Hi \"you\""}])"),
            "<|im_start|>system\nBe good<|im_end|>\n<|im_start|>user\nHi \"you\"<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(conversation_text(data, R"([{"role":"system","content":"S"}])"), "<|im_start|>system\nS<|im_end|>\n<|im_start|>assistant\n");
}

}  // namespace
}  // namespace deepgap
