// The products of a recurrent step. Text before this: the constants that recurrent.cpp writes.
//
// sum[j][b] += the product of this slice of row u of gate first + j with x[b].
template <int N>
__device__ __forceinline__ void multiply(float (&sum)[N][SEQUENCES], const WEIGHT* weights, int first, int u, int slice,
                                         const float (*x)[STATE]) {
#pragma unroll 2
  for (int k = slice; k < STATE / LANES; k += SLICES) {
    alignas(16) WEIGHT w[N][LANES];
#pragma unroll
    for (int j = 0; j < N; ++j) *(uint4*)w[j] = *(const uint4*)(weights + (((long long)k * GATES + first + j) * HIDDEN + u) * LANES);
#pragma unroll
    for (int b = 0; b < SEQUENCES; ++b)
#pragma unroll
      for (int l = 0; l < LANES; ++l) {
        const float at = x[b][k * LANES + l];
#pragma unroll
        for (int j = 0; j < N; ++j) sum[j][b] += weight_of(w[j][l]) * at;
      }
  }
}
// The products of gates `first` and on with x, in sums: what the slices have is added in their order. All threads call it.
template <int N>
__device__ __forceinline__ void multiply_all(float (*sums)[SEQUENCES][HIDDEN], const WEIGHT* weights, int first, const float (*x)[STATE]) {
  const int u0 = threadIdx.x % UNITS, slice = threadIdx.x / UNITS;
#pragma unroll 1
  for (int u = u0; u < ALL_UNITS; u += UNITS) {
    float sum[N][SEQUENCES] = {};
    if (u < HIDDEN) multiply(sum, weights, first, u, slice, x);
#pragma unroll 1
    for (int s = 0; s < SLICES; ++s) {
      if (slice == s && u < HIDDEN) {
#pragma unroll
        for (int j = 0; j < N; ++j)
#pragma unroll
          for (int b = 0; b < SEQUENCES; ++b) sums[j][b][u] = s == 0 ? sum[j][b] : sums[j][b][u] + sum[j][b];
      }
      if (SLICES > 1) __syncthreads();
    }
  }
  __syncthreads();
}
