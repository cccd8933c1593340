// Tests what the orders of one worker share.
#include "worker/group.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <chrono>

namespace deepgap {
namespace {

WorkOrder order_of(const std::string& options = "") {
  WorkOrder order;
  order.point.model = "mobilenet_v1:width=0.125,classes=10,image=32";
  order.point.backend = "null";
  order.point.threads = 1;
  order.point.options = {{"null.clock", "virtual"}, {"telemetry_period", "1h"}};
  if (!options.empty()) order.point.options["samples"] = options;
  return order;
}

class GroupTest : public ::testing::Test {
 protected:
  Group::Inputs inputs(const WorkOrder& order) {
    return group_.inputs(order, sort_options(order.point, group_.backend(order).options(), {}));
  }

  Heartbeat heartbeat_{[](const Frame&) {}, {std::chrono::hours(1), std::chrono::hours(1)}};
  Group group_{heartbeat_, {"1.0", "clean"}};
};

TEST_F(GroupTest, AModelIsOpenedOnceAndADatasetOnceForEachRequest) {
  const Group::Inputs first = inputs(order_of());
  EXPECT_FALSE(first.shared);
  EXPECT_EQ(first.samples.size(), 4U);
  EXPECT_EQ(first.engine_model, first.model) << "null is not quantized for";
  const Group::Inputs second = inputs(order_of());
  EXPECT_TRUE(second.shared);
  EXPECT_EQ(second.model, first.model);
  EXPECT_EQ(second.dataset, first.dataset);
  const Group::Inputs more = inputs(order_of("7"));
  EXPECT_TRUE(more.shared);
  EXPECT_EQ(more.samples.size(), 7U);
  WorkOrder other = order_of();
  other.point.options["seed"] = "2";
  EXPECT_FALSE(inputs(other).shared) << "other weights are another model";
}

TEST_F(GroupTest, AWorkerIsOfOneBackend) {
  group_.backend(order_of());
  WorkOrder other = order_of();
  other.point.backend = "native";
  EXPECT_THROW(group_.backend(other), Error);
}

TEST_F(GroupTest, ClockAndFactsAreTheFirstOrders) {
  Clock& clock = group_.clock(order_of());
  const Nanoseconds later = clock.now() + 1'000'000'000'000;
  clock.wait_until(later);
  EXPECT_GE(clock.now(), later) << "virtual time, as null.clock says";
  WorkOrder real = order_of();
  real.point.options.erase("null.clock");
  EXPECT_EQ(&group_.clock(real), &clock);
  EXPECT_TRUE(group_.take_first_order());
  EXPECT_FALSE(group_.take_first_order());
  EXPECT_EQ(std::get<std::string>(group_.environment(order_of()).at("deepgap.version")), "1.0");
}

}  // namespace
}  // namespace deepgap
