// Measures the peaks of a GPU with our own kernels, which are compiled for it: arithmetic in each precision, on tensor cores where it has
// them; bytes a second through its own memory and its caches; launches; copies over the bus.
//
// Bursts of a millisecond at the clocks that the chip gives them are the ceilings. Beside them stands what it keeps up for a quarter of a
// second, since the power limit lowers the clocks of most products then.
#pragma once

#include "ceilings/ceilings.h"
#include "cuda/compiler.h"

#include <functional>

namespace deepgap {

// The state of the GPU at this moment; 0 and empty where it is not known. Called from the measuring thread while kernels run.
struct GpuState {
  double sm_hz = 0, memory_hz = 0, power_w = 0;
  uint64_t throttle_reasons = 0;  // bits as base/throttle.h has them
};
using GpuMeter = std::function<GpuState()>;
// Compiles a text for an architecture, as cuda::compile does. Tests keep what it made.
using GpuCompiler = std::function<cuda::Compiled(const std::string& text, const std::string& architecture)>;

// Takes 3 to 6 s and at most a quarter of the free memory. Run it in a process of its own. Throws Error{refused} where there is no such
// device, no driver or no compiler (NVRTC), Error{out_of_memory | device_lost}.
Ceilings measure_gpu_ceilings(int device, const GpuMeter& meter, const GpuCompiler& compile = cuda::compile);

// Returns the footprints: from 4 MiB in steps of two to at least eight times the cache and 1 GiB, as far as `memory_bytes` allow.
std::vector<int64_t> gpu_footprints(int64_t cache_bytes, int64_t memory_bytes);

}  // namespace deepgap
