// Attention by TMA and wgmma: hopper_attention.cpp says how. Text before this: the preludes, attention_softmax.cuh, and the macros and
// products that hopper_attention.cpp writes.
static const int tile_bytes = TILE * PIECES * 128, query_bytes = TEAMS * PIECES * 64 * 128;
static const int tiles_at = QUERY_BUFFERS * query_bytes, barriers_at = tiles_at + STAGES * 2 * tile_bytes;
static const int pieces_of_tile = TILE * 128, pieces_of_query = TEAMS * 64 * 128;
static const bool more_than_stages = QUERY_BUFFERS > 1 || STAGES < TILES;
struct Places {
  unsigned base;
  __device__ __forceinline__ unsigned query(int round) const { return base + round % QUERY_BUFFERS * query_bytes; }
  __device__ __forceinline__ unsigned key(int stage) const { return base + tiles_at + stage * (2 * tile_bytes); }
  __device__ __forceinline__ unsigned value(int stage) const { return key(stage) + tile_bytes; }
  __device__ __forceinline__ unsigned keys_come(int stage) const { return base + barriers_at + 16 * stage; }
  __device__ __forceinline__ unsigned values_come(int stage) const { return keys_come(stage) + 8; }
  __device__ __forceinline__ unsigned queries_come(int round) const { return base + barriers_at + 16 * STAGES + 8 * (round % QUERY_BUFFERS); }
};
// The work of a block at a time, in its round: queries of a head.
struct Unit {
  int first, head, batch;
  bool there;
  __device__ __forceinline__ explicit Unit(int round) {
    const int number = blockIdx.x + round * BLOCKS_IN_ALL;
    there = number < UNITS;
    first = number % QUERY_BLOCKS * (64 * TEAMS);
    head = number / QUERY_BLOCKS % HEADS;
    batch = number / (QUERY_BLOCKS * HEADS);
  }
};
// The smaller step comes first.
template <bool HEADS_FIRST>
__device__ __forceinline__ void copy_piece(unsigned to, const Map& map, unsigned barrier, int column, int row, int head, int batch) {
  copy_box(to, map, barrier, column, HEADS_FIRST ? head : row, HEADS_FIRST ? row : head, batch);
}
__device__ __forceinline__ void copy_queries(const Places& at, const Map& q, int round) {
  const Unit unit(round);
  if (!unit.there) return;
  expect_bytes(at.queries_come(round), query_bytes);
#pragma unroll
  for (int p = 0; p < PIECES; ++p)
    copy_piece<HEADS_FIRST_Q>(at.query(round) + p * pieces_of_query, q, at.queries_come(round), 64 * p, unit.first, unit.head, unit.batch);
}
// Brings a tile of keys and one of values to their stage. `position` counts the tiles of all rounds.
__device__ __forceinline__ void copy_tile(const Places& at, const Map& k, const Map& v, int position) {
  const Unit unit(position / TILES);
  if (!unit.there) return;
  const int stage = position % STAGES, row = position % TILES * TILE;
  expect_bytes(at.keys_come(stage), tile_bytes);
#pragma unroll
  for (int p = 0; p < PIECES; ++p)
    copy_piece<HEADS_FIRST_K>(at.key(stage) + p * pieces_of_tile, k, at.keys_come(stage), 64 * p, row, unit.head, unit.batch);
  expect_bytes(at.values_come(stage), tile_bytes);
#pragma unroll
  for (int p = 0; p < PIECES; ++p)
    copy_piece<HEADS_FIRST_V>(at.value(stage) + p * pieces_of_tile, v, at.values_come(stage), 64 * p, row, unit.head, unit.batch);
}

// State of a thread's queries: results so far, the weights that are being multiplied, the largest score, the sum of the weights. It has
// rows lane / 4 and 8 below of its warp's 16.
struct Softmax {
  float o[PIECES][32];
  unsigned weights[TILE / 16][4];
  float most[2], sum[2];
  __device__ __forceinline__ void begin() {
#pragma unroll
    for (int half = 0; half < 2; ++half) most[half] = minus_infinity, sum[half] = 0.0f;
#pragma unroll
    for (int p = 0; p < PIECES; ++p)
#pragma unroll
      for (int i = 0; i < 32; ++i) o[p][i] = 0.0f;
#pragma unroll
    for (int n = 0; n < TILE / 16; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) weights[n][i] = 0;
  }
  __device__ __forceinline__ void keep_all() {
#pragma unroll
    for (int p = 0; p < PIECES; ++p)
#pragma unroll
      for (int i = 0; i < 32; ++i) keep(o[p][i]);
#pragma unroll
    for (int n = 0; n < TILE / 16; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) asm volatile("" : "+r"(weights[n][i])::"memory");
  }
};

