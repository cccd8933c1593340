// Each half of the result is the larger of the two words' halves; NaN wins.
#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ unsigned larger_s16x2(unsigned a, unsigned b) {
  asm("max.s16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
  return a;
}
__device__ __forceinline__ unsigned larger_u16x2(unsigned a, unsigned b) {
  asm("max.u16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
  return a;
}
__device__ __forceinline__ unsigned larger_f16x2(unsigned a, unsigned b) {
  asm("max.NaN.f16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
  return a;
}
__device__ __forceinline__ unsigned larger_bf16x2(unsigned a, unsigned b) {
  asm("max.NaN.bf16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
  return a;
}
#endif
