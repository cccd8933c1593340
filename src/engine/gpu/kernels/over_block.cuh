// Sums and maxima over a block of T threads.
__device__ __forceinline__ float combined(float a, float b, bool largest) { return largest ? fmaxf(a, b) : a + b; }
__device__ __forceinline__ float over_block(float x, bool largest) {
  __shared__ float parts[32];
  for (int step = 16; step > 0; step >>= 1) x = combined(x, __shfl_xor_sync(0xffffffffu, x, step), largest);
  if (T > 32) {
    __syncthreads();
    if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = x;
    __syncthreads();
    x = parts[0];
    for (int w = 1; w < T / 32; ++w) x = combined(x, parts[w], largest);
  }
  return x;
}
__device__ __forceinline__ float block_sum(float x) { return over_block(x, false); }
__device__ __forceinline__ float block_max(float x) { return over_block(x, true); }
