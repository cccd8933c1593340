// Averages gradients over the processes of one training on this machine, through memory that they share: each adds up its part of all
// gradients and takes the others' sums. (LibTorch's own way between CPUs, gloo, comes without its headers in the package.)
//
// All ranks make one of the same weights, and call finish() equally often; a rank waits for the others there. Who ends a rank whose other
// one died is their parent.
#pragma once

#include "backends/libtorch/train/torch_trainer.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

class SharedAllReduce final : public TorchAllReduce {
 public:
  // `path`: in a file system in memory; the first rank to come makes the file, and it has no name any more once all have come. Throws
  // Error{refused} where it cannot be made or has not the size that these weights ask for.
  SharedAllReduce(const std::string& path, int rank, int ranks, std::vector<at::Tensor> weights);
  ~SharedAllReduce() override;
  SharedAllReduce(const SharedAllReduce&) = delete;
  SharedAllReduce& operator=(const SharedAllReduce&) = delete;

  void begin() override {}  // on a CPU there is nothing that it could run beside
  void finish() override;

 private:
  struct Header;
  void wait_for_all();
  std::span<float> part_of(int rank) const;  // `ranks_`: the averages

  int rank_, ranks_;
  std::vector<at::Tensor> weights_;
  size_t numbers_ = 0;  // of all gradients
  size_t bytes_ = 0;
  Header* header_ = nullptr;
};

}  // namespace deepgap
