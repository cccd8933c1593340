#include "base/clocks.h"

#include <deepgap/error.h>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace deepgap {
namespace {

TEST(VirtualClock, JumpsToTheAskedTime) {
  const auto clock = make_virtual_clock();
  EXPECT_EQ(clock->now(), 0);
  clock->wait_until(1000);
  EXPECT_EQ(clock->now(), 1000);
  clock->wait_until(500);  // the past: returns at once, time never goes back
  EXPECT_EQ(clock->now(), 1000);
}

TEST(VirtualClock, RunsWorkAtItsTimeAndInOrder) {
  const auto clock = make_virtual_clock();
  std::vector<std::pair<char, Nanoseconds>> ran;
  const auto work = [&](char name) { return [&ran, &clock, name] { ran.emplace_back(name, clock->now()); }; };
  clock->schedule(30, work('c'));
  clock->schedule(10, work('a'));
  clock->schedule(10, work('b'));
  clock->schedule(50, work('d'));
  clock->wait_until(40);
  EXPECT_EQ(clock->now(), 40);
  EXPECT_EQ(ran, (std::vector<std::pair<char, Nanoseconds>>{{'a', 10}, {'b', 10}, {'c', 30}}));
}

TEST(VirtualClock, NotificationEndsTheWaitAtItsTime) {
  const auto clock = make_virtual_clock();
  clock->schedule(10, [] {});
  clock->schedule(20, [&] { clock->notify(); });
  clock->wait_until(never);
  EXPECT_EQ(clock->now(), 20);
  clock->notify();  // before the wait: it returns at once, and once only
  clock->wait_until(100);
  EXPECT_EQ(clock->now(), 20);
  clock->wait_until(100);
  EXPECT_EQ(clock->now(), 100);
}

TEST(VirtualClock, DueWorkRunsEvenWhenNotified) {
  const auto clock = make_virtual_clock();
  bool ran = false;
  clock->schedule(0, [&] { ran = true; });
  clock->notify();
  clock->wait_until(never);
  EXPECT_TRUE(ran);
}

TEST(VirtualClock, WorkMaySchedule) {
  const auto clock = make_virtual_clock();
  Nanoseconds seen = -1;
  clock->schedule(5, [&] { clock->schedule(7, [&] { seen = clock->now(); }); });
  clock->wait_until(10);
  EXPECT_EQ(seen, 7);
}

TEST(VirtualClock, RefusesToWaitForEver) {
  const auto clock = make_virtual_clock();
  clock->schedule(5, [] {});
  try {
    clock->wait_until(never);
    FAIL() << "returned";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
  }
}

TEST(VirtualClock, WorkThatThrowsIsGone) {
  const auto clock = make_virtual_clock();
  clock->schedule(5, [] { throw std::runtime_error("x"); });
  EXPECT_THROW(clock->wait_until(10), std::runtime_error);
  clock->wait_until(10);
  EXPECT_EQ(clock->now(), 10);
}

TEST(RealClock, LingersForANotificationAndThenSleeps) {
  constexpr Nanoseconds millisecond = 1'000'000;
  const auto clock = make_real_clock(2 * millisecond);
  for (const Nanoseconds after : {millisecond, 10 * millisecond}) {  // while it looks, and while it sleeps
    const Nanoseconds begin = clock->now();
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::nanoseconds(after));
      clock->notify();
    });
    clock->wait_until(never);
    EXPECT_GE(clock->now() - begin, after);
    other.join();
  }
  const Nanoseconds begin = clock->now();
  clock->wait_until(begin + 5 * millisecond);
  EXPECT_GE(clock->now(), begin + 5 * millisecond);
}

TEST(RealClock, NeverReturnsEarly) {
  const auto clock = make_real_clock();
  for (const Nanoseconds length : {0L, 1'000L, 200'000L, 3'000'000L}) {
    const Nanoseconds until = clock->now() + length;
    clock->wait_until(until);
    EXPECT_GE(clock->now(), until);
  }
}

TEST(RealClock, RunsWorkNotEarlierThanItsTime) {
  const auto clock = make_real_clock();
  const Nanoseconds start = clock->now();
  std::vector<int> order;
  Nanoseconds ran_at = 0;
  clock->schedule(start + 2'000'000, [&] { order.push_back(2), ran_at = clock->now(), clock->notify(); });
  clock->schedule(start + 1'000'000, [&] { order.push_back(1); });
  clock->wait_until(never);
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_GE(ran_at, start + 2'000'000);
}

TEST(RealClock, WorkAtOnceThatReschedulesItselfDoesNotHoldTheWaiter) {
  const auto clock = make_real_clock();
  std::function<void()> again = [&] { clock->schedule(clock->now(), again); };
  again();
  const Nanoseconds until = clock->now() + 1'000'000;
  clock->wait_until(until);
  EXPECT_GE(clock->now(), until);
}

