// Attention of prompts: a warp for each 16 tokens that follow one another in a sequence and each query head, by tensor cores. Scores of 16
// keys become the first operand of the product with their values. As in decoder_product.cuh a sum's terms are given to the operands' places
// as lanes load them: of each 32 numbers of a head lane t of a row's four has eight from 8t on. Results are given to columns likewise: of a
// value a lane loads neighbours, one for each product.
//
// Text before this: as decoder_attention.cuh. Keys and values are F16, and so are queries and weights here.
static const int HEAD_STEPS = (HEAD_SIZE + 31) / 32;  // steps of 32 numbers
static const int PRODUCTS = HEAD_SIZE / 8;            // products with the values of 16 keys, each for eight numbers of the head
static const int PART_WORDS = (PRODUCTS + 1) / 2;

// Eight numbers of a head from `at` on, which may end before.
__device__ __forceinline__ void load_head(unsigned (&words)[4], const unsigned short* head, int at) {
#pragma unroll
  for (int i = 0; i < 4; ++i) words[i] = 0;
  if (at < HEAD_SIZE) load_words<4>(head + at, words);
}

// A lane's numbers of a value: that of product n belongs to the column c at c * PRODUCTS + n.
__device__ __forceinline__ void load_part(unsigned (&words)[PART_WORDS], const unsigned short* from) {
  if (PRODUCTS % 2 == 0) {
    load_words<PRODUCTS / 2>(from, words);
    return;
  }
#pragma unroll
  for (int n = 0; n < PRODUCTS; ++n) words[n / 2] = n % 2 ? words[n / 2] | (unsigned)from[n] << 16 : from[n];
}
__device__ __forceinline__ void store_part(unsigned short* to, const float (&numbers)[PRODUCTS]) {
  unsigned words[PART_WORDS];
#pragma unroll
  for (int n = 0; n < PRODUCTS; n += 2) words[n / 2] = HALF::pair(numbers[n], n + 1 < PRODUCTS ? numbers[n + 1] : 0.0f);
  if (PRODUCTS % 2 == 0) {
    store_words<PRODUCTS / 2>(to, words);
    return;
  }
#pragma unroll
  for (int n = 0; n < PRODUCTS; ++n) to[n] = (unsigned short)(words[n / 2] >> 16 * (n % 2));
}
// Number n % 2 of each word: those of a column's two keys.
__device__ __forceinline__ unsigned keys_of(unsigned first, unsigned second, int n) {
  return n % 2 ? first >> 16 | (second & 0xffff0000u) : (first & 0xffffu) | second << 16;
}

__device__ __forceinline__ void load_queries(unsigned (&queries)[2][HEAD_STEPS][4], const float* own, int rows) {
  const int lane = threadIdx.x % 32, t = lane % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half)
#pragma unroll
    for (int step = 0; step < HEAD_STEPS; ++step)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + 8 * half, at = step * 32 + t * 8 + 2 * i;
        const bool valid = row < rows && at < HEAD_SIZE;
        const float* from = own + (long long)(valid ? row : 0) * (HEADS + 2 * KV_HEADS) * HEAD_SIZE + (valid ? at : 0);
        queries[half][step][i] = valid ? F16::pair(from[0], from[1]) : 0;
      }
}

// Computes scores of 16 keys from `key0` on: columns 2t, 2t + 1 of each eight, rows lane / 4 and eight further.
__device__ __forceinline__ void score_keys(float (&scores)[2][4], const unsigned (&queries)[2][HEAD_STEPS][4], const unsigned short* keys,
                                           int key0, int last) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int n = 0; n < 2; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) scores[n][e] = 0.0f;
    const int key = key0 + n * 8 + lane / 4;
    const unsigned short* head = keys + (long long)(key < last ? key : last) * HEAD_SIZE;
