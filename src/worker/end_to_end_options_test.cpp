#include "worker/end_to_end_options.h"

#include "worker/stage_record.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
using Given = std::map<std::string, std::string>;

Point point_of(const Given& options, int64_t batch = 1, int threads = 2) {
  Point point;
  point.model = "resnet18";
  point.dataset = "seeded";
  point.options = options;
  point.batch = batch;
  point.threads = threads;
  return point;
}

template <typename Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "no error";
}

TEST(EndToEndOptions, WhatIsWrongIsSaid) {
  EXPECT_FALSE(end_to_end_options().parse({}).on());
  EXPECT_FALSE(end_to_end_options().parse({{"end_to_end", "off"}, {"decode_threads", "2"}}).on());
  EXPECT_EQ(end_to_end_options().parse({{"end_to_end", "overlapped"}}).mode, EndToEnd::overlapped);
  for (const char* wrong : {"0", "-1", "1025", "two"}) {
    EXPECT_THAT(refusal([&] {
                  end_to_end_options().parse({{"end_to_end", "serial"}, {"decode_threads", wrong}});
                }),
                HasSubstr("a whole number from 1 to 1024"));
  }
  EXPECT_THAT(refusal([] { end_to_end_options().parse({{"end_to_end", "pipelined"}}); }), HasSubstr("overlapped"));
}

TEST(EndToEndOptions, ThreadsAreWhatTheEngineLeavesAndLanesKeepThemBusy) {
  const EndToEndOptions serial = end_to_end_options().parse({{"end_to_end", "serial"}});
  const EndToEndOptions overlapped = end_to_end_options().parse({{"end_to_end", "overlapped"}});
  EXPECT_EQ(decode_threads(point_of({}, 1, 2), overlapped, 8), 6);
  EXPECT_EQ(decode_threads(point_of({}, 1, 8), overlapped, 8), 1);
  EXPECT_EQ(decode_threads(point_of({}), end_to_end_options().parse({{"end_to_end", "serial"}, {"decode_threads", "3"}}), 8), 3);
  DispatchOptions dispatch;
  EXPECT_EQ(pipeline_slots(point_of({}, 1), serial, dispatch, 6, 1), 1);
  EXPECT_EQ(pipeline_slots(point_of({}, 1), overlapped, dispatch, 6, 1), 8) << "one computes, one is ready, six are decoded";
  EXPECT_EQ(pipeline_slots(point_of({}, 8), overlapped, dispatch, 6, 2), 4) << "six threads share one query of eight";
  dispatch.instances = 2;
  dispatch.max_batch = 4;
  EXPECT_EQ(pipeline_slots(point_of({}, 2), overlapped, dispatch, 6, 1), 9) << "two batches of two queries are computed, one is ready";
}

TEST(StageRecord, KeepsTheMeansOfAnsweredQueries) {
  StageLog log;
  Measured record;
  keep_stage_log(log, record);
  EXPECT_TRUE(record.estimates.empty());
  for (const double decode : {4.0, 6.0}) {
    for (RatioSeries& stage : log.ms) stage.add(1, 1);
    log.ms[static_cast<size_t>(Stage::decode)].add(decode, 0);
    log.prepare_ms.add(20, 4);
  }
  keep_stage_log(log, record);
  EXPECT_DOUBLE_EQ(record.estimates.at("stage_decode_ms").value, 6);
  EXPECT_DOUBLE_EQ(record.estimates.at("stage_copy_out_ms").value, 1);
  EXPECT_DOUBLE_EQ(record.estimates.at("prepare_ms_per_item").value, 5);
  EXPECT_EQ(record.estimates.at("stage_compute_ms").n, 2);
}

}  // namespace
}  // namespace deepgap
