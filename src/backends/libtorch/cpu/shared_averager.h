// Averages gradients over the processes of one training on this machine, through memory that they share: each adds up its part of a
// bucket and takes the others' sums, on a thread of its own beside the backward pass. (LibTorch's own way between CPUs, gloo, comes without
// its headers in the package.)
//
// All ranks make one of as many numbers, and average the same buckets; a rank waits for the others in finish(). Who ends a rank whose other
// one died is their parent.
#pragma once

#include "backends/libtorch/train/torch_all_reduce.h"

#include <deepgap/backend.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace deepgap {

class SharedAverager final : public GradientAverager {
 public:
  // `numbers`: of all gradients of a step. The ranks find each other's memory by `exchange`. Throws Error{refused} where it cannot be made
  // or reached.
  SharedAverager(const RankExchange& exchange, int rank, int ranks, size_t numbers);
  ~SharedAverager() override;  // does not wait for other ranks
  SharedAverager(const SharedAverager&) = delete;
  SharedAverager& operator=(const SharedAverager&) = delete;

  void average(std::span<const at::Tensor> gradients) override;
  void finish() override;

 private:
  struct Header;
  struct Bucket {
    std::vector<at::Tensor> gradients;
    size_t begin = 0, end = 0;  // range of its numbers among all
  };
  void serve();
  void average_now(const Bucket& bucket);
  void wait_for_all();
  std::span<float> part_of(int rank, const Bucket& bucket) const;  // `ranks_`: the averages

  int rank_, ranks_;
  size_t numbers_;
  size_t bytes_ = 0;
  Header* header_ = nullptr;
  size_t begun_ = 0;  // numbers, of this step

  std::mutex mutex_;  // guards the three below
  std::condition_variable wake_, idle_;
  std::deque<Bucket> waiting_;  // the first one is under way
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace deepgap
