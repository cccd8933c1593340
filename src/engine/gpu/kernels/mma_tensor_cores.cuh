// Each warp multiplies one step by tensor cores.
__device__ __forceinline__ void multiply_step(Sum (&sums)[rows][columns], unsigned a_tile, unsigned b_tile, int warp_row, int warp_column,
                                              int part) {
  const int lane = threadIdx.x % 32;
#pragma unroll unrolled
  for (int k = 0; k < row_bytes / 32 / warps_k; k++) {
    const int chunk = (k + part * (row_bytes / 32 / warps_k)) * 2;
    unsigned a[warp_m / 16][4], b[warp_n / 16][4];
#pragma unroll
    for (int i = 0; i < warp_m / 16; i++) {
      load_matrices(a[i], a_tile + swizzled(warp_row + i * 16 + lane % 16, chunk + lane / 16));
      if (rounds_source) {
#pragma unroll
        for (int e = 0; e < 4; e++) a[i][e] = __float_as_uint(rounded_to_tf32(__uint_as_float(a[i][e])));
      }
    }
#pragma unroll
    for (int j = 0; j < warp_n / 16; j++)
      load_matrices(b[j], b_tile + swizzled(warp_column + j * 16 + lane / 16 * 8 + lane % 8, chunk + lane / 8 % 2));
#pragma unroll
    for (int i = 0; i < warp_m / 16; i++)
#pragma unroll
      for (int j = 0; j < warp_n / 8; j++)
        multiply(sums[2 * i][2 * j], sums[2 * i][2 * j + 1], sums[2 * i + 1][2 * j], sums[2 * i + 1][2 * j + 1], a[i], b[j / 2][j % 2 * 2],
                 b[j / 2][j % 2 * 2 + 1]);
  }
}
// Returns the place of a thread's column among its warp's.
__device__ __forceinline__ int column_of(int column) { return column / 2 * 8 + threadIdx.x % 4 * 2 + column % 2; }
