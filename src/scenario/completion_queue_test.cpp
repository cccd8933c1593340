#include "scenario/completion_queue.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

constexpr Completed of_query_0{0, 0, 1}, of_query_1{1, 0, 1};

TEST(CompletionQueue, SaysWhetherToWakeWhoTakes) {
  CompletionQueue queue;
  EXPECT_TRUE(queue.push(std::span(&of_query_0, 1), 10));
  EXPECT_EQ(queue.take().size(), 1U);
  EXPECT_TRUE(queue.wake_for_each(false));
  EXPECT_FALSE(queue.push(std::span(&of_query_0, 1), 20));
  EXPECT_EQ(queue.take().size(), 1U) << "it lay there all the same";
  EXPECT_TRUE(queue.wake_for_each(true));
  EXPECT_TRUE(queue.push(std::span(&of_query_0, 1), 30));
}

TEST(CompletionQueue, TellsWhatCameUnheardBeforeWhoTakesWaits) {
  CompletionQueue queue;
  queue.wake_for_each(false);
  queue.push(std::span(&of_query_0, 1), 10);
  queue.push(std::span(&of_query_1, 1), 20);
  EXPECT_FALSE(queue.wake_for_each(true));
  EXPECT_EQ(queue.take().size(), 2U);
  EXPECT_TRUE(queue.wake_for_each(true));
}

}  // namespace
}  // namespace deepgap
