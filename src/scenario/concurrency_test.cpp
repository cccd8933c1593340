// Clients that wait for their answers, in virtual time.
#include "scenario/fake_target.h"
#include "scenario/test_drive.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

namespace deepgap {
namespace {

constexpr Nanoseconds ms = 1'000'000, second = 1'000 * ms;

TEST(Concurrency, ClientsWaitForTheirAnswersAndThink) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 8}, [](uint64_t) { return 10 * ms; });
  run.drive(target, "concurrency", 1, lasting(10 * second), {{"clients", "4"}, {"think_time", "40ms"}});
  EXPECT_EQ(target.most_in_flight, 4);
  EXPECT_EQ(run.kept.timings.size(), 800u) << "4 clients, a query in 50 ms each";
  for (const Timing& timing : run.kept.timings) EXPECT_EQ(timing.end - timing.scheduled, 10 * ms);
}

// A client whose query was shed learns that and goes on.
TEST(Concurrency, ClientsOutliveQueriesThatAreShed) {
  struct Shedding final : Target {
    explicit Shedding(Clock& c) : clock(c) {}
    TargetLimits limits() const override { return {1, 4}; }
    void on_completion(TargetCompletion done) override { completion = std::move(done); }
    void load(std::span<const uint32_t>) override {}
    void unload(std::span<const uint32_t>) override {}
    void submit(std::span<const Query> queries) override {
      for (const Query& query : queries) {
        const Status status = ++count % 2 == 0 ? Status::cancelled : Status::ok;
        clock.schedule(clock.now() + ms, [this, done = Completed{query.id, 0, 1, status}] { completion(std::span(&done, 1)); });
      }
    }
    void flush() override {}
    void cancel() override {}
    Clock& clock;
    int count = 0;
    TargetCompletion completion;
  };
  Driven run;
  Shedding target(*run.clock);
  run.drive(target, "concurrency", 1, lasting(100 * ms), {{"clients", "4"}});
  EXPECT_EQ(target.count, 400);
  EXPECT_EQ(run.kept.timings.size(), 199u) << "the window ends with the first of the last four answers";
}

// Interactive response time law: clients = throughput x (response + think time).
TEST(Concurrency, ObeysTheResponseTimeLaw) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 1}, [](uint64_t) { return 10 * ms; });
  run.drive(target, "concurrency", 1, lasting(1000 * second),
            {{"clients", "10"}, {"think_time", "100ms"}, {"think", "exponential"}, {"seed", "3"}});
  double response = 0;
  for (const Timing& timing : run.kept.timings) response += static_cast<double>(timing.end - timing.scheduled);
  const auto count = static_cast<double>(run.kept.timings.size());
  EXPECT_NEAR(count / 1000 * (response / count / 1e9 + 0.1), 10, 0.1);
}

TEST(Concurrency, MoreClientsThanRoomWaitInTheirLatency) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 2}, [](uint64_t) { return 10 * ms; });
  run.drive(target, "concurrency", 1, counts(100), {{"clients", "6"}});
  EXPECT_EQ(run.kept.timings.size(), 100u);
  EXPECT_EQ(target.most_in_flight, 2);
  EXPECT_EQ(run.kept.timings.back().end - run.kept.timings.back().scheduled, 30 * ms);
}

}  // namespace
}  // namespace deepgap
