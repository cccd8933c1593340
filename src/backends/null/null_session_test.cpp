// In virtual time: every completion is exact.
#include "backends/null/null_backend.h"
#include "base/clocks.h"
#include "base/test_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr Nanoseconds ms = 1'000'000;
using Script = std::map<std::string, std::string>;

// Two outputs: [N, 10] floats and a fixed [4] of int64.
class TwoOutputs final : public TestModel {
 public:
  TwoOutputs() {
    graph_.values = {
        {"x", DataType::f32, Dims{{1, "N"}, {3, ""}}}, {"y", DataType::f32, Dims{{1, "N"}, {10, ""}}}, {"z", DataType::i64, Dims{{4, ""}}}};
    graph_.inputs = {0};
    graph_.outputs = {1, 2};
  }
};

// A loaded null session and what it delivered: (tag, time), with statuses beside.
class Rig {
 public:
  explicit Rig(Script script, int slots = 4) {
    LoadOptions options{{.batch_sizes = {1, 8}, .options = std::move(script)}, slots, {}, clock.get(), {}};
    options.completion = [this](std::span<const Done> done) {
      for (const Done& one : done) {
        delivered.emplace_back(one.tag, clock->now());
        statuses.push_back(one.status);
        if (one.error != nullptr) error = one.error->what();
        marks.assign(one.marks.begin(), one.marks.end());
      }
    };
    session = NullBackend().load(model, options);
    session->stage(std::vector<std::vector<TensorView>>(8));
  }
  void enqueue(int slot, uint64_t tag, size_t samples = 1) { session->enqueue(slot, std::span(indices).first(samples), tag); }

  TwoOutputs model;
  std::unique_ptr<Clock> clock = make_virtual_clock();
  std::vector<std::pair<uint64_t, Nanoseconds>> delivered;
  std::string error;  // the last
  std::vector<Status> statuses;
  std::vector<Mark> marks;
  std::unique_ptr<Session> session;
  std::vector<uint32_t> indices{0, 1, 2, 3, 4, 5, 6, 7};
};

TEST(NullSession, ServesOneAfterTheOther) {
  Rig rig(Script{{"latency", "3ms"}});
  rig.enqueue(0, 10);
  rig.enqueue(1, 11);
  rig.session->drain();
  EXPECT_THAT(rig.delivered, ElementsAre(Pair(10, 3 * ms), Pair(11, 6 * ms)));
  EXPECT_THAT(rig.marks, ElementsAre(testing::Field(&Mark::ns, 3 * ms), testing::Field(&Mark::ns, 6 * ms)));
}

TEST(NullSession, ConcurrencyServesTogether) {
  Rig rig(Script{{"latency", "3ms"}, {"concurrency", "2"}});
  for (int i = 0; i < 3; ++i) rig.enqueue(i, static_cast<uint64_t>(i));
  rig.session->drain();
  EXPECT_THAT(rig.delivered, ElementsAre(Pair(0, 3 * ms), Pair(1, 3 * ms), Pair(2, 6 * ms)));
}

TEST(NullSession, ZeroLatencyCompletesInsideEnqueue) {
  Rig rig(Script{{"latency", "0ns"}});
  rig.enqueue(0, 7);
  EXPECT_THAT(rig.delivered, ElementsAre(Pair(7, 0)));
}

TEST(NullSession, SamplesAddTime) {
  Rig rig(Script{{"latency", "1ms"}, {"per_sample", "2ms"}});
  rig.enqueue(0, 0, 8);
  rig.session->drain();
  EXPECT_EQ(rig.delivered.front().second, 17 * ms);
}

TEST(NullSession, LoadTakesItsTime) {
  const Rig rig(Script{{"load_time", "250ms"}});
  EXPECT_EQ(rig.clock->now(), 250 * ms);
}

TEST(NullSession, OutputsAreZerosOfThisRunsShape) {
  Rig rig(Script{});
  rig.enqueue(2, 0, 5);
  rig.session->drain();
  const auto outputs = rig.session->outputs(2);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(outputs[0].shape, ElementsAre(5, 10));
  EXPECT_THAT(outputs[1].shape, ElementsAre(4));
  EXPECT_EQ(outputs[1].type, DataType::i64);
  EXPECT_THAT(outputs[0].as<float>(), testing::Each(0.0f));
  rig.enqueue(2, 1, 2);
  EXPECT_THAT(rig.session->outputs(2)[0].shape, ElementsAre(2, 10));
  rig.session->drain();
}

TEST(NullSession, FailuresAreDeliveredWithTheirReason) {
  Rig rig(Script{{"fail_at", "1/3-4"}});
  for (uint64_t i = 0; i < 6; ++i) {
    rig.enqueue(0, i);
    rig.session->drain();
  }
  EXPECT_THAT(rig.statuses, ElementsAre(Status::ok, Status::failed, Status::ok, Status::failed, Status::failed, Status::ok));
  EXPECT_EQ(rig.error, "query 4 failed as scripted");
}

