#include "scenario/session_target.h"

#include "base/clocks.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

namespace deepgap {
namespace {

// Sample i is the one number 100 + i.
class CountingDataset final : public Dataset {
 public:
  std::string describe() const override { return "counting"; }
  size_t size() const override { return values_.size(); }
  void load(std::span<const uint32_t> indices) override { loads += static_cast<int>(indices.size()); }
  void unload(std::span<const uint32_t> indices) override { loads -= static_cast<int>(indices.size()); }
  std::vector<TensorView> sample(uint32_t index) const override {
    return {TensorView{DataType::f32, shape_, reinterpret_cast<const std::byte*>(&values_[index])}};
  }
  int loads = 0;

 private:
  std::array<int64_t, 1> shape_{1};
  std::array<float, 6> values_{100, 101, 102, 103, 104, 105};
};

// Remembers what it was given; completes when the test says so.
class ManualSession final : public Session {
 public:
  struct Enqueued {
    int slot;
    std::vector<float> values;
    uint64_t tag;
    std::vector<uint32_t> positions;
  };
  explicit ManualSession(Completion completion) : completion_(std::move(completion)) {}
  int slots() const override { return 2; }
  void stage(std::span<const std::vector<TensorView>> inputs) override {
    staged.clear();
    for (const auto& input : inputs) staged.push_back(input[0].as<float>()[0]);
  }
  void enqueue(int slot, std::span<const uint32_t> samples, uint64_t tag) override {
    std::vector<float> values;
    for (const uint32_t position : samples) values.push_back(staged.at(position));
    enqueued.push_back({slot, values, tag, {samples.begin(), samples.end()}});
  }
  std::span<const TensorView> outputs(int /*slot*/) const override { return {}; }
  void drain() override {}
  void cancel() override { cancelled = true; }
  Error reason{ErrorKind::refused, "the engine's own words"};

  void finish(uint64_t tag, Status status = Status::ok) {
    const Done done{tag, status, {}, status == Status::failed ? &reason : nullptr};
    completion_(std::span(&done, 1));
  }
  std::vector<float> staged;
  std::vector<Enqueued> enqueued;
  bool cancelled = false;

 private:
  Completion completion_;
};

struct SessionTargetTest : testing::Test {
  CountingDataset dataset;
  ManualSession* session = nullptr;
  std::unique_ptr<Clock> clock = make_virtual_clock();
  std::unique_ptr<Target> target = make_session_target(
      [this](Completion completion) {
        auto made = std::make_unique<ManualSession>(std::move(completion));
        session = made.get();
        return made;
      },
      dataset, 3, SampleLayout::as_they_are);
  std::vector<std::pair<uint64_t, uint32_t>> completed;  // query, samples

  SessionTargetTest() {
    target->on_completion([this](std::span<const Completed> all) {
      for (const Completed& c : all) completed.emplace_back(c.query, c.count);
    });
  }
  void load(std::vector<uint32_t> indices) { target->load(indices); }
  void submit(uint64_t id, std::vector<uint32_t> samples) {
    const Query query{id, 0, samples};
    target->submit(std::span(&query, 1));
  }
};

TEST_F(SessionTargetTest, QueriesBecomeStagedSamples) {
  load({5, 2, 3});
  EXPECT_EQ(target->limits().max_samples, 3);
  EXPECT_EQ(target->limits().max_in_flight, 2);
  submit(70, {2, 5, 2});
  EXPECT_EQ(session->enqueued[0].values, (std::vector<float>{102, 105, 102}));
  EXPECT_EQ(session->enqueued[0].slot, 0);
  session->finish(session->enqueued[0].tag);
  EXPECT_EQ(completed, (std::vector<std::pair<uint64_t, uint32_t>>{{70, 3}}));
}

TEST(SessionTarget, ABatchThatGoesRoundTheSamplesIsOnePieceOfMemory) {
  CountingDataset dataset;
  ManualSession* session = nullptr;
  const auto target = make_session_target(
      [&](Completion completion) {
        auto made = std::make_unique<ManualSession>(std::move(completion));
        session = made.get();
        return made;
      },
      dataset, 3, SampleLayout::adjacent);
  target->load(std::array<uint32_t, 2>{5, 2});
  EXPECT_EQ(session->staged, (std::vector<float>{105, 102, 105, 102}));
  const std::array<uint32_t, 3> round{2, 5, 2};
  const Query query{1, 0, round};
  target->submit(std::span(&query, 1));
  EXPECT_EQ(session->enqueued[0].positions, (std::vector<uint32_t>{1, 2, 3}));
  session->finish(session->enqueued[0].tag);
}

TEST_F(SessionTargetTest, TheLowestFreeSlotIsTaken) {
  load({0});
  submit(1, {0});
  submit(2, {0});
  EXPECT_EQ(session->enqueued[1].slot, 1);
  EXPECT_THROW(submit(3, {0}), Error) << "two slots";
  session->finish(session->enqueued[0].tag);
  submit(4, {0});
  EXPECT_EQ(session->enqueued[2].slot, 0);
  session->finish(session->enqueued[2].tag);
  session->finish(session->enqueued[1].tag);
  EXPECT_EQ(completed, (std::vector<std::pair<uint64_t, uint32_t>>{{1, 1}, {4, 1}, {2, 1}}));
}

TEST_F(SessionTargetTest, LoadAddsAndUnloadTakesAway) {
  load({1, 2});
  load({2, 4});
  EXPECT_EQ(session->staged, (std::vector<float>{101, 102, 104}));
  target->unload(std::vector<uint32_t>{1});
  EXPECT_EQ(session->staged, (std::vector<float>{102, 104}));
  submit(1, {4});
  EXPECT_EQ(session->enqueued[0].values, (std::vector<float>{104}));
  EXPECT_THROW(submit(2, {1}), Error);
  EXPECT_THROW(submit(3, {99}), Error);
}

TEST_F(SessionTargetTest, AFailureIsToldInTheEnginesWords) {
  load({0});
  submit(1, {0});
  target->flush();
  session->finish(session->enqueued[0].tag, Status::failed);
  target->cancel();
  EXPECT_TRUE(session->cancelled);
  try {
    target->flush();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the engine's own words");
  }
  EXPECT_THROW(submit(2, {0}), Error);
}

TEST_F(SessionTargetTest, AFailureIsInternalUnlessItWasTheMemoryTheDeviceOrTheRequest) {
  load({0});
  submit(1, {0});
  const auto told = [&](ErrorKind kind) {
    session->reason = Error(kind, "the engine's own words");
    session->finish(session->enqueued[0].tag, Status::failed);
    try {
      target->flush();
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::usage;
  };
  EXPECT_EQ(told(ErrorKind::out_of_memory), ErrorKind::out_of_memory);
  EXPECT_EQ(told(ErrorKind::device_lost), ErrorKind::device_lost);
  EXPECT_EQ(told(ErrorKind::refused), ErrorKind::refused);
}

// The completion that is running when it is replaced has ended when on_completion() returns.
TEST_F(SessionTargetTest, ReplacingTheCompletionWaitsForARunningOne) {
  load({0});
  std::atomic<bool> inside{false}, ended{false};
  target->on_completion([&](std::span<const Completed>) {
    inside = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ended = true;
  });
  submit(1, {0});
  std::jthread finisher([&] { session->finish(session->enqueued[0].tag); });
  while (!inside) std::this_thread::yield();
  target->on_completion({});
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace deepgap
