// Several queries at a time: each stream a thread with CPUs of its own, weights shared.
#include "backends/native/native_backend.h"
#include "backends/native/query_runner.h"
#include "backends/native/test_network.h"
#include "engine/cpu/team.h"
#include "model/eval/evaluator.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace deepgap {
namespace {

using namespace std::chrono_literals;
using testing::expect_rows;
using testing::Samples;
using testing::small_net;
using testing::SummarizedModel;

LoadOptions stream_options(int streams, int threads, int slots = 1) {
  LoadOptions options;
  options.batch_sizes = {1, 2};
  options.threads = threads;
  options.slots = slots;
  options.options["streams"] = std::to_string(streams);
  return options;
}

// Counts what comes, from any thread. What a test waits for comes within a minute, or it fails.
class Heard {
 public:
  void add(std::span<const Done> all) {
    const std::lock_guard lock(mutex_);
    for (const Done& done : all) statuses_[done.tag].push_back(done.status);
    for (const Done& done : all)
      if (done.error != nullptr) error_ = done.error->what();
  }
  std::string error() const {
    const std::lock_guard lock(mutex_);
    return error_;
  }
  std::map<uint64_t, std::vector<Status>> statuses() const {
    const std::lock_guard lock(mutex_);
    return statuses_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, std::vector<Status>> statuses_;
  std::string error_;  // the last
};

template <typename Condition>
bool comes_true(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(100us);
  return condition();
}

TEST(NativeStreams, AllOfThemAnswerRight) {
  const SummarizedModel model(small_net());
  for (const std::string path : {"fast", "plain"}) {
    NativeBackend backend;
    Heard heard;
    LoadOptions options = stream_options(3, 4, 5);
    options.options["path"] = path;
    options.completion = [&](std::span<const Done> done) { heard.add(done); };
    const auto session = backend.load(model, options);
    ASSERT_EQ(session->slots(), 5);
    const Samples samples(6, false);
    session->stage(samples.views);
    const auto reference = evaluate(model.graph(), std::vector<Tensor>{samples.block})[0];
    for (uint32_t round = 0; round < 20; ++round) {
      for (uint32_t slot = 0; slot < 5; ++slot) {
        const std::vector<uint32_t> chosen{(round + slot) % 6, slot};
        session->enqueue(static_cast<int>(slot), chosen, round * 5 + slot);
      }
      session->drain();
      for (uint32_t slot = 0; slot < 5; ++slot)
        expect_rows(session->outputs(static_cast<int>(slot))[0], reference, {(round + slot) % 6, slot});
    }
    EXPECT_EQ(heard.statuses().size(), 100U);
    for (const auto& [tag, statuses] : heard.statuses()) EXPECT_EQ(statuses, std::vector<Status>{Status::ok}) << path << ' ' << tag;
    EXPECT_FALSE(session->layer_timings().empty());
  }
}

// Each delivery waits for the other: with one query at a time none would come.
TEST(NativeStreams, RunBesideEachOther) {
  const SummarizedModel model(small_net());
  NativeBackend backend;
  std::atomic<int> delivering{0};
  std::atomic<bool> together{true};
  LoadOptions options = stream_options(2, 2);
  options.completion = [&](std::span<const Done>) {
    ++delivering;
    if (!comes_true([&] { return delivering == 2; })) together = false;
  };
  const auto session = backend.load(model, options);
  EXPECT_EQ(session->slots(), 2) << "a slot for each stream, though one was asked for";
  const Samples samples(2, true);
  session->stage(samples.views);
  session->enqueue(0, std::vector<uint32_t>{0}, 1);
  session->enqueue(1, std::vector<uint32_t>{1}, 2);
  session->drain();
  EXPECT_TRUE(together);
}

TEST(NativeStreams, CancelGivesUpWhatHasNotBegun) {
  const SummarizedModel model(small_net());
  NativeBackend backend;
  Heard heard;
  std::atomic<int> held{0};
  std::atomic<bool> cancelled{false};
  LoadOptions options = stream_options(2, 2, 5);
  options.completion = [&](std::span<const Done> done) {
    heard.add(done);
    if (done[0].status == Status::cancelled) cancelled = true;
    if (held++ < 2) comes_true([&] { return cancelled.load(); });  // both streams are kept busy
  };
  const auto session = backend.load(model, options);
  const Samples samples(2, true);
  session->stage(samples.views);
  for (int slot = 0; slot < 5; ++slot) session->enqueue(slot, std::vector<uint32_t>{0}, static_cast<uint64_t>(slot));
  ASSERT_TRUE(comes_true([&] { return held == 2; }));
  session->cancel();
  int ok = 0, given_up = 0;
  for (const auto& [tag, statuses] : heard.statuses()) {
    ASSERT_EQ(statuses.size(), 1U) << tag;
    ok += statuses[0] == Status::ok ? 1 : 0;
    given_up += statuses[0] == Status::cancelled ? 1 : 0;
  }
  EXPECT_EQ(ok, 2);
  EXPECT_EQ(given_up, 3);
  session->enqueue(4, std::vector<uint32_t>{1}, 9);
  session->drain();
  EXPECT_EQ(heard.statuses()[9], std::vector<Status>{Status::ok});
  const auto reference = evaluate(model.graph(), std::vector<Tensor>{samples.block})[0];
  expect_rows(session->outputs(4)[0], reference, {1});
}

TEST(NativeStreams, ASessionMayGoWithQueriesInFlight) {
  const SummarizedModel model(small_net());
  NativeBackend backend;
  Heard heard;
  const Samples samples(1, true);
  {
    LoadOptions options = stream_options(2, 2, 8);
    options.completion = [&](std::span<const Done> done) { heard.add(done); };
    const auto session = backend.load(model, options);
    session->stage(samples.views);
    for (int slot = 0; slot < 8; ++slot) session->enqueue(slot, std::vector<uint32_t>{0}, static_cast<uint64_t>(slot));
  }
  EXPECT_EQ(heard.statuses().size(), 8U);
}

TEST(NativeStreams, TwoSessionsAtOnce) {
  const SummarizedModel model(small_net());
  NativeBackend backend;
  const auto first = backend.load(model, stream_options(2, 2)), second = backend.load(model, stream_options(3, 3));
  const Samples samples(6, true);
  const auto reference = evaluate(model.graph(), std::vector<Tensor>{samples.block})[0];
  for (Session* session : {first.get(), second.get()}) session->stage(samples.views);
  for (int round = 0; round < 10; ++round) {
    for (Session* session : {first.get(), second.get()})
      for (int slot = 0; slot < 2; ++slot) session->enqueue(slot, std::vector<uint32_t>{static_cast<uint32_t>(slot) + 2}, 0);
    for (Session* session : {first.get(), second.get()}) {
      session->drain();
      expect_rows(session->outputs(0)[0], reference, {2});
      expect_rows(session->outputs(1)[0], reference, {3});
    }
  }
}

TEST(NativeStreams, FailuresAreDelivered) {
  const SummarizedModel model(small_net());
  NativeBackend backend;
  Heard heard;
  LoadOptions options = stream_options(2, 2);
  options.completion = [&](std::span<const Done> done) { heard.add(done); };
  const auto session = backend.load(model, options);
  const Samples samples(3, true);
  session->stage(samples.views);
  session->enqueue(0, std::vector<uint32_t>{0, 1, 2}, 1);
  session->enqueue(1, std::vector<uint32_t>{2}, 2);
  session->drain();
  EXPECT_EQ(heard.statuses()[1], std::vector<Status>{Status::failed});
  EXPECT_EQ(heard.statuses()[2], std::vector<Status>{Status::ok});
  EXPECT_EQ(heard.error(), "native: 3 samples were enqueued, batch sizes loaded: 1, 2");
}

// A product whose weights are most of what a stream needs.
Graph heavy_net() {
  testing::GraphBuilder b;
  const ValueId flat = b.node("Flatten", {b.node("GlobalAveragePool", {b.conv(b.input({-1, 3, 16, 16}), 3, 512, 3)})});
  return b.finish({b.node("Gemm", {flat, b.weights({4096, 512}), b.weights({4096})}, {{"transB", int64_t{1}}})});
}

TEST(NativeStreams, WeightsAreThereOnce) {
  constexpr int64_t weight_bytes = 512 * 4096 * 4;
  const SummarizedModel model(heavy_net());
  NativeBackend backend;
  const auto reserved = [&](int streams) { return backend.load(model, stream_options(streams, streams))->memory().reserved_bytes; };
  const int64_t one = reserved(1), four = reserved(4);
  EXPECT_GT(one, weight_bytes);
  EXPECT_GT(four, one) << "each stream has activations of its own";
  EXPECT_LT(four - one, 3 * weight_bytes / 2) << "one " << one << " four " << four;
}

TEST(NativeStreams, EachStaysOnCpusOfItsOwn) {
  if (allowed_cpus().size() < 2) GTEST_SKIP() << "only one CPU is allowed here";
  const SummarizedModel model(small_net());
  NativeBackend backend;
  std::mutex mutex;
  std::map<std::thread::id, std::vector<int>> seen;
  std::atomic<int> delivering{0};
  LoadOptions options = stream_options(2, 2);
  options.completion = [&](std::span<const Done>) {
    {
      const std::lock_guard lock(mutex);
      seen[std::this_thread::get_id()] = allowed_cpus();
    }
    ++delivering;
    comes_true([&] { return delivering == 2; });  // so that each stream takes one
  };
  const auto session = backend.load(model, options);
  const Samples samples(1, true);
  session->stage(samples.views);
  for (int slot = 0; slot < 2; ++slot) session->enqueue(slot, std::vector<uint32_t>{0}, 0);
  session->drain();
  std::set<int> cpus;
  for (const auto& [thread, allowed] : seen) {
    EXPECT_EQ(allowed.size(), 1U);
    cpus.insert(allowed.begin(), allowed.end());
  }
  EXPECT_EQ(cpus.size(), 2U);
  EXPECT_GE(allowed_cpus().size(), 2U) << "the caller's own affinity is as it was";
}

TEST(NativeStreams, ShareTheThreads) {
  EXPECT_EQ(threads_by_stream(8, 2), (std::vector<int>{4, 4}));
  EXPECT_EQ(threads_by_stream(5, 3), (std::vector<int>{2, 2, 1}));
  EXPECT_EQ(threads_by_stream(2, 4), (std::vector<int>{1, 1, 1, 1}));
}

TEST(NativeStreams, WrongNumbersAreTheUsersMistake) {
  const SummarizedModel model(small_net());
  NativeBackend backend;
  for (const std::string wrong : {"0", "-1", "two", "2000"}) {
    LoadOptions options;
    options.options["streams"] = wrong;
    try {
      backend.load(model, options);
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_THAT(error.what(), ::testing::HasSubstr("invalid value '" + wrong + "' for streams: expected "));
    }
  }
}

}  // namespace
}  // namespace deepgap