TEST(NullSession, CancelGivesUpWhatHasNotBegun) {
  Rig rig(Script{{"latency", "3ms"}});
  for (int i = 0; i < 3; ++i) rig.enqueue(i, static_cast<uint64_t>(i));
  rig.clock->wait_until(1 * ms);
  rig.session->cancel();
  EXPECT_THAT(rig.delivered, ElementsAre(Pair(1, 1 * ms), Pair(2, 1 * ms), Pair(0, 3 * ms)));
  EXPECT_THAT(rig.statuses, ElementsAre(Status::cancelled, Status::cancelled, Status::ok));
  // The cancelled ones left no trace in the queue, and their scheduled work completes nothing.
  rig.enqueue(1, 9);
  rig.session->drain();
  EXPECT_EQ(rig.delivered.back(), std::pair(uint64_t{9}, 6 * ms));
  rig.clock->wait_until(100 * ms);
  EXPECT_EQ(rig.delivered.size(), 4u);
}

TEST(NullSession, MayGoBeforeItsClock) {
  Rig rig(Script{{"latency", "3ms"}});
  rig.enqueue(0, 1);
  rig.session.reset();
  rig.clock->wait_until(10 * ms);
  EXPECT_TRUE(rig.delivered.empty());
}

TEST(NullSession, HangingQueryHoldsItsServerForEver) {
  Rig rig(Script{{"latency", "3ms"}, {"hang_at", "1"}});
  for (int i = 0; i < 3; ++i) rig.enqueue(i, static_cast<uint64_t>(i));
  rig.clock->wait_until(1000 * ms);
  EXPECT_THAT(rig.delivered, ElementsAre(Pair(0, 3 * ms)));
  EXPECT_THROW(rig.session->drain(), Error);  // a virtual clock sees that nothing will ever come
}

TEST(NullSession, LoadFailsAsScripted) {
  const auto kind_of = [](const Script& script) {
    try {
      const Rig rig(script);
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::internal;
  };
  EXPECT_EQ(kind_of({{"refuse", "no such thing"}}), ErrorKind::refused);
  EXPECT_EQ(kind_of({{"oom_at_load", "8"}}), ErrorKind::out_of_memory);
  EXPECT_NO_THROW(Rig(Script{{"oom_at_load", "9"}}));
#ifdef DEEPGAP_SANITIZED
  GTEST_SKIP() << "without allocate_bytes: a sanitizer ends a process that asks for too much";
#endif
  EXPECT_EQ(kind_of({{"allocate_bytes", "9000000000000000000"}}), ErrorKind::out_of_memory);
}

TEST(NullSession, LostDeviceThrows) {
  Rig rig(Script{{"device_lost_at", "0"}});
  try {
    rig.enqueue(0, 0);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device_lost);
  }
}

TEST(NullSession, ProcessEndsAsScripted) {
  EXPECT_EXIT(Rig(Script{{"crash_at", "0"}}).enqueue(0, 0), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(Rig(Script{{"sigkill_at", "0"}}).enqueue(0, 0), testing::KilledBySignal(SIGKILL), "");
  EXPECT_EXIT(Rig(Script{{"exit_at", "0"}}).enqueue(0, 0), testing::ExitedWithCode(9), "");
  EXPECT_EXIT(Rig(Script{{"exit_at", "0"}, {"stderr", "last words"}}).enqueue(0, 0), testing::ExitedWithCode(9), "last words");
}

TEST(NullSession, VirtualTimeThatStandsStillEndsTheRun) {
  for (const Script& script : {Script{{"steps", "3:0ns"}}, {{"drift", "-1000"}}}) {
    Script in_virtual_time = script;
    in_virtual_time["clock"] = "virtual";
    Rig rig(in_virtual_time, 1);
    const auto drive = [&] {
      for (int64_t query = 0; query < 4'000'000; ++query) {
        rig.enqueue(0, 0);
        rig.session->drain();
        rig.delivered.clear();
        rig.statuses.clear();
      }
    };
    try {
      drive();
      FAIL() << "it goes on";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::refused);
      EXPECT_THAT(error.what(), HasSubstr("which does not pass any more"));
    }
    EXPECT_GT(rig.clock->now(), 0) << "the first queries took their time";
  }
}

TEST(NullBackend, SupportsEverythingButWrongOptions) {
  EngineRequest request{.precision = Precision::int8, .options = {{"latency", "2ms"}}};
  EXPECT_TRUE(NullBackend().supports(request, {}).ok);
  request.options["latency"] = "wrong";
  EXPECT_THROW(NullBackend().supports(request, {}), Error);
}

TEST(NullSession, TellsScriptedMemory) {
  EXPECT_EQ(Rig(Script{{"memory_bytes", "4096"}}).session->memory().peak_bytes, 4096);
  EXPECT_EQ(Rig(Script{}).session->memory().peak_bytes, -1);
}

TEST(NullSession, HarnessBugsAreFound) {
  Rig rig(Script{{"latency", "1ms"}});
  rig.enqueue(0, 0);
  EXPECT_THROW(rig.enqueue(0, 1), Error);     // busy
  EXPECT_THROW(rig.enqueue(4, 1), Error);     // no such slot
  EXPECT_THROW(rig.enqueue(1, 1, 0), Error);  // no samples
  rig.indices[0] = 8;
  EXPECT_THROW(rig.enqueue(1, 1), Error);  // not staged
  rig.session->drain();
}

}  // namespace
}  // namespace deepgap
