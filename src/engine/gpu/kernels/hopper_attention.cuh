// Attention by TMA and wgmma: hopper_attention.cpp says how. Text before this: the preludes, attention_softmax.cuh, and the macros and
// products that hopper_attention.cpp writes.
static const int tile_bytes = TILE * PIECES * 128, query_bytes = TEAMS * PIECES * 64 * 128;
static const int buffer_bytes = query_bytes + STAGES * 2 * tile_bytes, barrier_bytes = STAGES * 16 + 8;
static const int pieces_of_tile = TILE * 128, pieces_of_query = TEAMS * 64 * 128;
struct Places {
  unsigned query, key, value, barriers;
  __device__ __forceinline__ Places(unsigned base, int buffer)
      : query(base + buffer * buffer_bytes),
        key(query + query_bytes),
        value(key + STAGES * tile_bytes),
        barriers(base + BUFFERS * buffer_bytes + buffer * barrier_bytes) {}
  __device__ __forceinline__ unsigned keys_come(int stage) const { return barriers + 16 * stage; }
  __device__ __forceinline__ unsigned values_come(int stage) const { return barriers + 16 * stage + 8; }
  __device__ __forceinline__ unsigned queries_come() const { return barriers + 16 * STAGES; }
};
// The smaller step comes first.
template <bool HEADS_FIRST>
__device__ __forceinline__ void copy_piece(unsigned to, const Map& map, unsigned barrier, int column, int row, int head, int batch) {
  copy_box(to, map, barrier, column, HEADS_FIRST ? head : row, HEADS_FIRST ? row : head, batch);
}
__device__ __forceinline__ void copy_tile(const Places& at, const Map& k, const Map& v, int tile, int head, int batch) {
  const int stage = tile % STAGES;
  expect_bytes(at.keys_come(stage), tile_bytes);
#pragma unroll
  for (int p = 0; p < PIECES; ++p)
    copy_piece<HEADS_FIRST_K>(at.key + stage * tile_bytes + p * pieces_of_tile, k, at.keys_come(stage), 64 * p, tile * TILE, head, batch);
  expect_bytes(at.values_come(stage), tile_bytes);
#pragma unroll
  for (int p = 0; p < PIECES; ++p)
    copy_piece<HEADS_FIRST_V>(at.value + stage * tile_bytes + p * pieces_of_tile, v, at.values_come(stage), 64 * p, tile * TILE, head,
                              batch);
}
// The work of a block at a time: queries of a head.
struct Unit {
  int first, head, batch;
  __device__ __forceinline__ explicit Unit(int number)
      : first(number % QUERY_BLOCKS * (64 * TEAMS)), head(number / QUERY_BLOCKS % HEADS), batch(number / (QUERY_BLOCKS * HEADS)) {}
};
__device__ __forceinline__ void bring(const Places& at, const Map& q, const Map& k, const Map& v, const Unit& unit) {
  expect_bytes(at.queries_come(), query_bytes);
#pragma unroll
  for (int p = 0; p < PIECES; ++p)
    copy_piece<HEADS_FIRST_Q>(at.query + p * pieces_of_query, q, at.queries_come(), 64 * p, unit.first, unit.head, unit.batch);
  for (int tile = 0; tile < (STAGES < TILES ? STAGES : TILES); ++tile) copy_tile(at, k, v, tile, unit.head, unit.batch);
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

// KEYS_HERE keys of tile `tile`. `turn`: how often the buffer was used before.
template <int KEYS_HERE, bool LAST>
__device__ __forceinline__ void take_keys(Softmax& all, const Places& at, const Map& k, const Map& v, int tile, int turn, int row,
                                          MASK_PARAMETER int head, int batch) {
  const int lane = threadIdx.x % 32, team = threadIdx.x / 128, stage = tile % STAGES, parity = tile / STAGES + turn & 1;
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
      product(s, rows_at<128>(at.query + p * pieces_of_query + team * (64 * 128) + 32 * i),
              rows_at<128>(at.key + stage * tile_bytes + p * pieces_of_tile + 32 * i), (p | i) != 0);
  commit_products();
  wait_for_products<0>();
  all.keep_all();
#pragma unroll
  for (int i = 0; i < KEYS_HERE / 2; ++i) keep(s[i]);
  if (STAGES < TILES && tile > 0) {  // by now every team may have read the tile before
    __syncthreads();
    if (threadIdx.x == 0 && tile - 1 + STAGES < TILES) copy_tile(at, k, v, tile - 1 + STAGES, head, batch);
  }
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
    float larger = all.most[half];
#pragma unroll
    for (int n = 0; n < KEYS_HERE / 8; ++n) larger = fmaxf(larger, fmaxf(s[4 * n + 2 * half], s[4 * n + 2 * half + 1]));
    larger = over_quad(larger, true);
    const float base = larger == minus_infinity ? 0.0f : larger * FACTOR;
    const float less = power_of_two(fmaf(all.most[half], FACTOR, -base));
    all.most[half] = larger;
    float part = 0.0f;
#pragma unroll
    for (int n = 0; n < KEYS_HERE / 8; ++n)
#pragma unroll
      for (int one = 0; one < 2; ++one) part += s[4 * n + 2 * half + one] = power_of_two(fmaf(s[4 * n + 2 * half + one], FACTOR, -base));
    all.sum[half] = fmaf(all.sum[half], less, part);
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
  wait_for(at.values_come(stage), parity);
  all.keep_all();
  begin_products();
#pragma unroll
  for (int n = 0; n < KEYS_HERE / 16; ++n)
#pragma unroll
    for (int p = 0; p < PIECES; ++p)
      product_with_turned(all.o[p], all.weights[n], rows_at<128>(at.value + stage * tile_bytes + p * pieces_of_tile + n * (16 * 128)),
                          tile + n);
  commit_products();
}

// Four threads have 8 neighbours of a row each in pairs: they exchange them, so that each stores 16 bytes.
__device__ __forceinline__ void put_rows(const Softmax& all, unsigned short* out, int row) {
  const int lane = threadIdx.x % 32, quarter = lane % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float inverse = 1.0f / over_quad(all.sum[half], false);
    const int at = row + half * 8;
#pragma unroll
    for (int p = 0; p < PIECES; ++p)
#pragma unroll
      for (int group = 0; group < 2; ++group) {
        unsigned mine[4], words[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          const int first = 4 * (4 * group + c) + 2 * half;
          mine[c] = HALF::pair(all.o[p][first] * inverse, all.o[p][first + 1] * inverse);
        }
        // Word `from` of run `quarter` lies with the thread of that quarter.
#pragma unroll
        for (int step = 0; step < 4; ++step) {
          const int run = quarter ^ step;  // number of the run that my partner asks for
          const unsigned given = run == 0 ? mine[0] : run == 1 ? mine[1] : run == 2 ? mine[2] : mine[3];
          const unsigned got = __shfl_xor_sync(0xffffffffu, given, step);
          if (run == 0)
            words[0] = got;
          else if (run == 1)
            words[1] = got;
          else if (run == 2)
            words[2] = got;
          else
            words[3] = got;
        }
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
  let_next_begin();
  if (threadIdx.x == 0) {
    for (int buffer = 0; buffer < BUFFERS; ++buffer) {
      const Places at(base, buffer);
      for (int stage = 0; stage < STAGES; ++stage) {
        make_barrier(at.keys_come(stage), 1);
        make_barrier(at.values_come(stage), 1);
      }
      make_barrier(at.queries_come(), 1);
    }
    barriers_made();
    wait_for_previous();
    bring(Places(base, 0), q, k, v, Unit(blockIdx.x));
  }
  __syncthreads();
  wait_for_previous();
  constexpr bool alike = LAST_TILE == TILE;
#pragma unroll 1
  for (int number = blockIdx.x, round = 0; number < UNITS; number += BLOCKS_IN_ALL, ++round) {
    const Unit unit(number);
    const int turn = round / BUFFERS, row = unit.first + warp * 16 + lane / 4;
    const Places at(base, round % BUFFERS);
    if (BUFFERS > 1 && threadIdx.x == 0 && number + BLOCKS_IN_ALL < UNITS)
      bring(Places(base, (round + 1) % BUFFERS), q, k, v, Unit(number + BLOCKS_IN_ALL));
    Softmax all;
    all.begin();
    wait_for(at.queries_come(), turn & 1);
#pragma unroll 1
    for (int tile = 0; tile + (alike ? 0 : 1) < TILES; ++tile)
      take_keys<TILE, alike>(all, at, k, v, tile, turn, row, MASK_ARGUMENT unit.head, unit.batch);
    if (!alike) take_keys<LAST_TILE, true>(all, at, k, v, TILES - 1, turn, row, MASK_ARGUMENT unit.head, unit.batch);
    wait_for_products<0>();
    all.keep_all();
    put_rows(all, out + unit.batch * (long long)R0 + unit.head * (long long)R1, row);
    if (BUFFERS > 1) __syncthreads();  // the buffer is everybody's no more
  }
}
