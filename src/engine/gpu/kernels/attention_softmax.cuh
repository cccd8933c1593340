// Shared by the attention kernels. Text before this: kernel_prelude().
__device__ __forceinline__ float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// Over the four threads that share a row.
__device__ __forceinline__ float over_quad(float x, bool largest) {
  for (int step = 1; step < 4; step *= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, x, step);
    x = largest ? fmaxf(x, other) : x + other;
  }
  return x;
}
static const float minus_infinity = -1.0f / 0.0f;
