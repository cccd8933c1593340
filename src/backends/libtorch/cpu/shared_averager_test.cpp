// Ranks as threads of this process: each has a trainer of its own, and they exchange texts over a table.
#include "backends/libtorch/cpu/shared_averager.h"

#include "backends/libtorch/train/torch_trainer.h"
#include "backends/libtorch/train/trained_network.h"

#include <ATen/Parallel.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <map>
#include <optional>

namespace deepgap {
namespace {

constexpr int64_t samples_of_rank = 4;

// Where ranks meet.
class Table {
 public:
  explicit Table(int ranks) : said_(static_cast<size_t>(ranks)), all_(ranks) {}
  RankExchange of_rank(int rank) {
    return [this, rank](const std::string& said) {
      said_[static_cast<size_t>(rank)] = said;
      all_.arrive_and_wait();
      std::vector<std::string> all = said_;
      all_.arrive_and_wait();
      return all;
    };
  }

 private:
  std::vector<std::string> said_;
  std::barrier<> all_;
};

std::vector<at::Tensor> part_of(const std::vector<at::Tensor>& inputs, int64_t first, int64_t count) {
  std::vector<at::Tensor> part;
  for (const at::Tensor& input : inputs) part.push_back(input.narrow(0, first, count).clone());
  return part;
}

std::map<std::string, Tensor> trained_by(int ranks, size_t bucket_bytes, const TrainSettings& settings) {
  const auto model = small_network({.norm = false});
  Table table(ranks);
  std::map<std::string, Tensor> weights;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      at::set_num_threads(1);
      TorchTrainer trainer(*model, train_target(), settings);
      trainer.prepare(samples_of_rank);
      SharedAverager averager(table.of_rank(rank), rank, ranks, trainer.trained_numbers());
      trainer.average_gradients(averager, bucket_bytes);
      trainer.rehearse_all_reduce();
      const auto inputs = part_of(pictures(ranks * samples_of_rank), rank * samples_of_rank, samples_of_rank);
      for (int step = 0; step < 3; ++step) trainer.step(samples_of_rank, inputs, [](TrainPart) {});
      if (rank == 0) weights = trainer.copied_weights();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return weights;
}

// The mean of the gradients of equal parts is that of the whole batch.
TEST(SharedAverager, RanksTrainAsOneWithAllTheirSamples) {
  at::set_num_threads(1);
  const TrainSettings settings{.learning_rate = 0.1};
  for (const int ranks : {2, 3}) {
    const auto model = small_network({.norm = false});
    TorchTrainer alone(*model, train_target(), settings);
    alone.prepare(ranks * samples_of_rank);
    for (int step = 0; step < 3; ++step) alone.step(ranks * samples_of_rank, pictures(ranks * samples_of_rank), [](TrainPart) {});
    for (const size_t bucket_bytes : {size_t{0}, size_t{1}, size_t{1} << 20}) {
      const auto weights = trained_by(ranks, bucket_bytes, settings);
      for (const auto& [name, expected] : alone.copied_weights()) {
        const std::span<const float> actual = weights.at(name).as<float>();
        for (size_t i = 0; i < actual.size(); ++i)
          EXPECT_NEAR(actual[i], expected.as<float>()[i], 1e-5) << name << " of " << ranks << " ranks";
      }
    }
  }
}

TEST(SharedAverager, ARankWhoseOtherOneIsGoneCanEnd) {
  Table table(2);
  std::optional<SharedAverager> other;
  std::thread thread([&] { other.emplace(table.of_rank(1), 1, 2, 4); });
  std::optional<SharedAverager> averager(std::in_place, table.of_rank(0), 0, 2, 4);
  thread.join();
  other.reset();
  const std::vector<at::Tensor> gradients{at::ones({4})};
  averager->average(gradients);  // and the other one never does
  averager.reset();
  EXPECT_EQ(gradients[0].sum().item<float>(), 4);
}

TEST(SharedAverager, MemoryThatCannotBeReachedIsOneLine) {
  const RankExchange nobody = [](const std::string&) { return std::vector<std::string>{"/proc/self/fd/nothing", ""}; };
  try {
    SharedAverager(nobody, 1, 2, 4);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    EXPECT_THAT(error.what(), testing::HasSubstr("do not get to their shared memory: /proc/self/fd/nothing: No such file"));
  }
}

}  // namespace
}  // namespace deepgap
