#include "worker/dispatch_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

DispatcherLog log_of(int64_t queries, int64_t shed) {
  DispatcherLog log;
  log.instances = {{"cuda:0", 2, 10}, {"cuda:1", 1, 2}};
  log.batches = {0, 0, 2, 0, 0, 0, 0, 0, 1};  // two of 2, one of 8
  log.padding = 4;
  log.queries = queries;
  log.shed = shed;
  for (int i = 0; i < 3; ++i) log.sizes.note(i * Nanoseconds{20'000'000} + 5'000'000, i == 0 ? 8 : 2);
  log.sizes.note(Nanoseconds{1'205'000'000}, 4);  // after the last look at the queue
  for (int i = 0; i <= 60; ++i) log.depth.note(i * Nanoseconds{20'000'000}, i == 30 ? 7 : 1);
  return log;
}

TEST(DispatchRecord, TellsBatchesSharesAndTheQueue) {
  Measured record;
  keep_dispatcher_log(log_of(100, 0), record);
  EXPECT_EQ(std::get<int64_t>(record.facts.at("dispatcher.batches.2")), 2);
  EXPECT_EQ(std::get<int64_t>(record.facts.at("dispatcher.batches.8")), 1);
  EXPECT_EQ(record.facts.count("dispatcher.batches.1"), 0U);
  EXPECT_EQ(std::get<std::string>(record.facts.at("instance.1")), "cuda:1");
  EXPECT_DOUBLE_EQ(std::get<double>(record.facts.at("instance.0.share")), 10.0 / 12);
  EXPECT_DOUBLE_EQ(record.estimates.at("batch_size_mean").value, 4);
  EXPECT_DOUBLE_EQ(record.estimates.at("padding_share").value, 0.25);
  EXPECT_EQ(record.estimates.at("queue_depth_max").value, 7);
  EXPECT_DOUBLE_EQ(record.estimates.at("queue_depth_mean").value, (59 + 7) / 60.0);
  EXPECT_DOUBLE_EQ(std::get<double>(record.facts.at("dispatcher.depth_s")), 1.2);
  EXPECT_THAT(std::get<std::string>(record.facts.at("dispatcher.depth")), HasSubstr("1 7 1"));
  EXPECT_THAT(std::get<std::string>(record.facts.at("dispatcher.sizes")), AllOf(StartsWith("8 2 2 - - "), EndsWith("- 4")));
  EXPECT_EQ(queue_depth_series(log_of(1, 0)).values.size(), 61U);
}

TEST(DispatchRecord, WhatIsShedIsInvalidBeyondWhatIsAllowed) {
  DispatchOptions options;
  EXPECT_EQ(why_shed(log_of(100, 0), options), "");
  EXPECT_THAT(why_shed(log_of(100, 2), options),
              HasSubstr("2 of 100 queries (2 %) were shed (rejected because the queue is full), at most 0 % are allowed"));
  options.shed_allowed = 0.02;
  EXPECT_EQ(why_shed(log_of(100, 2), options), "");
  EXPECT_EQ(why_shed(log_of(0, 0), options), "") << "nothing was submitted";
}

}  // namespace
}  // namespace deepgap