#pragma unroll
    for (int step = 0; step < HEAD_STEPS; ++step) {
      unsigned words[4];
      load_head(words, head, step * 32 + lane % 4 * 8);
#pragma unroll
      for (int p = 0; p < 2; ++p) {
        const unsigned a[4] = {queries[0][step][2 * p], queries[1][step][2 * p], queries[0][step][2 * p + 1], queries[1][step][2 * p + 1]};
        mma_f16(scores[n][0], scores[n][1], scores[n][2], scores[n][3], a, words[2 * p], words[2 * p + 1]);
      }
    }
  }
}

// Over the four lanes of a row.
__device__ __forceinline__ float row_most(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
__device__ __forceinline__ float row_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

extern "C" __global__ void __launch_bounds__(32)
    attend_prompt(const float* qkv, const unsigned short* keys, const unsigned short* values, const int* sequences, const int* positions,
                  const int* tiles, int layer, unsigned short* to) {
  let_next_begin();
  wait_for_previous();
  const int head = blockIdx.x, lane = threadIdx.x, first = tiles[2 * blockIdx.y], rows = tiles[2 * blockIdx.y + 1];
  const int begin = positions[first], last = begin + rows - 1;
  const long long cached = (((long long)sequences[first] * LAYERS + layer) * KV_HEADS + head / SHARED) * CONTEXT * HEAD_SIZE;
  unsigned queries[2][HEAD_STEPS][4];
  load_queries(queries, qkv + ((long long)first * (HEADS + 2 * KV_HEADS) + head) * HEAD_SIZE, rows);
  float result[PRODUCTS][4] = {}, most[2] = {-INFINITE, -INFINITE}, sum[2] = {0.0f, 0.0f};
  for (int key0 = 0; key0 <= last; key0 += 16) {
    float scores[2][4], weights[2][4];
    score_keys(scores, queries, keys + cached, key0, last);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int position = begin + lane / 4 + 8 * half;
      float highest = most[half];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float& score = scores[i / 2][2 * half + i % 2];
        if (key0 + i / 2 * 8 + lane % 4 * 2 + i % 2 > position) score = -INFINITE;
        highest = fmaxf(highest, score);
      }
      highest = row_most(highest);
      const float faded = __expf(most[half] - highest);
      most[half] = highest;
      sum[half] *= faded;
#pragma unroll
      for (int i = 0; i < 4; ++i) sum[half] += weights[i / 2][2 * half + i % 2] = __expf(scores[i / 2][2 * half + i % 2] - highest);
#pragma unroll
      for (int n = 0; n < PRODUCTS; ++n) {
        result[n][2 * half] *= faded;
        result[n][2 * half + 1] *= faded;
      }
    }
    const unsigned a[4] = {F16::pair(weights[0][0], weights[0][1]), F16::pair(weights[0][2], weights[0][3]),
                           F16::pair(weights[1][0], weights[1][1]), F16::pair(weights[1][2], weights[1][3])};
    const int key = key0 + lane % 4 * 2;
    unsigned parts[4][PART_WORDS];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int place = key + i / 2 * 8 + i % 2;
      load_part(parts[i], values + cached + (long long)(place < last ? place : last) * HEAD_SIZE + lane / 4 * PRODUCTS);
    }
#pragma unroll
    for (int n = 0; n < PRODUCTS; ++n)
      mma_f16(result[n][0], result[n][1], result[n][2], result[n][3], a, keys_of(parts[0][n / 2], parts[1][n / 2], n),
              keys_of(parts[2][n / 2], parts[3][n / 2], n));
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = lane / 4 + 8 * half;
    const float factor = 1.0f / row_sum(sum[half]);
    if (row >= rows) continue;
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      float numbers[PRODUCTS];
#pragma unroll
      for (int n = 0; n < PRODUCTS; ++n) numbers[n] = result[n][2 * half + e] * factor;
      store_part(to + (long long)(first + row) * QUERY_PITCH + head * HEAD_SIZE + (lane % 4 * 2 + e) * PRODUCTS, numbers);
    }
  }
}
