// Attention of one token to the cache of its sequence: a block for each head of keys, row, and part of the positions; queries that share
// the keys together. A thread multiplies the queries by the key of one position; then a warp adds up values, position after position. Text
// before this: as decoder_rows.cuh, and SHARED queries a head of keys, PARTS at most.
static const int SPAN = 256;  // positions at a time, one a thread
static const int LANE_PAIRS = (HEAD_SIZE / 2 + 31) / 32;

struct AttentionMemory {
  float queries[SHARED][HEAD_SIZE], weights[SHARED][SPAN], mosts[SHARED][8], sums[SHARED][8];
  float parts[8][SHARED][HEAD_SIZE];
  unsigned ticket;
};
// A thread's: largest scores and sums are those of the block.
struct Heads {
  float most[SHARED], sum[SHARED], result[SHARED][LANE_PAIRS][2];
};

__device__ __forceinline__ void score_key(float (&scores)[SHARED], const AttentionMemory& memory, const unsigned short* key) {
#pragma unroll
  for (int h = 0; h < SHARED; ++h) scores[h] = 0.0f;
#pragma unroll 4
  for (int d = 0; d < HEAD_SIZE; d += 8) {
    unsigned words[4];
    load_words<4>(key + d, words);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float k = F16::get(words[i / 2], i % 2);
#pragma unroll
      for (int h = 0; h < SHARED; ++h) scores[h] += k * memory.queries[h][d + i];
    }
  }
}

__device__ __forceinline__ float warp_most(float x) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
  return x;
}

// Softmax over what came so far: sums are scaled down where a larger score comes. Every thread keeps the largest scores and the sums.
__device__ __forceinline__ void weigh(float (&scores)[SHARED], AttentionMemory& memory, Heads& heads) {
  const int warp = threadIdx.x / 32;
#pragma unroll
  for (int h = 0; h < SHARED; ++h) {
    const float most = warp_most(scores[h]);
    if (threadIdx.x % 32 == 0) memory.mosts[h][warp] = most;
  }
  __syncthreads();
#pragma unroll
  for (int h = 0; h < SHARED; ++h) {
    float most = heads.most[h];
#pragma unroll
    for (int w = 0; w < 8; ++w) most = fmaxf(most, memory.mosts[h][w]);
    const float faded = __expf(heads.most[h] - most), weight = __expf(scores[h] - most), sum = warp_sum(weight);
    memory.weights[h][threadIdx.x] = weight;
    if (threadIdx.x % 32 == 0) memory.sums[h][warp] = sum;
    heads.most[h] = most;
    heads.sum[h] *= faded;
#pragma unroll
    for (int p = 0; p < LANE_PAIRS; ++p) {
      heads.result[h][p][0] *= faded;
      heads.result[h][p][1] *= faded;
    }
  }
  __syncthreads();
#pragma unroll
  for (int h = 0; h < SHARED; ++h)
#pragma unroll
    for (int w = 0; w < 8; ++w) heads.sum[h] += memory.sums[h][w];
}

__device__ __forceinline__ void add_values(const AttentionMemory& memory, const unsigned short* values, int count, Heads& heads) {
  const int lane = threadIdx.x % 32;
#pragma unroll 4
  for (int p = threadIdx.x / 32; p < count; p += 8)
#pragma unroll
    for (int i = 0; i < LANE_PAIRS; ++i) {
      const int d = 2 * (i * 32 + lane);
      if (d >= HEAD_SIZE) continue;
      const unsigned word = *(const unsigned*)(values + (long long)p * HEAD_SIZE + d);
#pragma unroll
      for (int h = 0; h < SHARED; ++h) {
        heads.result[h][i][0] += memory.weights[h][p] * F16::get(word, 0);
        heads.result[h][i][1] += memory.weights[h][p] * F16::get(word, 1);
      }
    }
}

// Sums of the warps, into the first.
__device__ __forceinline__ void join_warps(AttentionMemory& memory, const Heads& heads) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int h = 0; h < SHARED; ++h)
    for (int i = 0; i < LANE_PAIRS; ++i)
      for (int e = 0; e < 2; ++e)
        if (2 * (i * 32 + lane) < HEAD_SIZE) memory.parts[warp][h][2 * (i * 32 + lane) + e] = heads.result[h][i][e];
  __syncthreads();
  for (int i = threadIdx.x; i < SHARED * HEAD_SIZE; i += 256) {
    float sum = 0.0f;
    for (int w = 0; w < 8; ++w) sum += memory.parts[w][i / HEAD_SIZE][i % HEAD_SIZE];
    memory.parts[0][i / HEAD_SIZE][i % HEAD_SIZE] = sum;
  }
  __syncthreads();
}

