// A program of an Instance as one CUDA graph, which can read inputs where a query has them and tell the host when it ran.
#pragma once

#include "cuda/objects.h"
#include "cuda/query_stamps.h"
#include "engine/gpu/instance.h"

#include <cstddef>
#include <vector>

namespace deepgap::gpu {

// One thread at a time.
class RecordedProgram {
 public:
  // The first two and `stamps` outlive this; `stream` is where it is recorded. `stamps`: where kernels write when the program begins and
  // when all of it has ended; nullptr: nowhere.
  RecordedProgram(const Instance& instance, const Program& program, const cuda::Stream& stream, cuda::QueryStamps* stamps);
  // Returns whether read_at() takes another address than the Instance's: few kernels read the input, all of them ours, and none writes it.
  bool reads_anywhere(size_t input) const { return !readers_.at(input).empty(); }
  // Launches from the next one on read the input at `address`, a multiple of 16, where the program's bytes of it lie.
  void read_at(size_t input, cuda::Address address);
  void launch(const cuda::Stream& stream) const { graph_.launch(stream); }

 private:
  struct Reader {
    const Step* step = nullptr;
    const Launch* launch = nullptr;
    BoundLaunch bound;
    cuda::GraphNode node = nullptr;
  };
  void find_readers(const Step& step, const Launch& launch, const BoundLaunch& bound, cuda::GraphNode node);
  void keep_movable();

  const Instance& instance_;
  const Program& program_;
  std::vector<cuda::Address> at_;             // by input
  std::vector<std::vector<Reader>> readers_;  // by input; empty: it is read in the Instance alone
  cuda::CudaGraph graph_;
};

}  // namespace deepgap::gpu
