#include "scenario/dispatcher.h"

#include "base/clocks.h"
#include "scenario/fake_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Batches = std::vector<std::vector<uint32_t>>;

constexpr Nanoseconds latency = 1'000'000;

// A Dispatcher over scripted instances in virtual time. What was completed is kept by query.
struct Rig {
  struct Answer {
    uint32_t answered = 0, cancelled = 0, shed = 0, failed = 0;  // samples
    Nanoseconds last = 0;
    std::vector<uint32_t> firsts;
  };

  explicit Rig(const DispatcherSettings& settings, int count = 1, int64_t slots = 1) {
    std::vector<DispatcherInstance> made;
    for (int i = 0; i < count; ++i) {
      auto target =
          std::make_unique<ScriptedTarget>(*clock, TargetLimits{settings.max_batch, slots}, [this](uint64_t n) { return time_of(n); });
      instances.push_back(target.get());
      made.push_back({"device " + std::to_string(i), std::move(target)});
    }
    dispatcher = make_dispatcher(std::move(made), settings, *clock);
    dispatcher->on_completion([this](std::span<const Completed> completed) {
      for (const Completed& c : completed) take(c);
      clock->notify();
    });
  }

  void take(const Completed& c) {
    Answer& answer = answers[c.query];
    (c.shed                       ? answer.shed
     : c.status == Status::ok     ? answer.answered
     : c.status == Status::failed ? answer.failed
                                  : answer.cancelled) += c.count;
    answer.last = clock->now();
    answer.firsts.push_back(c.first);
  }
  void submit(uint64_t id, const std::vector<uint32_t>& samples, int priority = 0) {
    const Query query{id, clock->now(), samples, priority};
    dispatcher->submit(std::span(&query, 1));
  }
  void wait_until(Nanoseconds t) {
    while (clock->now() < t) clock->wait_until(t);
  }
  // Runs until nothing has happened for long.
  void finish() { wait_until(clock->now() + 1'000 * latency); }

  std::function<Nanoseconds(uint64_t)> time_of = [](uint64_t) { return latency; };
  std::unique_ptr<Clock> clock = make_virtual_clock();
  std::vector<ScriptedTarget*> instances;
  std::unique_ptr<Dispatcher> dispatcher;
  std::map<uint64_t, Answer> answers;
};

DispatcherSettings batches_of(int64_t max_batch, Nanoseconds max_delay = 0) {
  DispatcherSettings settings;
  settings.queue_limit = 1024;
  settings.max_batch = max_batch;
  settings.max_delay = max_delay;
  return settings;
}

TEST(Dispatcher, WithoutDelayWhatWaitsLeavesAtOnceAndTheRestTogether) {
  Rig rig(batches_of(4));
  for (uint32_t i = 0; i < 6; ++i) rig.submit(i, {i});
  EXPECT_EQ(rig.instances[0]->asked, (Batches{{0}})) << "the instance had room";
  rig.finish();
  EXPECT_EQ(rig.instances[0]->asked, (Batches{{0}, {1, 2, 3, 4}, {5}}));
  EXPECT_EQ(rig.answers[4].last, 2 * latency);
  EXPECT_EQ(rig.answers[5].last, 3 * latency);
}

TEST(Dispatcher, ABatchLeavesWhenItIsFull) {
  Rig rig(batches_of(3, 50'000));
  rig.submit(0, {10});
  rig.submit(1, {11});
  EXPECT_TRUE(rig.instances[0]->asked.empty());
  rig.submit(2, {12});
  EXPECT_EQ(rig.instances[0]->asked, (Batches{{10, 11, 12}}));
}

TEST(Dispatcher, NobodyWaitsLongerThanTheDelayForABatchToFill) {
  Rig rig(batches_of(8, 50'000));
  rig.submit(0, {0});
  rig.wait_until(20'000);
  rig.submit(1, {1});
  rig.wait_until(49'999);
  EXPECT_TRUE(rig.instances[0]->asked.empty());
  rig.wait_until(50'000);
  EXPECT_EQ(rig.instances[0]->asked, (Batches{{0, 1}}));
  rig.wait_until(60'000);
  rig.submit(2, {2});  // its own delay passes while the instance is busy
  rig.finish();
  EXPECT_EQ(rig.instances[0]->asked, (Batches{{0, 1}, {2}}));
  EXPECT_EQ(rig.answers[2].last, 50'000 + 2 * latency);
}

TEST(Dispatcher, FlushWaitsForNobodyUntilTheNextQueryComes) {
  Rig rig(batches_of(8, latency));
  rig.submit(0, {0});
  rig.dispatcher->flush();
  EXPECT_EQ(rig.instances[0]->asked, (Batches{{0}}));
  rig.submit(1, {1});
  rig.wait_until(latency);
  EXPECT_EQ(rig.instances[0]->asked.size(), 1U + 1U) << "the delay had passed when room came";
  rig.wait_until(2 * latency);
  rig.submit(2, {2});
  rig.wait_until(2 * latency + latency / 2);
  EXPECT_EQ(rig.instances[0]->asked.size(), 2U);
  rig.finish();
  EXPECT_EQ(rig.answers[2].last, 4 * latency);
}

TEST(Dispatcher, AQueryOfManySamplesIsSpreadAndItsRangesComeBack) {
  Rig rig(batches_of(2), 2);
  rig.submit(9, {5, 6, 7, 8, 9});
  rig.submit(10, {1});
  rig.finish();
  EXPECT_EQ(rig.instances[0]->asked, (Batches{{5, 6}, {9, 1}}));
  EXPECT_EQ(rig.instances[1]->asked, (Batches{{7, 8}}));
  EXPECT_EQ(rig.answers[9].answered, 5U);
  EXPECT_THAT(rig.answers[9].firsts, ElementsAre(0, 2, 4));
  EXPECT_EQ(rig.answers[10].answered, 1U);
}

// Answers every batch sample by sample, last sample first, with outputs.
class RangeTarget final : public Target {
 public:
  TargetLimits limits() const override { return {8, 1}; }
  void on_completion(TargetCompletion completion) override { completion_ = std::move(completion); }
  void load(std::span<const uint32_t>) override {}
  void unload(std::span<const uint32_t>) override {}
  void submit(std::span<const Query> queries) override {
    for (const Query& query : queries) {
      for (auto i = static_cast<uint32_t>(query.samples.size()); i-- > 0;) {
        Completed done{query.id, i, 1};
        done.row = 100 + i;
        completion_(std::span(&done, 1));
      }
    }
  }
  void flush() override {}
  void cancel() override {}

 private:
  TargetCompletion completion_;
};

TEST(Dispatcher, RangesAndRowsOfABatchAreMappedToTheirQueries) {
  const auto clock = make_virtual_clock();
  std::vector<DispatcherInstance> instances;
  instances.push_back({"ranges", std::make_unique<RangeTarget>()});
  DispatcherSettings settings = batches_of(4);
  settings.batch_sizes = {4};
  const auto dispatcher = make_dispatcher(std::move(instances), settings, *clock);
  std::vector<std::array<uint64_t, 4>> seen;
  dispatcher->on_completion([&](std::span<const Completed> completed) {
    for (const Completed& c : completed) seen.push_back({c.query, c.first, c.count, c.row});
  });
  const std::vector<uint32_t> two{1, 2}, one{3};
  const std::array<Query, 2> queries{Query{7, 0, two}, Query{8, 0, one}};
  dispatcher->submit(queries);
  using Row = std::array<uint64_t, 4>;
  EXPECT_THAT(seen, ElementsAre(Row{8, 0, 1, 102}, Row{7, 1, 1, 101}, Row{7, 0, 1, 100})) << "and nothing of the padding";
  EXPECT_EQ(dispatcher->take_log().padding, 1);
}

TEST(Dispatcher, WithTheQuerysSizeAndNoDelayItIsARoundRobin) {
  Rig rig(batches_of(2), 3);
  for (uint32_t i = 0; i < 6; ++i) rig.submit(i, {2 * i, 2 * i + 1});
  rig.finish();
  EXPECT_EQ(rig.instances[0]->asked, (Batches{{0, 1}, {6, 7}}));
  EXPECT_EQ(rig.instances[1]->asked, (Batches{{2, 3}, {8, 9}}));
  EXPECT_EQ(rig.instances[2]->asked, (Batches{{4, 5}, {10, 11}}));
}

TEST(Dispatcher, LeastLoadedLooksAtSamplesNotAtTurns) {
  DispatcherSettings settings = batches_of(4);
  settings.choice = InstanceChoice::least_loaded;
  Rig rig(settings, 2, 4);
  rig.submit(0, {0, 1, 2, 3});
  rig.submit(1, {4});
  rig.submit(2, {5});
  rig.submit(3, {6});
  EXPECT_EQ(rig.instances[0]->asked, (Batches{{0, 1, 2, 3}}));
  EXPECT_EQ(rig.instances[1]->asked, (Batches{{4}, {5}, {6}}));
}

TEST(Dispatcher, UrgentQueriesOvertakeAndOrderHoldsWithinAClass) {
  DispatcherSettings settings = batches_of(1);
  settings.priorities = 2;
  Rig rig(settings);
  for (uint32_t i = 0; i < 3; ++i) rig.submit(i, {i}, 1);
  for (uint32_t i = 10; i < 12; ++i) rig.submit(i, {i}, 0);
  rig.finish();
  EXPECT_EQ(rig.instances[0]->asked, (Batches{{0}, {10}, {11}, {1}, {2}}));
}

TEST(Dispatcher, AFullQueueShedsTheNewest) {
  DispatcherSettings settings = batches_of(1);
  settings.queue_limit = 2;
  settings.shedding = Shedding::reject_newest;
  Rig rig(settings);
  for (uint32_t i = 0; i < 5; ++i) rig.submit(i, {i});
  EXPECT_EQ(rig.answers[3].shed, 1U) << "at once";
  rig.finish();
  EXPECT_EQ(rig.instances[0]->asked, (Batches{{0}, {1}, {2}}));
  const DispatcherLog log = rig.dispatcher->take_log();
  EXPECT_EQ(log.shed, 2);
  EXPECT_EQ(log.queries, 5);
  EXPECT_EQ(*std::max_element(log.depth.depths().begin(), log.depth.depths().end()), 2);
}

TEST(Dispatcher, AFullQueueDropsTheOldest) {
  DispatcherSettings settings = batches_of(1);
  settings.queue_limit = 2;
  settings.shedding = Shedding::drop_oldest;
  Rig rig(settings);
  for (uint32_t i = 0; i < 5; ++i) rig.submit(i, {i});
  rig.finish();
  EXPECT_EQ(rig.instances[0]->asked, (Batches{{0}, {3}, {4}}));
  EXPECT_EQ(rig.answers[1].shed, 1U);
  EXPECT_EQ(rig.answers[2].shed, 1U);
}

// What an overloaded Target cannot take shall wait in the Scenario's schedule, where it is seen, and not in a long queue here.
TEST(Dispatcher, TakesWhatIsInWorkAndOneBatchMoreForEveryPlace) {
  DispatcherSettings settings = batches_of(8);
  settings.queue_limit = 0;
  EXPECT_EQ(Rig(settings, 2, 3).dispatcher->limits().max_in_flight, 2 * 2 * 3 * 8);
  settings.query_samples = 4;
  EXPECT_EQ(Rig(settings, 2, 3).dispatcher->limits().max_in_flight, 2 * 2 * 3 * 2);
  settings.queue_limit = 100;
  EXPECT_EQ(Rig(settings, 2, 3).dispatcher->limits().max_in_flight, 2 * 3 * 2 + 100);
  settings.shedding = Shedding::drop_oldest;
  EXPECT_GT(Rig(settings, 2, 3).dispatcher->limits().max_in_flight, 2 * 3 * 2 + 100) << "who goes is decided here";
}

TEST(Dispatcher, AFullQueueWaitsForNoDelay) {
  DispatcherSettings settings = batches_of(8, 100 * latency);
  settings.queue_limit = 2;
  Rig rig(settings);
  rig.submit(0, {0});
  rig.submit(1, {1});
  EXPECT_EQ(rig.instances[0]->asked, (Batches{{0, 1}}));
}

TEST(Dispatcher, BatchesAreFilledUpToASizeThatIsLoaded) {
  DispatcherSettings settings = batches_of(8, 1'000);
  settings.batch_sizes = {1, 2, 4, 8};
  Rig rig(settings);
  rig.submit(0, {1, 2, 3});
  rig.finish();
  EXPECT_EQ(rig.instances[0]->asked, (Batches{{1, 2, 3, 3}}));
  EXPECT_EQ(rig.answers[0].answered, 3U);
  EXPECT_EQ(rig.dispatcher->take_log().padding, 1);
}

TEST(Dispatcher, CancelGivesUpWhatWaitsAndLetsTheRestFinish) {
  Rig rig(batches_of(2), 2);
  for (uint32_t i = 0; i < 5; ++i) rig.submit(i, {i, i});
  rig.dispatcher->cancel();
  rig.finish();
  EXPECT_EQ(rig.instances[0]->cancels, 1);
  EXPECT_EQ(rig.instances[1]->cancels, 1);
  for (uint32_t i = 0; i < 2; ++i) EXPECT_EQ(rig.answers[i].answered, 2U);
  for (uint32_t i = 2; i < 5; ++i) EXPECT_EQ(rig.answers[i].cancelled, 2U);
}

TEST(Dispatcher, AFailureIsTheQuerysAndNamesItsInstance) {
  Rig rig(batches_of(1), 2);
  rig.instances[1]->failing = {0};
  rig.submit(0, {0});
  rig.submit(1, {1});
  rig.finish();
  EXPECT_EQ(rig.answers[0].answered, 1U);
  EXPECT_EQ(rig.answers[1].failed, 1U);
  try {
    rig.dispatcher->flush();
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "device 1: the scripted failure");
    EXPECT_EQ(error.kind(), ErrorKind::internal);
  }
}

TEST(Dispatcher, AnInstanceThatTakesSmallerBatchesIsRefused) {
  const auto clock = make_virtual_clock();
  std::vector<DispatcherInstance> instances;
  instances.push_back({"cuda:0", std::make_unique<ScriptedTarget>(*clock, TargetLimits{4, 1}, [](uint64_t) { return latency; })});
  try {
    make_dispatcher(std::move(instances), batches_of(8), *clock);
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("max_batch=8 is more than the 4 samples that cuda:0 takes"));
  }
}

TEST(Dispatcher, TheLogTellsBatchesSharesAndTheQueue) {
  Rig rig(batches_of(2), 2);
  rig.submit(9, {1});
  static_cast<void>(rig.dispatcher->take_log());
  for (uint32_t i = 0; i < 5; ++i) rig.submit(i, {i});
  rig.finish();
  const DispatcherLog log = rig.dispatcher->take_log();
  EXPECT_EQ(log.queries, 5);
  EXPECT_THAT(log.batches, ElementsAre(0, 1, 2));  // 0 went to the second; {1, 2} and {3, 4} follow
  ASSERT_EQ(log.instances.size(), 2U);
  EXPECT_EQ(log.instances[0].name, "device 0");
  EXPECT_EQ(log.instances[0].samples, 2);
  EXPECT_EQ(log.instances[1].samples, 3);
  EXPECT_EQ(log.depth.mean(), 4) << "from the first moment to the last batch, four waited";
}

TEST(Dispatcher, ALookThatIsScheduledMayOutlastIt) {
  Rig rig(batches_of(8, 1'000));
  rig.submit(0, {0});
  rig.dispatcher.reset();
  rig.wait_until(5'000);
  EXPECT_EQ(rig.clock->now(), 5'000);
  EXPECT_TRUE(rig.answers.empty()) << "who waited with it is gone: nobody is answered by it any more";
}

// Random arrivals, sizes, classes, delays, instances and policies: every sample is completed exactly once, a batch is never larger than
// it may be, and nobody waits for a batch to fill longer than the delay.
TEST(Dispatcher, EveryQueryIsCompletedExactlyOnce) {
  std::mt19937_64 random(20);
  for (int round = 0; round < 300; ++round) {
    DispatcherSettings settings = batches_of(1 + static_cast<int64_t>(random() % 8), static_cast<Nanoseconds>(random() % 3) * 400'000);
    settings.queue_limit = 4 + static_cast<int64_t>(random() % 20);
    settings.shedding = static_cast<Shedding>(random() % 3);
    settings.choice = static_cast<InstanceChoice>(random() % 2);
    settings.priorities = 1 + static_cast<int>(random() % 3);
    if (random() % 2 == 0) settings.batch_sizes = {settings.max_batch};
    Rig rig(settings, 1 + static_cast<int>(random() % 3), 1 + static_cast<int64_t>(random() % 3));
    rig.time_of = [&random](uint64_t) { return static_cast<Nanoseconds>(100'000 + random() % 2'000'000); };
    for (ScriptedTarget* instance : rig.instances) instance->inside_submit = random() % 8 == 0;
    std::map<uint64_t, uint32_t> size;
    for (uint64_t id = 0; id < 150; ++id) {
      size[id] = 1 + static_cast<uint32_t>(random() % 10);
      std::vector<uint32_t> samples(size[id]);
      std::iota(samples.begin(), samples.end(), 0U);
      rig.submit(id, samples, static_cast<int>(random() % 3));
      rig.wait_until(rig.clock->now() + static_cast<Nanoseconds>(random() % 1'500'000));
    }
    const bool cancels = random() % 4 == 0;
    if (cancels) rig.dispatcher->cancel();
    rig.finish();
    uint32_t shed = 0;
    for (const auto& [id, samples] : size) {
      const Rig::Answer& answer = rig.answers[id];
      ASSERT_EQ(answer.answered + answer.cancelled + answer.shed, samples) << "query " << id << ", round " << round;
      ASSERT_TRUE(cancels || answer.cancelled == 0);
      ASSERT_TRUE(answer.shed == 0 || answer.shed == samples) << "a query is shed whole";
      shed += answer.shed > 0 ? 1 : 0;
    }
    const DispatcherLog log = rig.dispatcher->take_log();
    EXPECT_EQ(log.shed, shed);
    EXPECT_TRUE(settings.shedding != Shedding::none || log.shed == 0);
    for (const ScriptedTarget* instance : rig.instances) {
      for (const auto& batch : instance->asked) ASSERT_LE(static_cast<int64_t>(batch.size()), settings.max_batch);
      ASSERT_LE(instance->most_in_flight, instance->limits().max_in_flight);
    }
  }
}

// Completions on other threads, in real time.
TEST(Dispatcher, CompletionsOfOtherThreadsAreFollowedByTheNextBatch) {
  const auto clock = make_real_clock();
  std::vector<DispatcherInstance> instances;
  for (int i = 0; i < 2; ++i) instances.push_back({"threads", std::make_unique<ThreadedTarget>(TargetLimits{4, 2}, 2)});
  const auto dispatcher = make_dispatcher(std::move(instances), batches_of(4, 100'000), *clock);
  std::atomic<uint32_t> answered{0};
  dispatcher->on_completion([&](std::span<const Completed> completed) {
    for (const Completed& c : completed) answered += c.count;
    clock->notify();
  });
  const std::vector<uint32_t> samples{0, 1, 2};
  constexpr uint32_t queries = 2'000;
  for (uint64_t id = 0; id < queries; ++id) {
    const Query query{id, clock->now(), samples};
    dispatcher->submit(std::span(&query, 1));
  }
  const Nanoseconds deadline = clock->now() + 60'000'000'000;
  while (answered < 3 * queries && clock->now() < deadline) clock->wait_until(deadline);
  EXPECT_EQ(answered, 3 * queries);
  dispatcher->on_completion({});
}

}  // namespace
}  // namespace deepgap
