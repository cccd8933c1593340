// The decoder's steps between its products, a row of numbers a token. Text before this: kernel_prelude(), decoder_words.cuh, HALF, and as
// constants EMBEDDING, EMBEDDING_PITCH, HEADS, KV_HEADS, HEAD_SIZE, ROPE_SIZE, CONTEXT of the cache, LAYERS, VOCABULARY, flags LAYER_NORM,
// ROTATES, ROTATES_HALVES, EPSILON. Rows are described by arrays: token, sequence and position of each.
__device__ __forceinline__ float half_of(const unsigned short* from, long long i) { return HALF::get(from[i], 0); }
__device__ __forceinline__ unsigned short half_from(float x) { return (unsigned short)HALF::pair(x, 0.0f); }

extern "C" __global__ void __launch_bounds__(256)
    embed_tokens(const unsigned short* table, const unsigned short* places, const int* tokens, const int* positions, float* hidden) {
  let_next_begin();
  wait_for_previous();
  const long long row = blockIdx.x, token = tokens[row], position = positions[row];
  for (int i = threadIdx.x; i < EMBEDDING; i += 256) {
    float x = half_of(table, token * TABLE_PITCH + i);
    if (places) x += half_of(places, position * TABLE_PITCH + i);
    hidden[row * EMBEDDING + i] = x;
  }
}

// `which`: the rows to take; nullptr: all in their order.
extern "C" __global__ void __launch_bounds__(256)
    normalize_tokens(const float* hidden, const float* weight, const float* bias, const int* which, unsigned short* to) {
  let_next_begin();
  wait_for_previous();
  float* sums = (float*)shared_memory;
  const float* from = hidden + (long long)(which ? which[blockIdx.x] : blockIdx.x) * EMBEDDING;
  float sum = 0.0f, squares = 0.0f;
  for (int i = threadIdx.x; i < EMBEDDING; i += 256) {
    sum += from[i];
    squares += from[i] * from[i];
  }
  const float mean = LAYER_NORM ? block_sum(sum, sums) / EMBEDDING : 0.0f;
  if (LAYER_NORM) {  // sums of differences: squares of numbers far from zero would cancel
    squares = 0.0f;
    for (int i = threadIdx.x; i < EMBEDDING; i += 256) squares += (from[i] - mean) * (from[i] - mean);
  }
  const float factor = rsqrtf(block_sum(squares, sums + 8) / EMBEDDING + EPSILON);
  for (int i = threadIdx.x; i < EMBEDDING_PITCH; i += 256) {
    const float x = i < EMBEDDING ? (from[i] - mean) * factor * weight[i] + (bias ? bias[i] : 0.0f) : 0.0f;
    to[(long long)blockIdx.x * EMBEDDING_PITCH + i] = half_from(x);
  }
}

// Numbers of a head that are `lane`'s in turn: a pair that is rotated together, or two neighbours.
__device__ __forceinline__ void pair_places(int i, int& first, int& second) {
  if (ROTATES && ROTATES_HALVES && i < ROPE_SIZE / 2) {
    first = i;
    second = i + ROPE_SIZE / 2;
  } else {
    first = 2 * i;
    second = 2 * i + 1;
  }
}

