// Targets whose answers come twice, never, late or to no query: what a scenario makes of them, in virtual time.
#include "scenario/fake_target.h"
#include "scenario/open_loop.h"
#include "scenario/test_drive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

namespace deepgap {
namespace {

using ::testing::HasSubstr;

constexpr Nanoseconds ms = 1'000'000, second = 1'000 * ms;

// Answers each query so many times, the last answer so long after the first.
struct Repeating final : Target {
  Repeating(Clock& c, int t, Nanoseconds p) : clock(c), times(t), pause(p) {}
  TargetLimits limits() const override { return {4, 1}; }
  void on_completion(TargetCompletion done) override { completion = std::move(done); }
  void load(std::span<const uint32_t>) override {}
  void unload(std::span<const uint32_t>) override {}
  void submit(std::span<const Query> queries) override {
    for (const Query& query : queries) {
      for (int i = 0; i < times; ++i) {
        clock.schedule(clock.now() + ms + i * pause, [this, done = Completed{query.id, 0, static_cast<uint32_t>(query.samples.size())}] {
          if (completion) completion(std::span(&done, 1));
        });
      }
    }
  }
  void flush() override {}
  void cancel() override {}
  Clock& clock;
  int times;
  Nanoseconds pause;
  TargetCompletion completion;
};

TEST(Answers, TwoAtOnceAndTwoApartAreErrors) {
  for (const std::string scenario : {"batch", "constant", "offline"}) {
    for (const Nanoseconds pause : {Nanoseconds{0}, ms / 2, 150 * ms}) {
      Driven run;
      Repeating target(*run.clock, 2, pause);
      const ScenarioOptions options = scenario == "constant"  ? ScenarioOptions{{"rate", "10"}}
                                      : scenario == "offline" ? ScenarioOptions{{"in_flight", "1"}}
                                                              : ScenarioOptions{};
      EXPECT_THAT(error_of([&] { run.drive(target, scenario, 1, counts(1000), options); }), HasSubstr("twice")) << scenario << " " << pause;
    }
  }
}

TEST(Answers, AfterTheEndAreNotHeard) {
  Driven run;
  Repeating target(*run.clock, 2, 10 * second);
  run.drive(target, "constant", 1, lasting(second), {{"rate", "10"}});
  EXPECT_EQ(run.kept.timings.size(), 10u);
  run.clock->wait_until(100 * second);  // the second answers come
  EXPECT_EQ(run.kept.timings.size(), 10u);
}

TEST(Answers, ToAQueryThatWasNeverAskedAreAnError) {
  struct Liar final : Target {
    TargetLimits limits() const override { return {1, 1}; }
    void on_completion(TargetCompletion done) override { completion = std::move(done); }
    void load(std::span<const uint32_t>) override {}
    void unload(std::span<const uint32_t>) override {}
    void submit(std::span<const Query> queries) override {
      const Completed done{queries[0].id + 77, 0, 1};
      completion(std::span(&done, 1));
    }
    void flush() override {}
    void cancel() override {}
    TargetCompletion completion;
  } target;
  Driven run;
  EXPECT_THAT(error_of([&] { run.drive(target, "constant", 1, lasting(second), {{"rate", "10"}}); }), HasSubstr("never given"));
}

// It ends when the parent's time-out ends the process; nothing is piled up until then, and virtual time says so at once.
TEST(Answers, ThatNeverComeAreWaitedForWithoutABacklog) {
  Driven run;
  Repeating target(*run.clock, 0, 0);
  EXPECT_THAT(error_of([&] { run.drive(target, "constant", 1, lasting(second), {{"rate", "1000"}}); }), HasSubstr("wait forever"));
  EXPECT_EQ(run.clock->now(), second) << "the offering ended in time";
}

}  // namespace
}  // namespace deepgap
