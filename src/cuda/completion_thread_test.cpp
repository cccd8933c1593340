#include "cuda/completion_thread.h"

#include "base/clocks.h"
#include "base/test_error.h"
#include "cuda/fake_driver.h"

#include <gmock/gmock.h>

#include <memory>
#include <optional>
#include <semaphore>
#include <string>

namespace deepgap::cuda {
namespace {

using testing::HasSubstr;

class CompletionThreadTest : public testing::Test {
 protected:
  CompletionThreadTest() : thread_(std::in_place, context_, *clock_, completion_) {}
  ~CompletionThreadTest() override { fake_.hold(false); }

  void enqueue(QueryEvents& query, uint64_t tag) {
    thread_->enqueue(query, tag, [&] {
      for (const auto stage : {QueryEvents::first, QueryEvents::copied, QueryEvents::computed, QueryEvents::last})
        query.record(stage, stream_.get());
    });
  }
  std::vector<std::pair<uint64_t, Status>> done() {
    const std::lock_guard lock(mutex_);
    return done_;
  }

  std::string error() {
    const std::lock_guard lock(mutex_);
    return error_;
  }

  FakeDriver fake_;
  DriverStandIn driver_{fake_.table()};
  std::unique_ptr<Clock> clock_ = make_real_clock();
  DeviceContext context_{0};
  std::mutex mutex_;
  std::vector<std::pair<uint64_t, Status>> done_;
  std::vector<Mark> marks_;
  std::string error_;  // error of the last query that failed
  Completion completion_ = [this](std::span<const Done> all) {
    const std::lock_guard lock(mutex_);
    for (const Done& one : all) {
      done_.emplace_back(one.tag, one.status);
      marks_.assign(one.marks.begin(), one.marks.end());
      if (one.error != nullptr) error_ = one.error->what();
    }
  };
  Stream stream_;
  std::optional<CompletionThread> thread_;
};

const std::pair<uint64_t, Status> first_ok{1, Status::ok}, second_ok{2, Status::ok};

TEST_F(CompletionThreadTest, DeliversWhatEndedWithItsMarks) {
  QueryEvents query;
  enqueue(query, 1);
  thread_->drain();
  EXPECT_THAT(done(), testing::ElementsAre(first_ok));
  ASSERT_EQ(marks_.size(), 6u);
  EXPECT_EQ(marks_[1].ns, 0) << "h2d begins";
  EXPECT_EQ(marks_[2].ns, 1000) << "an event each microsecond";
  EXPECT_EQ(marks_[4].ns, 3000);
  EXPECT_GE(marks_[5].ns, marks_[0].ns);
}

TEST_F(CompletionThreadTest, AQueryThatCopiesNothingBackEndsWithItsWork) {
  QueryEvents query;
  enqueue(query, 1);
  thread_->drain();
  thread_->enqueue(query, 2, [&] {
    for (const auto stage : {QueryEvents::first, QueryEvents::copied, QueryEvents::computed}) query.record(stage, stream_.get());
  });
  thread_->drain();
  EXPECT_EQ(done().back(), second_ok);
  EXPECT_EQ(marks_[3].ns, 2000);
  EXPECT_EQ(marks_[4].ns, 2000) << "the event of the query before does not count";
}

TEST_F(CompletionThreadTest, AQueryThatCopiesNothingInBeginsWithItsWork) {
  QueryEvents query;
  enqueue(query, 1);
  thread_->drain();
  thread_->enqueue(query, 2, [&] {
    for (const auto stage : {QueryEvents::first, QueryEvents::computed, QueryEvents::last}) query.record(stage, stream_.get());
  });
  thread_->drain();
  EXPECT_EQ(done().back(), second_ok);
  EXPECT_EQ(marks_[1].ns, 0);
  EXPECT_EQ(marks_[2].ns, 0) << "the event of the query before does not count";
  EXPECT_EQ(marks_[3].ns, 1000);
  EXPECT_EQ(marks_[4].ns, 2000);
}

TEST_F(CompletionThreadTest, AStampedQueryEndsWithItsStamp) {
  const QueryStamps stamps;
  QueryEvents query;
  fake_.hold(true);
  thread_->enqueue(query, 1, [&] {
    query.stamp(stamps);
    query.record(QueryEvents::computed, stream_.get());
    *stamps.begin() = 500, *stamps.end() = 1700;
  });
  thread_->drain();
  EXPECT_THAT(done(), testing::ElementsAre(first_ok)) << "its event has not passed";
  EXPECT_EQ(marks_[1].ns, 0);
  EXPECT_EQ(marks_[2].ns, 0);
  EXPECT_EQ(marks_[3].ns, 1200);
  EXPECT_EQ(marks_[4].ns, 1200);
  fake_.hold(false);
  enqueue(query, 2);
  thread_->drain();
  EXPECT_EQ(marks_[3].ns, 2000) << "the stamps of the query before do not count";
}

TEST_F(CompletionThreadTest, WorkThatFailsBeforeItsStampIsToldByItsEvent) {
  const QueryStamps stamps;
  QueryEvents query;
  *stamps.begin() = 1, *stamps.end() = 2;  // as the query before left them
  fake_.lose("cuEventSynchronize");
  thread_->enqueue(query, 1, [&] {
    query.stamp(stamps);
    query.record(QueryEvents::computed, stream_.get());
  });
  thread_->drain();
  EXPECT_EQ(done().back().second, Status::failed);
  EXPECT_THAT(error(), HasSubstr("device lost"));
}

TEST_F(CompletionThreadTest, SeveralInFlightAreAllDelivered) {
  QueryEvents queries[2];
  fake_.hold(true);
  enqueue(queries[0], 1);
  enqueue(queries[1], 2);
  EXPECT_TRUE(done().empty());
  fake_.hold(false);
  thread_->drain();
  EXPECT_THAT(done(), testing::UnorderedElementsAre(first_ok, second_ok));
}

// The second query of each pair is launched while the first is delivered: the thread sees it without being woken for it.
TEST_F(CompletionThreadTest, AnAwakeThreadDoesNotSleepBetweenQueries) {
  const auto still = make_virtual_clock();  // it never becomes time to sleep
  std::binary_semaphore delivers{0}, launched{0};
  const Completion meet = [&](std::span<const Done> all) {
    if (all.front().tag != 1) return;
    delivers.release();
    launched.acquire();
  };
  thread_.emplace(context_, *still, meet, true);
  QueryEvents queries[2];
  for (int pair = 0; pair < 50; ++pair) {
    enqueue(queries[0], 1);
    delivers.acquire();
    enqueue(queries[1], 2);
    launched.release();
    thread_->drain();
  }
  EXPECT_EQ(thread_->sleeps(), 0);
  thread_.reset();
}

TEST_F(CompletionThreadTest, StoppingDeliversWhatIsInFlight) {
  QueryEvents query;
  enqueue(query, 1);
  thread_->stop();
  EXPECT_THAT(done(), testing::ElementsAre(first_ok));
  thread_.reset();
}

TEST_F(CompletionThreadTest, AQueryThatFailsAtItsLaunchHarmsNoOther) {
  QueryEvents query;
  thread_->enqueue(query, 1, [] { throw Error(ErrorKind::out_of_memory, "out of memory: as a test has it"); });
  EXPECT_THAT(done(), testing::ElementsAre(std::pair{uint64_t{1}, Status::failed}));
  EXPECT_EQ(error(), "out of memory: as a test has it");
  EXPECT_FALSE(thread_->lost());
  enqueue(query, 2);
  thread_->drain();
  EXPECT_EQ(done().back(), second_ok);
}

TEST_F(CompletionThreadTest, ALostDeviceFailsWhatIsInFlightAndTakesNothingMore) {
  QueryEvents queries[2];
  fake_.hold(true);
  enqueue(queries[0], 1);
  fake_.lose("cuEventRecord");
  EXPECT_THAT(error_of([&] { enqueue(queries[1], 2); }, ErrorKind::device_lost), HasSubstr("device lost: CUDA_ERROR_ILLEGAL_ADDRESS"));
  thread_->drain();
  EXPECT_THAT(done(), testing::UnorderedElementsAre(std::pair{uint64_t{1}, Status::failed}, std::pair{uint64_t{2}, Status::failed}));
  EXPECT_TRUE(thread_->lost());
  EXPECT_THAT(error_of([&] { enqueue(queries[0], 3); }, ErrorKind::device_lost), HasSubstr("ILLEGAL_ADDRESS"));
  EXPECT_EQ(done().size(), 2u) << "it was refused, not failed";
  fake_.mend();  // gives back what the test made: a lost context takes nothing back
}

}  // namespace
}  // namespace deepgap::cuda
