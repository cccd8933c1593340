#include "analysis/finding_rig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// A decoder that works all the time, and a network that does not.
std::map<std::string, double> decoding_for(double threads, double network) {
  return {{"stage_decode_share", 0.61},
          {"stage_preprocess_share", 0.2},
          {"stage_compute_share", 0.18},
          {"decode_busy_share", threads},
          {"marked_share", network}};
}

TEST(Findings, end_to_end_says_what_sets_the_pace) {
  ResultsCollector collector;
  add(collector, {.batch = 8, .throughputs = {99, 100, 101}});
  EXPECT_THAT(find("end_to_end", collector), SizeIs(0));
  add(collector, {.batch = 8, .throughputs = {19.9, 20, 20.1}, .metrics = decoding_for(0.5, 0.2), .options = {{"end_to_end", "serial"}}});
  add(collector,
      {.batch = 8, .throughputs = {35.9, 36, 36.1}, .metrics = decoding_for(0.98, 0.36), .options = {{"end_to_end", "overlapped"}}});
  auto said = find("end_to_end", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("end_to_end=overlapped, batch 8: 36.00 items/s end to end, 36 % of the network alone"));
  EXPECT_THAT(said[0].detail, HasSubstr("The network alone does 100"));
  EXPECT_THAT(said[0].detail, HasSubstr("spends 61 % of its time decoding, 20 % resizing and 18 % in the network"));
  EXPECT_THAT(said[0].detail, HasSubstr("Overlapped, the throughput is 1.80x"));
  EXPECT_THAT(said[0].detail, HasSubstr("worked for 98 % of the window, the network for 36 %: decoding sets the pace"));
  EXPECT_THAT(said[0].points, SizeIs(3));
  add(collector, {.batch = 8,
                  .throughputs = {90, 91, 92},
                  .metrics = decoding_for(0.5, 0.95),
                  .options = {{"end_to_end", "overlapped"}, {"decode_threads", "4"}}});
  said = find("end_to_end", collector);
  ASSERT_THAT(said, SizeIs(1)) << "threads are compared too";
  EXPECT_THAT(said[0].detail, HasSubstr("the network sets the pace."));
}

TEST(Findings, end_to_end_says_when_the_network_is_slower_than_alone) {
  ResultsCollector collector;
  add(collector, {.throughputs = {99, 100, 101}, .metrics = {{"compute_ms", 10}}});
  auto metrics = decoding_for(0.7, 0.96);
  metrics["compute_ms"] = 13;
  add(collector, {.throughputs = {74, 75, 76}, .metrics = metrics, .options = {{"end_to_end", "overlapped"}}});
  const auto said = find("end_to_end", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].detail, HasSubstr("the network sets the pace, slower than alone: they share the CPUs."));
  EXPECT_THAT(said[0].detail, Not(HasSubstr("One stage after the other"))) << "was not measured";
}

}  // namespace
}  // namespace deepgap
