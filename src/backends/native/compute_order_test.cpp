#include "backends/native/compute_order.h"

#include "base/clocks.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

// A device whose two queues each work through what they got, at a speed that falls by `slower` while both have work.
class TwoQueues {
 public:
  explicit TwoQueues(double slower) : slower_(slower) {}
  ComputeOrder::Slot slot(int index) {
    return {[this, index] { waiting_[index] += work; }, [this] { finish(); }};
  }
  const Clock& clock() const { return *clock_; }

 private:
  static constexpr Nanoseconds work = 1'000'000;
  void finish() {
    const Nanoseconds both = std::min(waiting_[0], waiting_[1]), rest = std::max(waiting_[0], waiting_[1]) - both;
    clock_->wait_until(clock_->now() + rest + static_cast<Nanoseconds>(static_cast<double>(both) * slower_));
    waiting_[0] = waiting_[1] = 0;
  }

  double slower_;
  Nanoseconds waiting_[2] = {0, 0};
  std::unique_ptr<Clock> clock_ = make_virtual_clock();
};

TEST(ComputeOrder, SmallQueriesGainBesideEachOther) {
  TwoQueues device(1.2);
  EXPECT_TRUE(ComputeOrder::gains_beside(device.slot(0), device.slot(1), device.clock()));
}

TEST(ComputeOrder, QueriesThatFillTheDeviceDoNot) {
  for (const double slower : {1.95, 2.0, 2.2}) {
    TwoQueues device(slower);
    EXPECT_FALSE(ComputeOrder::gains_beside(device.slot(0), device.slot(1), device.clock())) << slower;
  }
}

}  // namespace
}  // namespace deepgap
