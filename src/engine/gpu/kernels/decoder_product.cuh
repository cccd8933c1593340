// A matrix of weights times the activations of a few tokens, which is bound by reading the weights. Tensor cores multiply, so that up to
// 64 tokens cost little more than one: 16 rows of the matrix are their first operand, eight tokens the second. A sum does not depend on the
// order of its terms, so columns are given to the operands' places as one lane loads them: 16 bytes of a row at once.
//
// The warps of a block share out the columns and add up their sums in shared memory. What is loaded first does not depend on the kernel
// before, so it is ordered before waiting for that.
//
// Text before this: kernel_prelude(), decoder_words.cuh, HALF and PRODUCT, and as constants BITS of a number, WARPS, GROUPS of eight
// tokens, TILES of 16 rows a warp, DEPTH of chunks that are loaded at once, SCALE_WORDS a row and chunk, SCALE_GROUP columns of a scale,
// flags FLOAT_SCALES, HAS_OFFSET, IS_SIGNED (numbers of four bits are from -8 on).
//
// Plain numbers: row after row. Blocks: for each 16 rows and chunk of columns two times 32 lanes of 16 bytes, rows 0 to 7 and 8 to 15; lane
// 4 * row + t has of each 32 columns those from 4t and from 16 + 4t on, four each (decoder_weights.cpp).
static const int CHUNK = BITS == 16 ? 32 : BITS == 8 ? 64 : 128;
static const int STORE = 0, ADD = 1, GATED = 2, GELU = 3;

struct Operands {
  const unsigned char *numbers, *scales;
  const unsigned short* source;  // [tokens][pitch]; of NORMALIZES: floats of one token
  void* result;
  const float* bias;  // nullptr: none
  const float* norm;  // weights of RMSNorm, with NORMALIZES
  int tokens, rows, columns, pitch, chunks, result_pitch;
};
struct Taken {
  unsigned numbers[2][4];  // row lane / 4, and eight rows down
  unsigned scales[2][SCALE_WORDS > 0 ? SCALE_WORDS : 1];
};

// A gated tile has eight rows of the gate and the same eight of the other half.
template <int END>
__device__ __forceinline__ int row_of(const Operands& all, int tile, int row) {
  return END == GATED ? tile * 8 + row % 8 + (row < 8 ? 0 : all.rows / 2) : tile * 16 + row;
}
template <int END>
__device__ __forceinline__ bool is_row(const Operands& all, int tile, int row) {
  return END == GATED ? tile * 8 + row % 8 < all.rows / 2 : tile * 16 + row < all.rows;
}

template <int END>
__device__ __forceinline__ void take(Taken& taken, const Operands& all, int tile, int chunk) {
  const int lane = threadIdx.x % 32, row = lane / 4, t = lane % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    if (BITS == 16) {
      const int at = is_row<END>(all, tile, row + 8 * half) ? row_of<END>(all, tile, row + 8 * half) : 0;
      load_streamed(taken.numbers[half], all.numbers + ((long long)at * all.pitch + chunk * 32 + t * 8) * 2);
    } else {
      const long long at = (long long)(is_row<END>(all, tile, 0) ? tile : 0) * all.chunks + chunk;  // a last tile may not be there
      load_streamed(taken.numbers[half], all.numbers + (at * 2 + half) * 512 + lane * 16);
      load_words<SCALE_WORDS>(all.scales + (at * 16 + row + 8 * half) * SCALE_WORDS * 4, taken.scales[half]);
    }
  }
}

__device__ __forceinline__ float scale_at(const unsigned* scales, int i) {
  return FLOAT_SCALES ? __uint_as_float(scales[i]) : from_f16((unsigned short)(scales[i / 2] >> 16 * (i % 2)));
}
// The scale of group `g` of a chunk, and what is added to a number times it.
__device__ __forceinline__ float scale_of(const unsigned* scales, int g) { return scale_at(scales, HAS_OFFSET ? 2 * g : g); }
__device__ __forceinline__ float offset_of(const unsigned* scales, int g) { return scale_at(scales, 2 * g + 1); }

// Pair p of four numbers that lane t has of product `step` within 32 columns `block`.
__device__ __forceinline__ unsigned pair_of(const unsigned (&numbers)[4], int block, int step, int p) {
  if (BITS == 8) {
    const unsigned word = numbers[2 * block + step];
    return HALF::pair(I8::get(word, 2 * p), I8::get(word, 2 * p + 1));
  }
  // As the low bits of a number whose last place is one.
  const unsigned one = HALF::pair(HALF::get(MAGIC, 0), HALF::get(MAGIC, 0)), zero = IS_SIGNED ? one | 0x00080008u : one;
  return less_pair(HALF(), numbers[block] >> 4 * (2 * step + p) & 0x000f000fu | one, zero);
}

