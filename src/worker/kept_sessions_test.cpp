// Orders of one process whose Sessions would be the same: the native engine on a tiny network, in real time.
#include "worker/kept_sessions.h"

#include "worker/measure.h"
#include "worker/provide_reference.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

namespace deepgap {
namespace {

struct NoTurns final : Turns {
  nlohmann::json meet(const nlohmann::json& /*payload*/) override { return {}; }
  void take_turns(const nlohmann::json& /*ready*/, const std::function<Frame(const nlohmann::json&)>& /*take*/) override {}
};

class KeptSessionsTest : public ::testing::Test {
 protected:
  KeptSessionsTest() { std::filesystem::remove_all(cache_); }
  ~KeptSessionsTest() override { std::filesystem::remove_all(cache_); }

  WorkOrder order_of(const std::string& rate, int64_t batch = 1) const {
    WorkOrder order;
    order.point.model = "mobilenet_v1:width=0.125,classes=10,image=32";
    order.point.backend = "native";
    order.point.threads = 1;
    order.point.batch = batch;
    order.point.scenario = "constant";
    order.point.options = {{"rate", rate}, {"telemetry_period", "1h"}};
    order.stopping.name = "counts";
    order.stopping.iterations = 5;
    order.stopping.warmup = 1;
    order.cache_dir = cache_;
    return order;
  }
  Record measured(const WorkOrder& order) {
    auto record = measure(order, group_, heartbeat_, turns_, interrupted_);
    if (!record) {
      Group other(heartbeat_, {"1.0", "clean"});
      provide_reference(order, other, heartbeat_);
      record = measure(order, group_, heartbeat_, turns_, interrupted_);
    }
    EXPECT_TRUE(record.has_value());
    return record.value_or(Record());
  }
  static bool is_shared(const Record& record) { return std::get<bool>(record.facts.at("session.shared")); }

  std::string cache_ = testing::TempDir() + "kept_sessions_test";
  std::atomic<bool> interrupted_{false};
  std::string interrupt_in_;
  Heartbeat heartbeat_{[this](const Frame& frame) {
                         if (frame.header.at("phase") == interrupt_in_) interrupted_.store(true);
                       },
                       {std::chrono::hours(1), std::chrono::hours(1)}};
  Group group_{heartbeat_, {"1.0", "clean"}};
  NoTurns turns_;
};

TEST_F(KeptSessionsTest, AnotherRateTakesThemOverWithTheirCheck) {
  const Record first = measured(order_of("500")), second = measured(order_of("1000"));
  ASSERT_EQ(first.outcome, Outcome::ok) << first.reason;
  ASSERT_EQ(second.outcome, Outcome::ok) << second.reason;
  EXPECT_FALSE(is_shared(first));
  EXPECT_TRUE(is_shared(second));
  ASSERT_TRUE(first.check && second.check);
  EXPECT_TRUE(second.check->pass);
  EXPECT_EQ(second.check->sqnr_db, first.check->sqnr_db);
  EXPECT_EQ(second.check->samples, first.check->samples);
  EXPECT_EQ(second.first_result_ms, first.first_result_ms) << "that of the Session";
  EXPECT_EQ(second.compile_s, first.compile_s);
  EXPECT_EQ(second.facts.at("session.slots"), first.facts.at("session.slots"));
  ASSERT_EQ(second.windows.size() + 1, first.windows.size()) << "all but the idle one";
  for (size_t i = 0; i < second.windows.size(); ++i) EXPECT_EQ(second.windows[i].name, first.windows[i + 1].name);
  EXPECT_GE(second.timings.size(), 5U);
}

TEST_F(KeptSessionsTest, ADispatcherIsMadeAnewOverThem) {
  WorkOrder first = order_of("500"), second = order_of("1000");
  for (WorkOrder* order : {&first, &second}) order->point.options["instances"] = "2";
  EXPECT_FALSE(is_shared(measured(first)));
  const Record record = measured(second);
  EXPECT_EQ(record.outcome, Outcome::ok) << record.reason;
  EXPECT_TRUE(is_shared(record));
  EXPECT_GE(record.timings.size(), 5U);
  EXPECT_FALSE(is_shared(measured(order_of("1000")))) << "one Session is not two";
}

TEST_F(KeptSessionsTest, WhatLoadsOtherwiseIsLoaded) {
  measured(order_of("500"));
  EXPECT_FALSE(is_shared(measured(order_of("500", 2)))) << "another batch";
  WorkOrder unchecked = order_of("500", 2);
  unchecked.check = false;
  const Record without = measured(unchecked);
  EXPECT_FALSE(is_shared(without)) << "it is not checked";
  EXPECT_FALSE(without.check);
  WorkOrder closed = unchecked;
  closed.point.scenario = "batch";
  closed.point.options.erase("rate");
  EXPECT_FALSE(is_shared(measured(closed))) << "its samples are adjacent";
  WorkOrder other = unchecked;
  other.point.options["seed"] = "2";
  EXPECT_FALSE(is_shared(measured(other))) << "another model";
}

TEST_F(KeptSessionsTest, AnOrderThatDidNotEndWellLeavesNone) {
  WorkOrder order = order_of("500");
  order.check = false;
  measured(order);
  interrupt_in_ = "warm_up";
  EXPECT_EQ(measured(order).outcome, Outcome::interrupted);
  interrupt_in_.clear();
  interrupted_.store(false);
  EXPECT_FALSE(is_shared(measured(order)));
  EXPECT_TRUE(is_shared(measured(order)));
}

}  // namespace
}  // namespace deepgap
