// Tests which completions wake an open loop, in virtual time.
#include "scenario/fake_target.h"
#include "scenario/test_drive.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

constexpr Nanoseconds answer_time = 30'000'000, a_second = 1'000'000'000;

// A virtual clock that counts how often its waiter is woken.
class CountingClock final : public Clock {
 public:
  Nanoseconds now() const override { return clock_->now(); }
  void wait_until(Nanoseconds t) override { clock_->wait_until(t); }
  void notify() override {
    ++notified;
    clock_->notify();
  }
  void schedule(Nanoseconds t, std::function<void()> work) override { clock_->schedule(t, std::move(work)); }
  void attend(int descriptor, std::function<void()> take) override { clock_->attend(descriptor, std::move(take)); }
  void release(int descriptor) override { clock_->release(descriptor); }
  int notified = 0;

 private:
  std::unique_ptr<Clock> clock_ = make_virtual_clock();
};

int wakes_of_ten_answers(const std::string& scenario, int64_t slots, const StoppingSettings& settings, const std::string& option,
                         const std::string& value = "10") {
  Driven run;
  auto counting = std::make_unique<CountingClock>();
  const int& notified = counting->notified;
  run.clock = std::move(counting);
  ScriptedTarget target(*run.clock, {1, slots}, [](uint64_t) { return answer_time; });
  run.drive(target, scenario, 1, settings, {{option, value}});
  EXPECT_EQ(run.kept.timings.size(), 10U) << scenario;
  return notified;
}

TEST(OpenScenarios, AnAnswerWakesWhoeverHasAUseForIt) {
  EXPECT_EQ(wakes_of_ten_answers("constant", 4, lasting(a_second), "rate"), 1)
      << "those before the last are taken when the next query is sent";
  EXPECT_EQ(wakes_of_ten_answers("constant", 1, lasting(a_second), "rate"), 10) << "the next query needs the slot";
  EXPECT_EQ(wakes_of_ten_answers("constant", 4, lasting(10 * a_second), "rate", "1"), 10) << "the next query is far off";
  EXPECT_EQ(wakes_of_ten_answers("constant", 4, counts(10), "rate"), 10) << "the tenth is the end";
  EXPECT_EQ(wakes_of_ten_answers("concurrency", 10, counts(10), "clients"), 10) << "a client goes on";
}

}  // namespace
}  // namespace deepgap
