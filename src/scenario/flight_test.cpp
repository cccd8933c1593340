#include "scenario/flight.h"

#include "scenario/fake_target.h"
#include "scenario/test_drive.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

TEST(Flight, DoesNotWaitForACompletionThatCameUnheard) {
  const auto clock = make_virtual_clock();
  ScriptedTarget target(*clock, {1, 1}, [](uint64_t) { return 0; });
  target.inside_submit = true;
  Traffic traffic;
  traffic.target = &target;
  traffic.samples = {0};
  Flight flight(traffic, *clock, 1);
  EXPECT_TRUE(flight.await_completions(false));
  flight.add(0, 0, 1);
  flight.send();
  EXPECT_TRUE(flight.await_completions(false));
  EXPECT_FALSE(flight.await_completions(true));
  EXPECT_EQ(flight.collect().size(), 1U);
  EXPECT_TRUE(flight.await_completions(true));
}

}  // namespace
}  // namespace deepgap
