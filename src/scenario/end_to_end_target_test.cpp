#include "scenario/end_to_end_target.h"

#include "scenario/dispatcher.h"
#include "scenario/fake_preparer.h"
#include "scenario/fake_target.h"
#include "scenario/test_drive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <map>

namespace deepgap {
namespace {

using testing::HasSubstr;

constexpr Nanoseconds ms = 1'000'000;
constexpr std::array<int64_t, 2> item_shape{1, 1};
constexpr TensorView item{DataType::f32, item_shape, nullptr};

// A sample takes 9 ms of a thread and a query 5 ms of the Session, which computes one at a time.
struct Rig {
  Driven driven;
  ScriptedPreparer::Script script{1, 1 * ms, 6 * ms, 2 * ms, {}};
  int64_t pipeline_slots = 1, batch = 1, in_flight = 1;
  std::unique_ptr<InputBuffers> buffers;
  std::unique_ptr<ScriptedTarget> session;
  std::unique_ptr<EndToEndTarget> target;

  EndToEndTarget& make() {
    buffers = std::make_unique<InputBuffers>(item, pipeline_slots * batch);
    session = std::make_unique<ScriptedTarget>(*driven.clock, TargetLimits{batch, 1}, [](uint64_t) { return 5 * ms; });
    target = make_end_to_end_target(*session, *buffers, std::make_unique<ScriptedPreparer>(*driven.clock, script),
                                    {pipeline_slots, batch, in_flight}, *driven.clock);
    return *target;
  }
  // Milliseconds from one answer to the next, once it runs.
  double period(const std::string& scenario, const std::map<std::string, std::string>& options = {}) {
    driven.drive(make(), scenario, batch, counts(40), options);
    const auto& timings = driven.kept.timings;
    return static_cast<double>(timings.at(39).end - timings.at(9).end) / 30 / static_cast<double>(ms);
  }
  double mean_ms(const StageLog& log, Stage stage) const {
    const RatioSeries& series = log.ms[static_cast<size_t>(stage)];
    return series.sum_y() / series.sum_x();
  }
};

TEST(EndToEndTarget, SeriallyAQueryTakesTheSumOfItsStages) {
  Rig rig;
  EXPECT_DOUBLE_EQ(rig.period("single-stream"), 14);
  const StageLog log = rig.target->take_log();
  EXPECT_EQ(log.prepare_ms.count(), 40);
  EXPECT_DOUBLE_EQ(rig.mean_ms(log, Stage::wait_decode), 0);
  EXPECT_DOUBLE_EQ(rig.mean_ms(log, Stage::read), 1);
  EXPECT_DOUBLE_EQ(rig.mean_ms(log, Stage::decode), 6);
  EXPECT_DOUBLE_EQ(rig.mean_ms(log, Stage::preprocess), 2);
  EXPECT_DOUBLE_EQ(rig.mean_ms(log, Stage::wait_infer), 0);
  EXPECT_DOUBLE_EQ(rig.mean_ms(log, Stage::compute), 5);
  EXPECT_EQ(rig.target->take_log().prepare_ms.count(), 0) << "taken";
}

TEST(EndToEndTarget, OverlappedTheSlowestStageSetsThePace) {
  Rig one_thread;
  one_thread.pipeline_slots = 3;
  EXPECT_DOUBLE_EQ(one_thread.period("batch", {{"in_flight", "3"}}), 9) << "one thread decodes";
  Rig two_threads;
  two_threads.pipeline_slots = 4;
  two_threads.script.threads = 2;
  EXPECT_DOUBLE_EQ(two_threads.period("batch", {{"in_flight", "4"}}), 5) << "the session computes";
  EXPECT_EQ(two_threads.session->most_in_flight, 1) << "no more than it holds";
}

TEST(EndToEndTarget, WithOneLaneQueriesInFlightDoNotOverlap) {
  Rig rig;
  rig.in_flight = 4;
  EXPECT_DOUBLE_EQ(rig.period("batch", {{"in_flight", "4"}}), 14);
  EXPECT_DOUBLE_EQ(rig.mean_ms(rig.target->take_log(), Stage::wait_decode), (14.0 + 28 + 42 * 40) / 43)
      << "behind three others, with those of the end";
}

TEST(EndToEndTarget, OfflineAndServerRunToo) {
  Rig offline;
  offline.pipeline_slots = offline.in_flight = 3;
  EXPECT_DOUBLE_EQ(offline.period("offline"), 9);
  Rig server;
  server.pipeline_slots = 3;
  server.driven.drive(server.make(), "constant", 1, lasting(1000 * ms), {{"rate", "50"}});
  ASSERT_GE(server.driven.kept.timings.size(), 49U);
  for (const Timing& timing : server.driven.kept.timings) EXPECT_EQ(timing.end - timing.scheduled, 14 * ms);
}

TEST(EndToEndTarget, ThreadsShareTheSamplesOfAQuery) {
  Rig rig;
  rig.batch = 4;
  rig.script.threads = 2;
  EXPECT_DOUBLE_EQ(rig.period("batch"), 18 + 5) << "two rounds of two samples";
  const StageLog log = rig.target->take_log();
  EXPECT_DOUBLE_EQ(rig.mean_ms(log, Stage::decode), 12) << "of the 18 ms that passed";
  EXPECT_DOUBLE_EQ(log.prepare_ms.sum_y() / log.prepare_ms.sum_x(), 9) << "of a thread's time, a sample";
}

// A Target that answers with what it read.
class ReadingSession final : public Target {
 public:
  ReadingSession(InputBuffers& buffers, Clock& clock) : buffers_(buffers), clock_(clock) {}
  std::vector<std::vector<float>> read;
  bool cancelled = false;
  TargetLimits limits() const override { return {4, 2}; }
  void on_completion(TargetCompletion completion) override { completion_ = std::move(completion); }
  void load(std::span<const uint32_t> indices) override { loaded_ = indices.size(); }
  void unload(std::span<const uint32_t> /*indices*/) override {}
  void submit(std::span<const Query> queries) override {
    for (const Query& query : queries) {
      std::vector<float>& values = read.emplace_back();
      for (const uint32_t index : query.samples) values.push_back(buffers_.sample(index)[0].as<float>()[0]);
      // The second answers before the first.
      const Completed done{query.id, 0, static_cast<uint32_t>(query.samples.size())};
      clock_.schedule(clock_.now() + (read.size() % 2 == 1 ? 7 : 2) * ms, [this, done] { completion_(std::span(&done, 1)); });
    }
  }
  void flush() override {}
  void cancel() override { cancelled = true; }
  size_t loaded() const { return loaded_; }