__device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  PRODUCT(c[0], c[1], c[2], c[3], a, b0, b1);
}

// Every block computes RMSNorm of a single token by itself, behind its sums in shared memory: that takes less than a launch.
static const int SUM_BYTES = WARPS * TILES * GROUPS * 128 * 4;
__device__ __forceinline__ unsigned short* normalized_source() { return (unsigned short*)(shared_memory + SUM_BYTES + 32); }
__device__ __forceinline__ void normalize_source(const Operands& all) {
  const float* from = (const float*)all.source;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < all.columns; i += 256) squares += from[i] * from[i];
  const float factor = rsqrtf(block_sum(squares, (float*)(shared_memory + SUM_BYTES)) / all.columns + EPSILON);
  for (int i = threadIdx.x; i < all.pitch; i += 256)
    normalized_source()[i] = (unsigned short)HALF::pair(i < all.columns ? from[i] * factor * all.norm[i] : 0.0f, 0.0f);
  __syncthreads();
}

template <int N>
__device__ __forceinline__ void load_source(unsigned* words, const Operands& all, int group, int column) {
  const int token = group * 8 + threadIdx.x % 32 / 4;
#pragma unroll
  for (int i = 0; i < N; ++i) words[i] = 0;
  if (NORMALIZES && token == 0) load_words<N>(normalized_source() + column, words);
  if (!NORMALIZES && token < all.tokens) load_words<N>(all.source + (long long)token * all.pitch + column, words);
}

__device__ __forceinline__ void multiply_plain(float (&sums)[TILES][GROUPS][4], const Taken (&taken)[TILES], const Operands& all,
                                               int chunk) {
#pragma unroll
  for (int n = 0; n < GROUPS; ++n) {
    unsigned x[4];
    load_source<4>(x, all, n, chunk * 32 + threadIdx.x % 4 * 8);
#pragma unroll
    for (int m = 0; m < TILES; ++m)
#pragma unroll
      for (int step = 0; step < 2; ++step) {
        const auto& w = taken[m].numbers;
        const unsigned a[4] = {w[0][2 * step], w[1][2 * step], w[0][2 * step + 1], w[1][2 * step + 1]};
        multiply(sums[m][n], a, x[2 * step], x[2 * step + 1]);
      }
  }
}

__device__ __forceinline__ void add_scaled(float (&sums)[4], const float (&part)[4], float low, float high) {
  sums[0] += part[0] * low;
  sums[1] += part[1] * low;
  sums[2] += part[2] * high;
  sums[3] += part[3] * high;
}

__device__ __forceinline__ void multiply_block(float (&sums)[4], const Taken& taken, const unsigned (&x)[4], const float (&sum)[4],
                                               int block) {
  float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
  for (int step = 0; step < 2; ++step) {
    unsigned a[4];
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      a[2 * p] = pair_of(taken.numbers[0], block, step, p);
      a[2 * p + 1] = pair_of(taken.numbers[1], block, step, p);
    }
    multiply(part, a, x[2 * step], x[2 * step + 1]);
    if (SCALE_GROUP == 16) {
      add_scaled(sums, part, scale_of(taken.scales[0], 2 * block + step), scale_of(taken.scales[1], 2 * block + step));
      part[0] = part[1] = part[2] = part[3] = 0.0f;
    }
  }
  if (SCALE_GROUP == 32) add_scaled(sums, part, scale_of(taken.scales[0], block), scale_of(taken.scales[1], block));
  if (HAS_OFFSET) add_scaled(sums, sum, offset_of(taken.scales[0], block), offset_of(taken.scales[1], block));
}

__device__ __forceinline__ void multiply_blocks(float (&sums)[TILES][GROUPS][4], const Taken (&taken)[TILES], const Operands& all,
                                                int chunk) {
#pragma unroll
  for (int block = 0; block < CHUNK / 32; ++block)
#pragma unroll
    for (int n = 0; n < GROUPS; ++n) {
      const int column = chunk * CHUNK + block * 32 + threadIdx.x % 4 * 4;
      unsigned x[4];
      load_source<2>(x, all, n, column);
      load_source<2>(x + 2, all, n, column + 16);
      float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};  // sums of the tokens' numbers, which an offset is multiplied with
      if (HAS_OFFSET) {
        const unsigned one = HALF::pair(1.0f, 1.0f);
        const unsigned ones[4] = {one, one, one, one};
        multiply(sum, ones, x[0], x[1]);
        multiply(sum, ones, x[2], x[3]);
      }
#pragma unroll
      for (int m = 0; m < TILES; ++m) multiply_block(sums[m][n], taken[m], x, sum, block);
    }
}