// Results of the parts, each with its largest score and its sum, weighed against each other by who comes last.
__device__ __forceinline__ void join_parts(AttentionMemory& memory, const Heads& heads, float* partial, unsigned* counter, int used) {
  const int length = HEAD_SIZE + 2;
  float* own = partial + (long long)blockIdx.z * SHARED * length;
  for (int i = threadIdx.x; i < SHARED * HEAD_SIZE; i += 256)
    own[i / HEAD_SIZE * length + i % HEAD_SIZE] = memory.parts[0][i / HEAD_SIZE][i % HEAD_SIZE];
  if (threadIdx.x == 0)
#pragma unroll
    for (int h = 0; h < SHARED; ++h) {
      own[h * length + HEAD_SIZE] = heads.most[h];
      own[h * length + HEAD_SIZE + 1] = heads.sum[h];
    }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) memory.ticket = take_ticket(counter);
  __syncthreads();
  if (memory.ticket + 1 != used) return;
  if (threadIdx.x == 0) *counter = 0;
  for (int i = threadIdx.x; i < SHARED * HEAD_SIZE; i += 256) {
    const int h = i / HEAD_SIZE, d = i % HEAD_SIZE;
    float most = -INFINITE, value = 0.0f, sum = 0.0f;
    for (int p = 0; p < used; ++p) most = fmaxf(most, __ldcg(partial + (p * SHARED + h) * length + HEAD_SIZE));
    for (int p = 0; p < used; ++p) {
      const float* one = partial + (p * SHARED + h) * length;
      const float weight = __expf(__ldcg(one + HEAD_SIZE) - most);
      value += weight * __ldcg(one + d);
      sum += weight * __ldcg(one + HEAD_SIZE + 1);
    }
    memory.parts[1][h][d] = value / sum;
  }
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(256)
    attend(const float* qkv, const unsigned short* keys, const unsigned short* values, const int* sequences, const int* positions,
           int layer, float* partials, unsigned* counters, unsigned short* to) {
  let_next_begin();
  wait_for_previous();
  AttentionMemory& memory = *(AttentionMemory*)shared_memory;
  const int head = blockIdx.x, row = blockIdx.y, count = positions[row] + 1;
  const int spans = (count + SPAN - 1) / SPAN, used = spans < (int)gridDim.z ? spans : (int)gridDim.z;
  if ((int)blockIdx.z >= used) return;
  const int begin = spans * blockIdx.z / used * SPAN, last = spans * (blockIdx.z + 1) / used * SPAN, end = last < count ? last : count;
  const long long first = (((long long)sequences[row] * LAYERS + layer) * KV_HEADS + head) * CONTEXT * HEAD_SIZE;
  const float* own = qkv + ((long long)row * (HEADS + 2 * KV_HEADS) + head * SHARED) * HEAD_SIZE;
  for (int i = threadIdx.x; i < SHARED * HEAD_SIZE; i += 256) memory.queries[i / HEAD_SIZE][i % HEAD_SIZE] = own[i];
  __syncthreads();
  Heads heads = {};
#pragma unroll
  for (int h = 0; h < SHARED; ++h) heads.most[h] = -INFINITE;
  for (int p = begin; p < end; p += SPAN) {
    float scores[SHARED];
    score_key(scores, memory, keys + first + (long long)(p + threadIdx.x < end ? p + threadIdx.x : p) * HEAD_SIZE);
    if (p + (int)threadIdx.x >= end)
#pragma unroll
      for (int h = 0; h < SHARED; ++h) scores[h] = -INFINITE;
    weigh(scores, memory, heads);
    add_values(memory, values + first + (long long)p * HEAD_SIZE, end - p < SPAN ? end - p : SPAN, heads);
    __syncthreads();
  }
  join_warps(memory, heads);
  if (threadIdx.x == 0)
#pragma unroll
    for (int h = 0; h < SHARED; ++h) memory.sums[h][0] = heads.sum[h];
  __syncthreads();
  const long long unit = (long long)row * KV_HEADS + head;
  if (used > 1) {
    join_parts(memory, heads, partials + unit * gridDim.z * SHARED * (HEAD_SIZE + 2), counters + unit, used);
    if (memory.ticket + 1 != used) return;
  }
  for (int i = threadIdx.x; i < SHARED * HEAD_SIZE; i += 256) {
    const int h = i / HEAD_SIZE, d = i % HEAD_SIZE;
    const float x = used > 1 ? memory.parts[1][h][d] : memory.parts[0][h][d] / memory.sums[h][0];
    to[(long long)row * QUERY_PITCH + head * SHARED * HEAD_SIZE + i] = half_from(x);
  }
}
