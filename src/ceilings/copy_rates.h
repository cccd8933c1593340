// Measures copies between the host and GPUs, alone and all together, and from GPU to GPU.
#pragma once

#include <cstddef>
#include <vector>

namespace deepgap {

// A GPU, and the CPUs whose memory its copies use: the calling thread moves there while memory is taken. No CPUs: where it is.
struct CopyEnd {
  int device = 0;  // N of cuda:N
  std::vector<int> near_cpus;
};

// Bytes per second, medians over rounds. The host's memory is page-locked.
struct CopyRates {
  double h2d = 0, d2h = 0;                    // while no other GPU copies
  double h2d_together = 0, d2h_together = 0;  // while all of them copy, each in this direction; 0 with one GPU
  std::vector<double> to;                     // to each of the GPUs, in their order, one pair at a time; 0 to itself
};

// Takes `bytes` of each GPU twice and of the host for each GPU, and with 64 MiB about half a second for a GPU and a tenth for a pair. Where
// the driver lets no GPU reach another's memory, it brings the bytes through the host. Run it in a process of its own. Throws as
// measure_gpu_ceilings().
std::vector<CopyRates> measure_copy_rates(const std::vector<CopyEnd>& ends, size_t bytes = size_t{64} << 20);

}  // namespace deepgap