// A warp for each head of a row: queries stay where they are, rotated and scaled; keys and values go to the cache.
extern "C" __global__ void __launch_bounds__(256)
    rotate_heads(float* qkv, const float* query_norm, const float* key_norm, const float* cosines, const float* sines, const int* sequences,
                 const int* positions, unsigned short* keys, unsigned short* values, int layer) {
  let_next_begin();
  wait_for_previous();
  const int row = blockIdx.y, head = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32, position = positions[row];
  if (head >= HEADS + 2 * KV_HEADS) return;
  const bool is_query = head < HEADS, is_key = !is_query && head < HEADS + KV_HEADS;
  float* own = qkv + ((long long)row * (HEADS + 2 * KV_HEADS) + head) * HEAD_SIZE;
  const float* norm = is_query ? query_norm : is_key ? key_norm : nullptr;
  float factor = 1.0f;
  if (norm) {
    float squares = 0.0f;
    for (int i = lane; i < HEAD_SIZE; i += 32) squares += own[i] * own[i];
    factor = rsqrtf(warp_sum(squares) / HEAD_SIZE + EPSILON);
  }
  const int kv_head = is_query ? 0 : (head - HEADS) % KV_HEADS;
  unsigned short* cached =
      (is_key ? keys : values) + ((((long long)sequences[row] * LAYERS + layer) * KV_HEADS + kv_head) * CONTEXT + position) * HEAD_SIZE;
  for (int i = lane; i < HEAD_SIZE / 2; i += 32) {
    int first, second;
    pair_places(i, first, second);
    float a = own[first], b = own[second];
    if (norm) {
      a *= factor * norm[first];
      b *= factor * norm[second];
    }
    if (ROTATES && (is_query || is_key) && i < ROPE_SIZE / 2) {
      const float c = cosines[(long long)position * (ROPE_SIZE / 2) + i], s = sines[(long long)position * (ROPE_SIZE / 2) + i];
      const float turned = a * c - b * s;
      b = a * s + b * c;
      a = turned;
    }
    if (is_query) {
      own[first] = a * SCALE;
      own[second] = b * SCALE;
    } else {
      cached[first] = to_f16(a);
      cached[second] = to_f16(b);
    }
  }
}

// After products by a library: what they leave to do. `columns` are a multiple of eight, which a thread takes at a time.
extern "C" __global__ void __launch_bounds__(256) add_bias(float* result, const float* bias, int columns) {
  let_next_begin();
  wait_for_previous();
  for (int i = threadIdx.x; i < columns; i += 256) result[(long long)blockIdx.x * columns + i] += bias[i];
}
extern "C" __global__ void __launch_bounds__(256)
    activate(const unsigned short* from, const float* bias, int columns, int pitch, int gated, unsigned short* to) {
  let_next_begin();
  wait_for_previous();
  const long long row = blockIdx.y;
  const int begin = (blockIdx.x * 256 + threadIdx.x) * 8;
  if (begin >= columns) return;
  const unsigned short* own = from + row * columns * (gated ? 2 : 1) + begin;
  unsigned words[4], factors[4] = {};
  load_words<4>(own, words);
  if (gated) load_words<4>(own + columns, factors);
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    float x[2];
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int at = begin + i + e;
      x[e] = HALF::get(words[i / 2], e) + (bias ? bias[at] : 0.0f);
      x[e] = gated ? silu(x[e]) * (HALF::get(factors[i / 2], e) + (bias ? bias[columns + at] : 0.0f)) : gelu(x[e]);
    }
    words[i / 2] = HALF::pair(x[0], x[1]);
  }
  store_words<4>(to + row * pitch + begin, words);
}

// The token of the highest score, the first of several.
extern "C" __global__ void __launch_bounds__(512) best_token(const float* scores, int* best) {
  let_next_begin();
  wait_for_previous();
  const float* own = scores + (long long)blockIdx.x * VOCABULARY;
  float most = -INFINITE;
  int at = VOCABULARY;
#pragma unroll 16
  for (int i = threadIdx.x; i < VOCABULARY; i += 512) {
    const float score = own[i];
    at = score > most ? i : at;
    most = fmaxf(most, score);
  }
  float* mosts = (float*)shared_memory;
  int* places = (int*)(mosts + 512);
  mosts[threadIdx.x] = most;
  places[threadIdx.x] = at;
  for (int step = 256; step > 0; step >>= 1) {
    __syncthreads();
    if (threadIdx.x >= step) continue;
    const float other = mosts[threadIdx.x + step];
    const int place = places[threadIdx.x + step];
    if (other > mosts[threadIdx.x] || (other == mosts[threadIdx.x] && place < places[threadIdx.x])) {
      mosts[threadIdx.x] = other;
      places[threadIdx.x] = place;
    }
  }
  if (threadIdx.x == 0) best[blockIdx.x] = places[0] < VOCABULARY ? places[0] : 0;
}