// Scores of a warp's queries become weights: the mask, the softmax so far, and the results so far on its scale.
template <int KEYS_HERE, bool LAST>
__device__ __forceinline__ void weigh(Softmax& all, float (&s)[KEYS_HERE / 2], const float (&added_to)[KEYS_HERE / 8][2], int tile, int row,
                                      MASK_PARAMETER int head, int batch) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int n = 0; n < KEYS_HERE / 8; ++n)
#pragma unroll
    for (int one = 0; one < 2; ++one) {
      const int key = tile * TILE + n * 8 + lane % 4 * 2 + one;
      const float added = added_to[n][one];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float& x = s[4 * n + 2 * half + one];
        const int place = row + half * 8;
        MASKED
        if (LAST && KEYS % 16 != 0 && key >= KEYS) x = minus_infinity;
      }
    }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float parts[2] = {all.most[half], all.most[half]};  // two, since each operation waits for the one before
#pragma unroll
    for (int n = 0; n < KEYS_HERE / 8; ++n) parts[n % 2] = fmaxf(parts[n % 2], fmaxf(s[4 * n + 2 * half], s[4 * n + 2 * half + 1]));
    const float larger = over_quad(fmaxf(parts[0], parts[1]), true);
    const float base = larger == minus_infinity ? 0.0f : larger * FACTOR;
    const float less = power_of_two(fmaf(all.most[half], FACTOR, -base));
    all.most[half] = larger;
    parts[0] = parts[1] = 0.0f;
#pragma unroll
    for (int n = 0; n < KEYS_HERE / 8; ++n)
#pragma unroll
      for (int one = 0; one < 2; ++one)
        parts[one] += s[4 * n + 2 * half + one] = power_of_two(fmaf(s[4 * n + 2 * half + one], FACTOR, -base));
    all.sum[half] = fmaf(all.sum[half], less, parts[0] + parts[1]);
    if (tile > 0) {
#pragma unroll
      for (int p = 0; p < PIECES; ++p)
#pragma unroll
        for (int c = 0; c < 8; ++c) all.o[p][4 * c + 2 * half] *= less, all.o[p][4 * c + 2 * half + 1] *= less;
    }
  }
#pragma unroll
  for (int n = 0; n < KEYS_HERE / 16; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) all.weights[n][i] = HALF::pair(s[4 * (2 * n + i / 2) + i % 2 * 2], s[4 * (2 * n + i / 2) + i % 2 * 2 + 1]);
}

// KEYS_HERE keys of tile `tile`. Meanwhile thread 0 orders what fits in the place of the tile before, and the next round's queries.
template <int KEYS_HERE, bool LAST>
__device__ __forceinline__ void take_keys(Softmax& all, const Places& at, const Map& q, const Map& k, const Map& v, int round, int tile,
                                          int row, MASK_PARAMETER int head, int batch) {
  const int position = round * TILES + tile, stage = position % STAGES, parity = position / STAGES & 1;
  const int lane = threadIdx.x % 32, team = threadIdx.x / 128;
  float s[KEYS_HERE / 2];
  float added_to[KEYS_HERE / 8][2];  // the mask's values for the keys, asked for before the products
#pragma unroll
  for (int n = 0; n < KEYS_HERE / 8; ++n)
#pragma unroll
    for (int one = 0; one < 2; ++one) {
      const int key = tile * TILE + n * 8 + lane % 4 * 2 + one;
      MASK_OF_KEY
      added_to[n][one] = ADDED;
    }
  wait_for(at.keys_come(stage), parity);
#pragma unroll
  for (int i = 0; i < KEYS_HERE / 2; ++i) keep(s[i]);
  begin_products();
#pragma unroll
  for (int p = 0; p < PIECES; ++p)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      product(s, rows_at<128>(at.query(round) + p * pieces_of_query + team * (64 * 128) + 32 * i),
              rows_at<128>(at.key(stage) + p * pieces_of_tile + 32 * i), (p | i) != 0);
  commit_products();
  wait_for_products<0>();
  all.keep_all();
#pragma unroll
  for (int i = 0; i < KEYS_HERE / 2; ++i) keep(s[i]);
  if (more_than_stages) {
    if (position > 0) __syncthreads();  // every team has read the tile before, and the queries of the round before
    if (threadIdx.x == 0 && position > 0) copy_tile(at, k, v, position - 1 + STAGES);
    if (threadIdx.x == 0 && tile == 0 && QUERY_BUFFERS > 1) copy_queries(at, q, round + 1);
  }
  const bool has_queries = QUERIES % 64 == 0 || row - lane / 4 < QUERIES;  // the warp's first
  if (has_queries) weigh<KEYS_HERE, LAST>(all, s, added_to, tile, row, MASK_ARGUMENT head, batch);
  wait_for(at.values_come(stage), parity);
  all.keep_all();
  begin_products();
#pragma unroll
  for (int n = 0; n < KEYS_HERE / 16; ++n)
#pragma unroll
    for (int p = 0; p < PIECES; ++p)
      product_with_turned(all.o[p], all.weights[n], rows_at<128>(at.value(stage) + p * pieces_of_tile + n * (16 * 128)),
                          tile + n);
  commit_products();
}