 private:
  InputBuffers& buffers_;
  Clock& clock_;
  TargetCompletion completion_;
  size_t loaded_ = 0;
};

struct ReadingRig {
  std::unique_ptr<Clock> clock = make_virtual_clock();
  InputBuffers buffers{item, 6};
  ReadingSession session{buffers, *clock};
  std::unique_ptr<EndToEndTarget> target;
  std::map<uint64_t, Status> answered;

  explicit ReadingRig(const ScriptedPreparer::Script& script) {
    target = make_end_to_end_target(session, buffers, std::make_unique<ScriptedPreparer>(*clock, script), {3, 2, 6}, *clock);
    target->on_completion([this](std::span<const Completed> completed) {
      for (const Completed& c : completed) {
        EXPECT_TRUE(answered.emplace(c.query, c.status).second) << "query " << c.query << " was answered twice";
      }
      clock->notify();
    });
  }
  void submit(uint64_t id, std::vector<uint32_t> samples) {
    const Query query{id, 0, samples};
    target->submit(std::span(&query, 1));
  }
  void wait_for(size_t answers) {
    while (answered.size() < answers) clock->wait_until(never);
  }
};

TEST(EndToEndTarget, EveryQueryIsComputedOnItsOwnSamples) {
  ReadingRig rig({2, 1 * ms, 1 * ms, 1 * ms, {}});
  EXPECT_EQ(rig.session.loaded(), 6U);
  EXPECT_EQ(rig.target->limits().max_in_flight, 6);
  std::vector<std::vector<float>> expected;
  for (uint32_t i = 0; i < 6; ++i) {
    rig.submit(100 + i, {10 * i, 10 * i + 1});
    expected.push_back({static_cast<float>(10 * i), static_cast<float>(10 * i + 1)});
  }
  rig.wait_for(6);
  EXPECT_THAT(rig.session.read, testing::UnorderedElementsAreArray(expected));
  for (const auto& [query, status] : rig.answered) EXPECT_EQ(status, Status::ok) << query;
}

TEST(EndToEndTarget, ASampleThatCannotBePreparedFailsItsQueryWithTheReason) {
  ReadingRig rig({1, 1 * ms, 1 * ms, 1 * ms, {3}});
  rig.submit(1, {0, 1});
  rig.submit(2, {2, 3});
  rig.wait_for(2);
  EXPECT_EQ(rig.answered.at(1), Status::ok);
  EXPECT_EQ(rig.answered.at(2), Status::failed);
  EXPECT_THAT(error_of([&] { rig.target->flush(); }), HasSubstr("broken as scripted"));
  EXPECT_THAT(error_of([&] { rig.submit(3, {0, 1}); }), HasSubstr("broken as scripted"));
}

TEST(EndToEndTarget, CancelAnswersEveryQueryWhateverStageItIsIn) {
  ReadingRig rig({1, 10 * ms, 10 * ms, 10 * ms, {}});
  for (uint32_t i = 0; i < 6; ++i) rig.submit(i, {0, 1});
  rig.clock->wait_until(65 * ms);  // the first is in the Session, two are prepared, three wait
  rig.target->cancel();
  EXPECT_TRUE(rig.session.cancelled);
  EXPECT_EQ(rig.answered.size(), 6U);
  EXPECT_EQ(rig.answered.at(0), Status::ok) << "had begun";
  for (uint64_t query = 1; query < 6; ++query) EXPECT_EQ(rig.answered.at(query), Status::cancelled);
  rig.answered.clear();
  rig.submit(7, {4, 5});
  rig.wait_for(1);
  EXPECT_EQ(rig.answered.at(7), Status::ok) << "and goes on";
}

// Decoded queries are joined to batches: a batch of two takes the 5 ms of one.
TEST(EndToEndTarget, ADispatcherStandsBehindTheDecoding) {
  Driven driven;
  InputBuffers buffers(item, 6);
  auto session = std::make_unique<ReadingSession>(buffers, *driven.clock);
  ReadingSession& reading = *session;
  DispatcherSettings dispatching;
  dispatching.max_batch = 2;
  dispatching.max_delay = 4 * ms;
  std::vector<DispatcherInstance> instances;
  instances.push_back({"cpu", std::move(session)});
  const auto dispatcher = make_dispatcher(std::move(instances), dispatching, *driven.clock);
  const auto target = make_end_to_end_target(
      *dispatcher, buffers, std::make_unique<ScriptedPreparer>(*driven.clock, ScriptedPreparer::Script{1, 1 * ms, 1 * ms, 1 * ms, {}}),
      {6, 1, 6}, *driven.clock);
  driven.drive(*target, "batch", 1, counts(20), {{"in_flight", "6"}});
  ASSERT_GE(reading.read.size(), 10U);
  for (const std::vector<float>& batch : reading.read) EXPECT_LE(batch.size(), 2U);
  EXPECT_THAT(reading.read, testing::Contains(testing::ElementsAre(0.0F, 1.0F))) << "samples of two queries";
}

// Prepares on a thread of its own, at once.
class ThreadPreparer final : public SamplePreparer {
 public:
  explicit ThreadPreparer(Clock& clock) : clock_(clock), target_(TargetLimits{1, 64}, 2) {}
  void on_prepared(Prepared prepared) override {
    target_.on_completion([this, prepared = std::move(prepared)](std::span<const Completed> completed) {
      const Nanoseconds now = clock_.now();
      for (const Completed& c : completed) prepared({c.query, now, now, now, now, ""});
    });
  }
  void prepare(uint32_t /*index*/, std::span<std::byte> input, uint64_t tag) override {
    input[0] = std::byte{1};
    const Query query{tag, 0, one_};
    target_.submit(std::span(&query, 1));
  }
  void withdraw() override { target_.cancel(); }

 private:
  Clock& clock_;
  std::array<uint32_t, 1> one_{0};
  ThreadedTarget target_;
};

// This test is for ThreadSanitizer: preparer, Session and scenario run on threads of their own.
TEST(EndToEndTarget, AnswersFromManyThreads) {
  for (const int64_t pipeline_slots : {1, 4}) {
    Driven driven;
    driven.clock = make_real_clock();
    InputBuffers buffers(item, pipeline_slots * 2);
    ThreadedTarget session({2, 2}, 2);
    const auto target =
        make_end_to_end_target(session, buffers, std::make_unique<ThreadPreparer>(*driven.clock), {pipeline_slots, 2, 6}, *driven.clock);
    driven.drive(*target, "batch", 2, counts(500), {{"in_flight", "6"}});
    EXPECT_EQ(driven.kept.timings.size(), 500U);
    EXPECT_GE(target->take_log().prepare_ms.count(), 500);
  }
}

}  // namespace
}  // namespace deepgap
