// The loops that ceilings are measured with, a file per instruction set. Each function carries the instruction set as an attribute of its
// own rather than by a flag on its file: with a flag, inline functions of other headers would be compiled for it too, and the linker might
// take those for the whole program.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deepgap {

// Multiply-adds in registers: as many independent sums as hide the latency.
struct ComputeKernel {
  const char* precision;
  const char* name;
  bool (*available)();                 // the CPU has it and the system lets us
  void (*run)(int64_t iterations);     // on the calling thread
  double (*flop)(int64_t iterations);  // operations that run() does
};

// Every kernel that was built, by precision.
extern const ComputeKernel portable_fp32, avx2_fp32, avx512_fp32, avx512_fp16, avx512_bf16, amx_bf16, avx2_int8, avxvnni_int8,
    avx512vnni_int8, amx_int8;

// Memory: for any CPU, compiled for several. `bytes` is a multiple of 256, addresses are aligned to 64.
struct MemoryKernel {
  uint64_t (*read)(const std::byte* data, size_t bytes);  // a sum, so that nothing can be left out
  void (*triad)(float* a, const float* b, const float* c, float factor, size_t bytes);
};
MemoryKernel memory_kernel();

// Results that nobody needs go here, because the compiler must not know that.
extern volatile float float_sink;
extern volatile int32_t int_sink;

}  // namespace deepgap
