#include "scenario/waiting_queries.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace deepgap {
namespace {

struct Rig {
  explicit Rig(int classes = 1) : waiting(classes) {}
  void push(uint64_t id, const std::vector<uint32_t>& samples, Nanoseconds now, int priority = 0) {
    waiting.push({id, 0, samples, priority}, now);
  }
  // "7[0,2)" for each part, and the samples.
  std::string cut(int64_t count) {
    std::vector<QueryPart> parts;
    std::vector<uint32_t> samples;
    waiting.cut(count, parts, samples);
    std::string text;
    for (const QueryPart& p : parts) {
      text += fmt::format("{}[{},{}) ", p.query, p.first, p.first + p.count);
    }
    for (const uint32_t sample : samples) text += fmt::format(" {}", sample);
    return text;
  }
  WaitingQueries waiting;
};

TEST(WaitingQueries, AQueryIsCutWhereABatchEnds) {
  Rig rig;
  rig.push(7, {10, 11, 12}, 5);
  rig.push(8, {20}, 6);
  EXPECT_EQ(rig.waiting.oldest(), 5);
  EXPECT_EQ(rig.cut(2), "7[0,2)  10 11");
  EXPECT_EQ(rig.waiting.queries(), 2) << "the first has begun and waits still";
  EXPECT_EQ(rig.cut(2), "7[2,3) 8[0,1)  12 20");
  EXPECT_EQ(rig.waiting.queries(), 0);
  EXPECT_EQ(rig.waiting.samples(), 0);
  EXPECT_EQ(rig.waiting.oldest(), never);
}

TEST(WaitingQueries, UrgentClassesGoFirstAndOrderHoldsWithinOne) {
  Rig rig(2);
  rig.push(1, {1}, 1, 1);
  rig.push(2, {2}, 2, 0);
  rig.push(3, {3}, 3, 1);
  rig.push(4, {4}, 4, 0);
  EXPECT_EQ(rig.waiting.oldest(), 1);
  EXPECT_EQ(rig.cut(4), "2[0,1) 4[0,1) 1[0,1) 3[0,1)  2 4 1 3");
  rig.push(5, {5}, 5, 9);  // beyond the last class: the last
  EXPECT_EQ(rig.cut(1), "5[0,1)  5");
}

TEST(WaitingQueries, TheVictimIsOfTheLeastUrgentClass) {
  Rig rig(3);
  rig.push(1, {1}, 1, 1);
  rig.push(2, {2}, 2, 1);
  rig.push(3, {3}, 3, 0);
  EXPECT_FALSE(rig.waiting.make_room(2, Shedding::drop_oldest)) << "the new one is less urgent than all";
  EXPECT_FALSE(rig.waiting.make_room(1, Shedding::reject_newest)) << "the new one is the newest of its class";
  EXPECT_EQ(rig.waiting.make_room(0, Shedding::reject_newest)->query, 2U);
  rig.push(4, {4}, 4, 1);
  EXPECT_EQ(rig.waiting.make_room(1, Shedding::drop_oldest)->query, 1U);
  EXPECT_EQ(rig.cut(2), "3[0,1) 4[0,1)  3 4");
}

TEST(WaitingQueries, WhatHasBegunIsNotShed) {
  Rig rig;
  rig.push(1, {1, 2}, 1);
  rig.cut(1);
  EXPECT_FALSE(rig.waiting.make_room(0, Shedding::drop_oldest));
  rig.push(2, {3, 4}, 2);
  rig.push(3, {5}, 3);
  EXPECT_EQ(rig.waiting.make_room(0, Shedding::drop_oldest)->query, 2U);
  EXPECT_EQ(rig.cut(2), "1[1,2) 3[0,1)  2 5");
}

TEST(WaitingQueries, PopTellsWhatIsLeft) {
  Rig rig;
  rig.push(1, {1, 2, 3}, 1);
  rig.cut(1);
  const auto left = rig.waiting.pop();
  ASSERT_TRUE(left);
  EXPECT_EQ(left->first, 1U);
  EXPECT_EQ(left->count, 2U);
  EXPECT_FALSE(rig.waiting.pop());
}

// Whatever is pushed, cut, shed and popped: every sample leaves exactly once, under its own query and place.
TEST(WaitingQueries, NothingIsLostOrDoubled) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Rig rig(3);
    std::map<uint64_t, uint32_t> size, seen;  // samples of a query, and how many have left
    const auto leave = [&](const QueryPart& part) {
      ASSERT_EQ(part.first, seen[part.query]) << "a query's samples leave in order";
      seen[part.query] += part.count;
    };
    for (uint64_t step = 0; step < 200; ++step) {
      const auto action = random() % 4;
      if (action < 2) {
        size[step] = 1 + random() % 5;
        std::vector<uint32_t> samples;
        for (uint32_t i = 0; i < size[step]; ++i) samples.push_back(static_cast<uint32_t>(step) * 10 + i);
        rig.push(step, samples, static_cast<Nanoseconds>(step), static_cast<int>(random() % 3));
      } else if (action == 2) {
        const auto gone =
            rig.waiting.make_room(static_cast<int>(random() % 3), random() % 2 == 0 ? Shedding::reject_newest : Shedding::drop_oldest);
        if (gone) leave(*gone);
      } else {
        std::vector<QueryPart> parts;
        std::vector<uint32_t> samples;
        rig.waiting.cut(std::min<int64_t>(random() % 8, rig.waiting.samples()), parts, samples);
        size_t at = 0;
        for (const QueryPart& part : parts) {
          for (uint32_t i = 0; i < part.count; ++i) ASSERT_EQ(samples[at++], part.query * 10 + part.first + i);
          leave(part);
        }
        ASSERT_EQ(at, samples.size());
      }
    }
    while (const auto left = rig.waiting.pop()) leave(*left);
    EXPECT_EQ(seen, size);
    EXPECT_EQ(rig.waiting.samples(), 0);
  }
}

}  // namespace
}  // namespace deepgap
