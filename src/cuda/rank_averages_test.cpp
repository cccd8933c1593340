// NCCL and the driver are played: two ranks are two threads, and their devices' memory is the host's.
#include "cuda/rank_averages.h"

#include "base/test_error.h"
#include "cuda/fake_driver.h"

#include <gmock/gmock.h>

#include <barrier>
#include <thread>
#include <vector>

namespace deepgap::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Averages of two ranks, made when the second one comes.
class FakeNccl {
 public:
  FakeNccl() { current() = this; }
  ~FakeNccl() { current() = nullptr; }
  FakeNccl(const FakeNccl&) = delete;
  FakeNccl& operator=(const FakeNccl&) = delete;

  Nccl table() {
    Nccl made;
    made.ncclGetVersion = [](int* version) { return *version = 22700, 0; };
    made.ncclGetErrorString = [](NcclResult) { return "unhandled system error"; };
    made.ncclGetLastError = [](NcclRank) { return "as a test has it"; };
    made.ncclGetUniqueId = [](NcclId* id) { return std::snprintf(id->bytes, sizeof(id->bytes), "\x01 room 7"), 0; };
    made.ncclCommInitRank = [](NcclRank* made_rank, int ranks, NcclId id, int rank) -> NcclResult {
      if (ranks != 2 || std::string(id.bytes) != "\x01 room 7") return 5;
      *made_rank = reinterpret_cast<NcclRank>(&current()->sums_[rank]);
      return current()->failing ? 2 : 0;
    };
    made.ncclCommAbort = [](NcclRank) { return ++current()->aborted, 0; };
    made.ncclGroupStart = [] { return 0; };
    made.ncclGroupEnd = [] { return 0; };
    made.ncclAllReduce = [](const void* from, void* to, size_t count, int type, int operation, NcclRank rank, StreamHandle) -> NcclResult {
      if (type != nccl_float32 || operation != nccl_average) return 4;
      auto& own = *reinterpret_cast<std::vector<float>*>(rank);
      own.assign(static_cast<const float*>(from), static_cast<const float*>(from) + count);
      current()->both_.arrive_and_wait();
      for (size_t i = 0; i < count; ++i) static_cast<float*>(to)[i] = (current()->sums_[0][i] + current()->sums_[1][i]) / 2;
      current()->both_.arrive_and_wait();
      return 0;
    };
    return made;
  }
  bool failing = false;
  std::atomic<int> aborted{0};

 private:
  static FakeNccl*& current() {
    static FakeNccl* instance = nullptr;
    return instance;
  }
  std::vector<float> sums_[2];
  std::barrier<> both_{2};
};

struct Played {
  FakeDriver fake;
  DriverStandIn driver{fake.table()};
  FakeNccl fake_nccl;
  Nccl table = fake_nccl.table();
  NcclStandIn stand_in{table};
};

// Both ranks' ways to each other.
class Table {
 public:
  RankExchange of_rank(size_t rank) {
    return [this, rank](const std::string& said) {
      said_[rank] = said;
      both_.arrive_and_wait();
      std::vector<std::string> all(said_, said_ + 2);
      both_.arrive_and_wait();
      return all;
    };
  }

 private:
  std::string said_[2];
  std::barrier<> both_{2};
};

TEST(RankAverages, AreOfAllRanksInPlaceAndBesideTheStreamThatComputes) {
  Played played;
  Table table;
  std::vector<float> numbers[2] = {{1, 2, 3}, {3, 6, 9}};
  const auto average = [&](int rank) {
    RankAverages averages(table.of_rank(static_cast<size_t>(rank)), rank, 2, "NVIDIA H100 80GB HBM3");
    const Stream computes;
    std::vector<float>& own = numbers[rank];
    const DeviceFloats parts[] = {{own.data(), 2}, {own.data() + 2, 1}};
    averages.begin(parts, computes.get());
    averages.finish(computes.get());
  };
  std::thread second([&] { average(1); });
  average(0);
  second.join();
  EXPECT_THAT(numbers[0], ElementsAre(2, 4, 6));
  EXPECT_THAT(numbers[1], ElementsAre(2, 4, 6));
  EXPECT_EQ(played.fake.calls("cuStreamWaitEvent"), 4) << "of each rank: it begins when they are made, and is waited for";
  EXPECT_EQ(played.fake.calls("cuStreamSynchronize"), 0);
  EXPECT_EQ(played.fake_nccl.aborted, 2);
}

std::string refusal_with(const std::string& other) {
  const RankExchange exchange = [&](const std::string& said) { return std::vector<std::string>{said, other}; };
  return error_of([&] { require_equal_devices(exchange, "NVIDIA H100 80GB HBM3"); }, ErrorKind::refused);
}

TEST(RankAverages, OtherDevicesAreRefusedByName) {
  EXPECT_THAT(refusal_with("NVIDIA H200"), HasSubstr("the first one has NVIDIA H100 80GB HBM3, process 2 has NVIDIA H200"));
  const RankExchange equal = [](const std::string& said) { return std::vector<std::string>{said, said}; };
  EXPECT_NO_THROW(require_equal_devices(equal, "NVIDIA H200"));
}

TEST(RankAverages, WhatNcclSaysIsTold) {
  Played played;
  played.fake_nccl.failing = true;
  const RankExchange alone = [](const std::string& said) { return std::vector<std::string>{said, said}; };
  const std::string error = error_of([&] { RankAverages(alone, 0, 2, "GPU"); }, ErrorKind::internal);
  EXPECT_EQ(error, "NCCL says unhandled system error while the ranks meet (as a test has it)");
}

TEST(Nccl, AMissingOneIsOneLine) {
  EXPECT_THAT(error_of([] { open_nccl("/nothing/libnccl.so.2"); }, ErrorKind::refused),
              HasSubstr("there is no NCCL: /nothing/libnccl.so.2"));
  EXPECT_THAT(error_of([] { open_nccl("libm.so.6"); }, ErrorKind::refused), HasSubstr("libm.so.6 is not a usable NCCL: it has no"));
  ::setenv("DEEPGAP_NCCL", "/nothing/libnccl.so.2", 1);
  const std::string named = error_of([] { open_nccl({}); }, ErrorKind::refused);
  ::unsetenv("DEEPGAP_NCCL");
  EXPECT_THAT(named, HasSubstr("NCCL, given by DEEPGAP_NCCL, does not load: /nothing/libnccl.so.2"));
}

}  // namespace
}  // namespace deepgap::cuda