// Transposes four words of each of the four threads that share a row: word i of thread t becomes word t of thread i.
__device__ __forceinline__ void transpose_quad(unsigned (&words)[4]) {
#pragma unroll
  for (int bit = 1; bit < 4; bit *= 2) {
    const bool upper = threadIdx.x & bit;
#pragma unroll
    for (int low = 0; low < 4; ++low) {
      if (low & bit) continue;
      const unsigned got = __shfl_xor_sync(0xffffffffu, upper ? words[low] : words[low | bit], bit);
      words[low] = upper ? got : words[low];
      words[low | bit] = upper ? words[low | bit] : got;
    }
  }
}

// Each thread has two neighbours of every run of eight; after the exchange one whole run, which it stores as 16 bytes.
__device__ __forceinline__ void put_rows(const Softmax& all, unsigned short* out, int row) {
  const int quarter = threadIdx.x % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float inverse = 1.0f / over_quad(all.sum[half], false);
    const int at = row + half * 8;
#pragma unroll
    for (int p = 0; p < PIECES; ++p)
#pragma unroll
      for (int group = 0; group < 2; ++group) {
        unsigned words[4];
#pragma unroll
        for (int run = 0; run < 4; ++run) {
          const int first = 4 * (4 * group + run) + 2 * half;
          words[run] = HALF::pair(all.o[p][first] * inverse, all.o[p][first + 1] * inverse);
        }
        transpose_quad(words);
        if (at < QUERIES)
          *(uint4*)(out + at * (long long)R2 + 64 * p + 32 * group + 8 * quarter) = make_uint4(words[0], words[1], words[2], words[3]);
      }
  }
}

extern "C" __global__ void __launch_bounds__(TEAMS * 128, BLOCKS)
    ENTRY(const __grid_constant__ Map q, const __grid_constant__ Map k, const __grid_constant__ Map v, MASK_PARAMETER unsigned short* out) {
  extern __shared__ unsigned char shared_memory[];
  const unsigned base = (shared_address(shared_memory) + 1023) & ~1023u;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const Places at{base};
  let_next_begin();
  if (threadIdx.x == 0) {
    for (int barrier = 0; barrier < 2 * STAGES + QUERY_BUFFERS; ++barrier) make_barrier(base + barriers_at + 8 * barrier, 1);
    barriers_made();
    wait_for_previous();
    copy_queries(at, q, 0);
    for (int position = 0; position < STAGES; ++position) copy_tile(at, k, v, position);
  }
  __syncthreads();
  wait_for_previous();
  constexpr bool alike = LAST_TILE == TILE;
#pragma unroll 1
  for (int round = 0;; ++round) {
    const Unit unit(round);
    if (!unit.there) return;
    const int row = unit.first + warp * 16 + lane / 4;
    Softmax all;
    all.begin();
    wait_for(at.queries_come(round), round / QUERY_BUFFERS & 1);
#pragma unroll 1
    for (int tile = 0; tile + (alike ? 0 : 1) < TILES; ++tile)
      take_keys<TILE, alike>(all, at, q, k, v, round, tile, row, MASK_ARGUMENT unit.head, unit.batch);
    if (!alike) take_keys<LAST_TILE, true>(all, at, q, k, v, round, TILES - 1, row, MASK_ARGUMENT unit.head, unit.batch);
    wait_for_products<0>();
    all.keep_all();
    put_rows(all, out + unit.batch * (long long)R0 + unit.head * (long long)R1, row);
  }
}