// Every item handed over before notify() is seen after a wait; none is lost between a look at the queue and the sleep.
void expect_no_notification_is_lost(Clock& clock, int total) {
  std::atomic<int> produced{0}, consumed{0};
  std::jthread producer([&] {
    for (int i = 1; i <= total; ++i) {
      produced.store(i, std::memory_order_relaxed);
      clock.notify();
      while (consumed.load(std::memory_order_acquire) < i) std::this_thread::yield();
    }
  });
  constexpr Nanoseconds too_long = 60'000'000'000;  // for one wake-up; how long all take depends on the machine
  int seen = 0;
  for (bool woken = true; seen < total && woken;) {
    const Nanoseconds begin = clock.now();
    clock.wait_until(begin + too_long);
    woken = clock.now() < begin + too_long;
    seen = produced.load(std::memory_order_relaxed);
    consumed.store(seen, std::memory_order_release);
  }
  consumed.store(total, std::memory_order_release);
  EXPECT_EQ(seen, total) << "a wake-up was lost";
}

TEST(RealClock, NoNotificationIsLost) { expect_no_notification_is_lost(*make_real_clock(), 20'000); }

// A wait of 100 us ends in looks at the time. With one CPU for all threads they would keep the one that takes the answers from it.
TEST(RealClock, LetsOthersOfAProcessWithOneCpuWork) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const auto clock = make_real_clock();
  std::atomic<int> asked{0}, answered{0};
  std::atomic<bool> over{false};
  std::jthread other([&] {
    while (!over) {
      answered = asked.load();
      std::this_thread::yield();
    }
  });
  constexpr int rounds = 400;
  int in_time = 0;
  for (int i = 1; i <= rounds; ++i) {
    asked = i;
    clock->wait_until(clock->now() + 100'000);
    in_time += answered == i ? 1 : 0;
  }
  over = true;
  other.join();
  sched_setaffinity(0, sizeof before, &before);
  EXPECT_GT(in_time, rounds / 2);
}

// A completion on an engine's thread asks for a look on the scenario's: it runs there, and soon, although nothing else ends the wait.
TEST(RealClock, WorkOfAnotherThreadRunsOnTheWaitersAndWakesIt) {
  const auto clock = make_real_clock();
  std::thread::id ran_on;
  const auto deadline = clock->now() + 60'000'000'000;
  std::jthread other([&] { clock->schedule(clock->now(), [&] { ran_on = std::this_thread::get_id(); }); });
  while (ran_on == std::thread::id() && clock->now() < deadline) clock->wait_until(deadline);
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

// A pipe that a clock attends to. What comes through it is counted, and notifies, as a session's completion does.
class Letters {
 public:
  explicit Letters(Clock& clock) : clock_(clock) {
    EXPECT_EQ(::pipe2(ends_, O_NONBLOCK | O_CLOEXEC), 0);
    clock_.attend(ends_[0], [this] { take(); });
  }
  ~Letters() {
    release();
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void post() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  void release() { clock_.release(ends_[0]); }

  // These change on the waiter's thread.
  int came = 0, looks = 0;
  std::thread::id taken_on;

 private:
  void take() {
    ++looks;
    char letter = 0;
    while (::read(ends_[0], &letter, 1) == 1) {
      ++came;
      taken_on = std::this_thread::get_id();
      clock_.notify();
    }
  }

  Clock& clock_;
  int ends_[2] = {-1, -1};
};

TEST(RealClock, WhatItAttendsToEndsASleepAndIsTakenByTheWaiter) {
  const auto clock = make_real_clock();
  Letters letters(*clock);
  const Nanoseconds deadline = clock->now() + 60'000'000'000;
  for (int i = 1; i <= 20; ++i) {
    std::jthread sender([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      letters.post();
    });
    clock->wait_until(deadline);
    ASSERT_LT(clock->now(), deadline);
    ASSERT_EQ(letters.came, i);
    ASSERT_EQ(letters.taken_on, std::this_thread::get_id());
  }
}

TEST(RealClock, NotificationsWakeAWaiterThatAttendsToDescriptors) {
  const auto clock = make_real_clock();
  Letters letters(*clock);
  expect_no_notification_is_lost(*clock, 2000);
}

TEST(RealClock, WhatWasReleasedIsNotTaken) {
  const auto clock = make_real_clock();
  Letters letters(*clock);
  clock->wait_until(clock->now() + 1);
  EXPECT_GT(letters.looks, 0);
  letters.release();
  letters.looks = 0;
  letters.post();
  clock->wait_until(clock->now() + 1'000'000);
  EXPECT_EQ(letters.looks, 0);
}

TEST(VirtualClock, AttendsToNoDescriptors) {
  EXPECT_THROW(make_virtual_clock()->attend(0, [] {}), Error);
}

TEST(RealClock, NoWorkOfOtherThreadsIsLost) {
  const auto clock = make_real_clock();
  constexpr int each = 5'000;
  int ran = 0;
  {
    const auto schedule = [&] {
      for (int i = 0; i < each; ++i) {
        clock->schedule(clock->now() + i % 3 * 1'000, [&] {
          ++ran;
          clock->notify();  // work that was run does not end the wait by itself, and the last may run in it
        });
      }
    };
    const std::jthread one(schedule), two(schedule);
    const auto deadline = clock->now() + 60'000'000'000;
    while (ran < 2 * each && clock->now() < deadline) clock->wait_until(deadline);
  }
  EXPECT_EQ(ran, 2 * each);
}

}  // namespace
}  // namespace deepgap
