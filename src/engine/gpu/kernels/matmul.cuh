// Statements of a product of two computed matrices: a block computes 64 x 64 of the result, and the grid is (columns, rows, matrices).
// lower_product.cpp writes what stands around them: M, N, K, and the macros A, B, FACTOR, C and STORE.
__shared__ float as[16][65], bs[16][65];
const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
const I row0 = I(blockIdx.y) * 64, col0 = I(blockIdx.x) * 64;
float sum[4][4] = {};
for (I k0 = 0; k0 < K; k0 += 16) {
  for (int e = threadIdx.x; e < 1024; e += 256) {
    const int k = e % 16, r = e / 16;
    as[k][r] = row0 + r < M && k0 + k < K ? A(row0 + r, k0 + k) : 0.0f;
  }
  for (int e = threadIdx.x; e < 1024; e += 256) {
    const int c = e % 64, k = e / 64;
    bs[k][c] = col0 + c < N && k0 + k < K ? B(k0 + k, col0 + c) : 0.0f;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    float a[4], b[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      a[i] = as[k][ty * 4 + i];
      b[i] = bs[k][tx * 4 + i];
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) sum[i][j] += a[i] * b[j];
  }
  __syncthreads();
}
#pragma unroll
for (int i = 0; i < 4; ++i)
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const I row = row0 + ty * 4 + i, col = col0 + tx * 4 + j;
    if (row < M && col < N) {
      const float value = FACTOR * sum[i][j] + C(row, col);
      STORE(row, col)
    }
  }
