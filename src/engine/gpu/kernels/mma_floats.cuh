// Each warp multiplies one step in float32.
__device__ __forceinline__ float4 load_shared16(unsigned address) {
  float4 v;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(address) : "memory");
  return v;
}
__device__ __forceinline__ void multiply_step(Sum (&sums)[rows][columns], unsigned a_tile, unsigned b_tile, int warp_row, int warp_column,
                                              int part) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < row_chunks / warps_k; k++) {
    const int chunk = k + part * (row_chunks / warps_k);
    float4 a[rows];
#pragma unroll
    for (int i = 0; i < rows; i++) a[i] = load_shared16(a_tile + swizzled(warp_row + lane / 4 + i * 8, chunk));
#pragma unroll
    for (int j = 0; j < columns; j++) {
      const float4 b = load_shared16(b_tile + swizzled(warp_column + j * 4 + lane % 4, chunk));
#pragma unroll
      for (int i = 0; i < rows; i++) sums[i][j] = fmaf(a[i].w, b.w, fmaf(a[i].z, b.z, fmaf(a[i].y, b.y, fmaf(a[i].x, b.x, sums[i][j]))));
    }
  }
}
__device__ __forceinline__ int column_of(int column) { return column * 4 + threadIdx.x % 4; }
