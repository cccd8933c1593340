// The text of the kernels that a GPU's ceilings are measured with: loops of one instruction on registers or shared memory, and ways through
// memory. Each is compiled for the chip that is measured. No driver is called here.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace deepgap {

// Multiply-adds with one kind of instruction: `entry`(float* out, int rounds, float one), one block of `threads` on each of
// `blocks_per_multiprocessor` places.
struct GpuComputeKernel {
  std::string precision;  // type of what is multiplied
  std::string name;       // "FFMA", "wgmma m64n256k16"
  std::string entry, text;
  unsigned threads = 256, blocks_per_multiprocessor = 2;
  size_t shared_bytes = 0;
  double flop_per_round = 0;  // FLOP of one block in a round; a multiply-add is two operations
};

// Returns the kernels that a chip of this compute capability times ten has.
std::vector<GpuComputeKernel> gpu_compute_kernels(int architecture);
// Returns "sm_90a", for example: with the instructions of this chip alone.
std::string gpu_target(int architecture);

// Entries, of 256 threads a block; counts are of 16 bytes, `passes` of ways through all of them:
//   read_memory(uint4* from, long long count, int passes, uint4* out), copy_memory(uint4* from, uint4* to, long long count, int passes),
//   read_near(uint4* from, int passes, int step, uint4* out): each block its own gpu_near_bytes, out of its first-level cache; `step` is 0,
//   read_shared(int passes, int step, uint4* out): the same out of shared memory,
//   nothing().
const char* gpu_memory_text();
inline constexpr size_t gpu_near_bytes = 32 << 10;
inline constexpr unsigned gpu_memory_threads = 256, gpu_near_threads = 1024;

}  // namespace deepgap
