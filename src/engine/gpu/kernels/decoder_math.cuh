// Activations and sums that the decoder's kernels share. Text before this: kernel_prelude().
#define INFINITE __uint_as_float(0x7f800000u)
__device__ __forceinline__ float silu(float x) { return x / (1.0f + __expf(-x)); }
// By the hyperbolic tangent, as GPT-2 has it: x * (1 + tanh u) / 2 = x - x / (1 + e^2u).
__device__ __forceinline__ float gelu(float x) {
  const float twice = 1.5957691216f * x * (1.0f + 0.044715f * x * x);
  return x - x / (1.0f + __expf(twice));
}
__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}
// Sums over a block of 256 threads; `place`: 8 floats that no other sum uses.
__device__ __forceinline__ float block_sum(float x, float* place) {
  x = warp_sum(x);
  if (threadIdx.x % 32 == 0) place[threadIdx.x / 32] = x;
  __syncthreads();
  x = 0.0f;
#pragma unroll
  for (int w = 0; w < 8; ++w) x += place[w];
  return x;
}
