// Attention by mma.sync, for every chip. Text before this: kernel_prelude(), attention_softmax.cuh, the macros of sizes, steps and mask
// that lower_attention.cpp writes, PRODUCT (mma_f16, mma_bf16), HALF (F16, BF16) and ENTRY. [rows][WIDTH] of halves: rows row0 and on of a
// matrix of which `limit` rows are there; columns past `columns` are zero.
template <int WIDTH, bool WIDE>
__device__ __forceinline__ void load_tile(unsigned short* to, const unsigned short* from, int rows, int row0, int limit, int columns,
                                          long long row_step, long long column_step) {
  if (WIDE) {
    for (int e = threadIdx.x; e < rows * (WIDTH / 8); e += THREADS) {
      const int row = e / (WIDTH / 8), column = e % (WIDTH / 8) * 8;
      const bool valid = row0 + row < limit && column < columns;
      cp_async16(shared_address(to + row * (WIDTH + 8) + column), from + (valid ? (row0 + row) * row_step + column : 0), valid);
    }
  } else {
    for (int e = threadIdx.x; e < rows * WIDTH; e += THREADS) {
      const int row = e / WIDTH, column = e % WIDTH;
      const bool valid = row0 + row < limit && column < columns;
      to[row * (WIDTH + 8) + column] = valid ? from[(row0 + row) * row_step + column * column_step] : (unsigned short)0;
    }
  }
}
__device__ __forceinline__ void load_turned(unsigned (&r)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
static const int rows_of_block = THREADS / 2 * ROW_BLOCKS, rows_of_warp = 16 * ROW_BLOCKS;

// State of a warp's queries: results so far, the largest score, the sum of the weights.
struct Softmax {
  float o[ROW_BLOCKS][COLUMNS / 8][4];
  float most[ROW_BLOCKS][2], sum[ROW_BLOCKS][2];
};
// 16 * GROUPS keys from `key0` on.
template <int GROUPS, bool LAST>
__device__ __forceinline__ void take_keys(Softmax& all, const unsigned (&a)[ROW_BLOCKS][DEPTH / 16][4], const unsigned short* k_tile,
                                          const unsigned short* v_tile, int key0, int row, MASK_PARAMETER long long head, long long batch) {
  const int lane = threadIdx.x % 32;
  float s[ROW_BLOCKS][2 * GROUPS][4];
#pragma unroll
  for (int m = 0; m < ROW_BLOCKS; ++m)
#pragma unroll
    for (int n = 0; n < 2 * GROUPS; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) s[m][n][e] = 0.0f;
#pragma unroll
  for (int d = 0; d < DEPTH / 16; ++d)
#pragma unroll
    for (int n = 0; n < GROUPS; ++n) {
      unsigned b[4];
      load_matrices(b, shared_address(k_tile + (n * 16 + lane % 8 + lane / 16 * 8) * (DEPTH + 8) + d * 16 + lane / 8 % 2 * 8));
#pragma unroll
      for (int m = 0; m < ROW_BLOCKS; ++m) {
        PRODUCT(s[m][2 * n][0], s[m][2 * n][1], s[m][2 * n][2], s[m][2 * n][3], a[m][d], b[0], b[1]);
        PRODUCT(s[m][2 * n + 1][0], s[m][2 * n + 1][1], s[m][2 * n + 1][2], s[m][2 * n + 1][3], a[m][d], b[2], b[3]);
      }
    }
#pragma unroll
  for (int n = 0; n < 2 * GROUPS; ++n)
#pragma unroll
    for (int one = 0; one < 2; ++one) {
      const int key = key0 + n * 8 + lane % 4 * 2 + one;
      MASK_OF_KEY
#pragma unroll
      for (int m = 0; m < ROW_BLOCKS; ++m)
#pragma unroll
        for (int e = one; e < 4; e += 2) {
          float& x = s[m][n][e];
          const int place = row + m * 16 + e / 2 * 8;
          MASKED
          if (LAST && KEYS % 16 != 0 && key >= KEYS) x = minus_infinity;
        }
    }
#pragma unroll
  for (int m = 0; m < ROW_BLOCKS; ++m) {
    float base[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float larger = all.most[m][half];
#pragma unroll
      for (int n = 0; n < 2 * GROUPS; ++n) larger = fmaxf(larger, fmaxf(s[m][n][2 * half], s[m][n][2 * half + 1]));
      larger = over_quad(larger, true);
      base[half] = larger == minus_infinity ? 0.0f : larger * FACTOR;
      const float less = power_of_two(fmaf(all.most[m][half], FACTOR, -base[half]));
      all.most[m][half] = larger;
      float part = 0.0f;
#pragma unroll
      for (int n = 0; n < 2 * GROUPS; ++n)
#pragma unroll
        for (int one = 0; one < 2; ++one)
          part += s[m][n][2 * half + one] = power_of_two(fmaf(s[m][n][2 * half + one], FACTOR, -base[half]));
      all.sum[m][half] = fmaf(all.sum[m][half], less, part);
#pragma unroll
      for (int c = 0; c < COLUMNS / 8; ++c) all.o[m][c][2 * half] *= less, all.o[m][c][2 * half + 1] *= less;
    }
  }
#pragma unroll
  for (int n = 0; n < GROUPS; ++n) {
    unsigned p[ROW_BLOCKS][4];
#pragma unroll
    for (int m = 0; m < ROW_BLOCKS; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i) p[m][i] = HALF::pair(s[m][2 * n + i / 2][i % 2 * 2], s[m][2 * n + i / 2][i % 2 * 2 + 1]);
#pragma unroll
    for (int c = 0; c < COLUMNS / 16; ++c) {
      unsigned b[4];
      load_turned(b, shared_address(v_tile + (n * 16 + lane % 16) * (COLUMNS + 8) + c * 16 + lane / 16 * 8));
#pragma unroll
      for (int m = 0; m < ROW_BLOCKS; ++m) {
        float(&o)[COLUMNS / 8][4] = all.o[m];
        PRODUCT(o[2 * c][0], o[2 * c][1], o[2 * c][2], o[2 * c][3], p[m], b[0], b[1]);
        PRODUCT(o[2 * c + 1][0], o[2 * c + 1][1], o[2 * c + 1][2], o[2 * c + 1][3], p[m], b[2], b[3]);
      }
    }
  }
}
__device__ __forceinline__ void put_rows(const Softmax& all, unsigned short* out, int row) {
#pragma unroll
  for (int m = 0; m < ROW_BLOCKS; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float inverse = 1.0f / over_quad(all.sum[m][half], false);
      const int at = row + m * 16 + half * 8;
      if (at >= QUERIES) continue;
#pragma unroll
      for (int c = 0; c < COLUMNS / 8; ++c) {
        const int column = c * 8 + threadIdx.x % 4 * 2;
        const unsigned both = HALF::pair(all.o[m][c][half * 2] * inverse, all.o[m][c][half * 2 + 1] * inverse);
        unsigned short* to = out + at * (long long)R2 + column * (long long)R3;
        if (PAIRED) {
          if (column < REAL_COLUMNS) *(unsigned*)to = both;
        } else {
          if (column < REAL_COLUMNS) to[0] = (unsigned short)both;
          if (column + 1 < REAL_COLUMNS) to[R3] = (unsigned short)(both >> 16);
        }
      }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    ENTRY(const unsigned short* q, const unsigned short* k, const unsigned short* v, MASK_PARAMETER unsigned short* out) {
  extern __shared__ __align__(16) unsigned short shared[];
  unsigned short* q_tile = shared;
  unsigned short* k_tiles = q_tile + rows_of_block * (DEPTH + 8);
  unsigned short* v_tiles = k_tiles + 2 * 64 * (DEPTH + 8);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, q0 = blockIdx.x * rows_of_block;
  const long long head = blockIdx.y, batch = blockIdx.z;
  let_next_begin();
  wait_for_previous();
  q += Q_FIRST + batch * Q0 + head * Q1;
  k += K_FIRST + batch * K0 + head * K1;
  v += V_FIRST + batch * V0 + head * V1;
  out += batch * R0 + head * R1;
  const auto load_keys = [&](int tile) {
    load_tile<DEPTH, WIDE_K>(k_tiles + tile % 2 * 64 * (DEPTH + 8), k, 64, tile * 64, KEYS, REAL_DEPTH, K3, K2);
    load_tile<COLUMNS, WIDE_V>(v_tiles + tile % 2 * 64 * (COLUMNS + 8), v, 64, tile * 64, KEYS, REAL_COLUMNS, V2, V3);
    commit_copies();
  };
  load_tile<DEPTH, WIDE_Q>(q_tile, q, rows_of_block, q0, QUERIES, REAL_DEPTH, Q2, Q3);
  load_keys(0);
  wait_for_copies<0>();
  __syncthreads();
  unsigned a[ROW_BLOCKS][DEPTH / 16][4];
#pragma unroll
  for (int m = 0; m < ROW_BLOCKS; ++m)
#pragma unroll
    for (int s = 0; s < DEPTH / 16; ++s)
      load_matrices(a[m][s], shared_address(q_tile + (warp * rows_of_warp + m * 16 + lane % 16) * (DEPTH + 8) + s * 16 + lane / 16 * 8));
  Softmax all;
#pragma unroll
  for (int m = 0; m < ROW_BLOCKS; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      all.most[m][half] = minus_infinity;
      all.sum[m][half] = 0.0f;
#pragma unroll
      for (int c = 0; c < COLUMNS / 8; ++c) all.o[m][c][half * 2] = all.o[m][c][half * 2 + 1] = 0.0f;
    }
  const int row = q0 + warp * rows_of_warp + lane / 4;
  constexpr int tiles = (KEYS + 63) / 64;
  for (int tile = 0; tile + 1 < tiles; ++tile) {
    load_keys(tile + 1);
    take_keys<4, false>(all, a, k_tiles + tile % 2 * 64 * (DEPTH + 8), v_tiles + tile % 2 * 64 * (COLUMNS + 8), tile * 64, row,
                        MASK_ARGUMENT head, batch);
    wait_for_copies<0>();
    __syncthreads();
  }
  constexpr int last = tiles - 1;
  take_keys<(KEYS - last * 64 + 15) / 16, true>(all, a, k_tiles + last % 2 * 64 * (DEPTH + 8), v_tiles + last % 2 * 64 * (COLUMNS + 8),
                                                last * 64, row, MASK_ARGUMENT head, batch);
  put_rows(all, out, row);
}