// `place` counts 32 lanes of four sums of each group of each tile.
__device__ __forceinline__ float sum_of(int place) {
  const float* parts = (const float*)shared_memory;
  float sum = 0.0f;
#pragma unroll
  for (int w = 0; w < WARPS; ++w) sum += parts[w * TILES * GROUPS * 128 + place];
  return sum;
}

template <int END>
__device__ __forceinline__ void end(const Operands& all, int tile, int token, int row, float sum, float other) {
  if (!is_row<END>(all, tile, row) || token >= all.tokens) return;
  const int column = row_of<END>(all, tile, row);
  if (all.bias) sum += all.bias[column];
  const long long at = (long long)token * all.result_pitch + column;
  if (END == STORE) ((float*)all.result)[at] = sum;
  if (END == ADD) ((float*)all.result)[at] += sum;
  if (END == GATED)
    ((unsigned short*)all.result)[at] =
        (unsigned short)HALF::pair(silu(sum) * (all.bias ? other + all.bias[all.rows / 2 + column] : other), 0.0f);
  if (END == GELU) ((unsigned short*)all.result)[at] = (unsigned short)HALF::pair(gelu(sum), 0.0f);
}

// A warp takes neighbours, whose rows share lines of memory.
static const int TOGETHER = DEPTH < 2 ? DEPTH : 2;
__device__ __forceinline__ int chunk_of(int begin, int d) { return begin + d / TOGETHER * (WARPS * TOGETHER) + d % TOGETHER; }

template <int END>
__device__ __forceinline__ void take_chunks(Taken (&taken)[DEPTH][TILES], const Operands& all, int first, int begin) {
#pragma unroll
  for (int d = 0; d < DEPTH; ++d)
    if (chunk_of(begin, d) < all.chunks)
#pragma unroll
      for (int m = 0; m < TILES; ++m) take<END>(taken[d][m], all, first + m, chunk_of(begin, d));
}

template <int END>
__device__ __forceinline__ void product(const Operands& all) {
  let_next_begin();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, first = blockIdx.x * TILES;
  float sums[TILES][GROUPS][4] = {};
  int begin = warp * TOGETHER;
  Taken taken[DEPTH][TILES];
  take_chunks<END>(taken, all, first, begin);
  wait_for_previous();
  if (NORMALIZES) normalize_source(all);
  while (begin < all.chunks) {
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
      if (chunk_of(begin, d) >= all.chunks) continue;
      if (BITS == 16)
        multiply_plain(sums, taken[d], all, chunk_of(begin, d));
      else
        multiply_blocks(sums, taken[d], all, chunk_of(begin, d));
    }
    begin += WARPS * DEPTH;
    take_chunks<END>(taken, all, first, begin);
  }
  float* parts = (float*)shared_memory;
#pragma unroll
  for (int m = 0; m < TILES; ++m)
#pragma unroll
    for (int n = 0; n < GROUPS; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) parts[(((warp * TILES + m) * GROUPS + n) * 4 + e) * 32 + lane] = sums[m][n][e];
  __syncthreads();
  for (int place = threadIdx.x; place < TILES * GROUPS * 128; place += WARPS * 32) {
    const int e = place / 32 % 4, n = place / 128 % GROUPS, m = place / 128 / GROUPS, l = place % 32;
    if (END == GATED && e >= 2) continue;
    end<END>(all, first + m, n * 8 + l % 4 * 2 + e % 2, l / 4 + e / 2 * 8, sum_of(place), END == GATED ? sum_of(place + 64) : 0.0f);
  }
}

#define PRODUCT_KERNEL(name, END)                                                                                                        \
  extern "C" __global__ void __launch_bounds__(WARPS * 32)                                                                               \
      name(const unsigned char* numbers, const unsigned char* scales, const unsigned short* source, void* result, const float* bias,     \
           const float* norm, int tokens, int rows, int columns, int pitch, int chunks, int result_pitch) {                              \
    product<END>({numbers, scales, source, result, bias, norm, tokens, rows, columns, pitch, chunks, result_pitch});                     \
  }
PRODUCT_KERNEL(product_store, STORE)
PRODUCT_KERNEL(product_add, ADD)
PRODUCT_KERNEL(product_gated, GATED)
PRODUCT_KERNEL(product_gelu, GELU)
