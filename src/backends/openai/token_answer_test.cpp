#include "backends/openai/token_answer.h"

#include "backends/openai/scripted_generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace deepgap {
namespace {

std::vector<uint32_t> counts_of(const TokenAnswer& answer) {
  std::vector<uint32_t> counts;
  for (const Mark& mark : answer.marks()) counts.push_back(mark.count);
  return counts;
}

std::string counting(const std::string& text, int count) {
  return event(R"({"choices":[{"text":")" + text + R"("}],"usage":{"prompt_tokens":1,"completion_tokens":)" + std::to_string(count) + "}}");
}

TEST(TokenAnswer, TakesAStreamInPiecesOfAnySize) {
  const std::string stream = ": a comment\r\n\r\n" + usual_stream();
  for (const size_t size : {1U, 2U, 7U, 1000U}) {
    TokenAnswer answer;
    for (size_t at = 0; at < stream.size(); at += size) EXPECT_TRUE(answer.take(std::string_view(stream).substr(at, size), 5));
    EXPECT_EQ(answer.finish(5), "") << size;
    EXPECT_EQ(answer.text(), "abc");
    EXPECT_EQ(answer.counts().output, 3);
  }
}

TEST(TokenAnswer, ServerThatCountsInEachChunkSaysHowManyTokensItHolds) {
  TokenAnswer answer;
  answer.take(counting("a", 1) + counting("bcd", 4), 1);
  answer.take(counting("", 5) + counting("e", 6) + stop_event("length") + done_event(), 2);
  EXPECT_EQ(answer.finish(3), "");
  EXPECT_THAT(counts_of(answer), testing::ElementsAre(1, 3, 2)) << "a token without text comes with the next text";
  EXPECT_FALSE(answer.counts().split);
}

TEST(TokenAnswer, TokensOfAServerThatCountsAtTheEndAreSpreadAndSaidToBe) {
  TokenAnswer answer;
  answer.take(text_event("ab") + text_event("abcdef") + stop_event("stop") + usage_event(1, 10) + done_event(), 1);
  EXPECT_EQ(answer.finish(1), "");
  EXPECT_TRUE(answer.counts().split);
  EXPECT_THAT(counts_of(answer), testing::ElementsAre(3, 7));
}

TEST(TokenAnswer, AnEndOfTextThatIsCountedIsNotSpread) {
  TokenAnswer answer;
  answer.take(text_event("a") + text_event("b") + stop_event("stop") + usage_event(1, 3) + done_event(), 1);
  EXPECT_EQ(answer.finish(1), "");
  EXPECT_FALSE(answer.counts().split);
  EXPECT_THAT(counts_of(answer), testing::ElementsAre(1, 1));
}

TEST(TokenAnswer, AStreamThatIgnoresTheLimitIsEnded) {
  TokenAnswer answer;
  answer.begin(4);
  int taken = 0;
  while (taken < 1000 && answer.take(text_event("a"), taken)) ++taken;
  EXPECT_EQ(taken, 4 * 4 + 64);
  EXPECT_THAT(answer.finish(5), testing::HasSubstr("the stream goes on after 81 tokens; deepgap requested 4"));
  answer.begin(0);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(answer.take(text_event("a"), i)) << "any number was asked for";
}

TEST(TokenAnswer, CountsBeyondAllSenseAreAFault) {
  for (const std::string number : {"1000000001", "9223372036854775807", "18446744073709551615"}) {
    TokenAnswer answer;
    answer.take(text_event("a"), 1);
    answer.take(event(R"({"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":)" + number + "}}") + done_event(), 1);
    EXPECT_THAT(answer.finish(1), testing::HasSubstr("more than 1000000000 tokens")) << number;
  }
}

TEST(TokenAnswer, AnAnswerWithoutEndIsNotKept) {
  const std::string part = text_event(std::string(15'000'000, 'a'));
  TokenAnswer answer;
  answer.begin(100);
  int taken = 0;
  while (taken < 10 && answer.take(part, taken)) ++taken;
  EXPECT_EQ(taken, 4);
  EXPECT_THAT(answer.finish(1), testing::HasSubstr("larger than 64 MB"));
}

TEST(TokenAnswer, AnErrorNestedWithoutEndIsOneLine) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  TokenAnswer answer;
  EXPECT_FALSE(answer.take(event(R"({"error":)" + deep + "}"), 1));
  EXPECT_THAT(answer.finish(1), testing::HasSubstr("not a JSON object"));
}

}  // namespace
}  // namespace deepgap
