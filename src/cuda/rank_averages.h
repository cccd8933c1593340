// Averages of float32 numbers over the GPUs of one training, one process each, by NCCL: on a stream of its own beside the one that
// computes. Nothing waits on the host, so that a stream that is captured takes it into its CUDA graph.
//
// The thread that made it calls it, with the device's context current.
#pragma once

#include "cuda/nccl.h"
#include "cuda/objects.h"

#include <deepgap/backend.h>

#include <span>
#include <string>

namespace deepgap::cuda {

// Numbers in the device's memory.
struct DeviceFloats {
  void* data = nullptr;
  size_t count = 0;
};

class RankAverages {
 public:
  // The ranks find each other by `exchange` and wait for each other here. Throws Error{refused} if NCCL is missing, or if another rank has
  // a device with another name: the slowest one would be measured under the other's name.
  RankAverages(const RankExchange& exchange, int rank, int ranks, const std::string& device_name);
  ~RankAverages();  // does not wait for other ranks
  RankAverages(const RankAverages&) = delete;
  RankAverages& operator=(const RankAverages&) = delete;

  // Begins to average these, in place, once `made` has come as far as now. Each rank calls it with as many numbers in the same order.
  void begin(std::span<const DeviceFloats> numbers, StreamHandle made);
  // Work that `needs` runs from now on comes after all averages that began.
  void finish(StreamHandle needs);

 private:
  NcclRank rank_ = nullptr;
  Stream stream_;
  Event made_, averaged_;
};

// Throws Error{refused} naming both where the ranks' devices are not the same.
void require_equal_devices(const RankExchange& exchange, const std::string& device_name);

}  // namespace deepgap::cuda
