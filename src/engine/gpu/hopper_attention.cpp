// Attention on Hopper: each warpgroup ("team") has 64 queries of a head. The copy engine brings the head's keys and values, a tile of keys
// at a time; a team multiplies its queries with a tile (wgmma), keeps a softmax that is corrected as larger scores come, and multiplies the
// weights, out of its registers, with the tile's values while the next tile's scores are begun. Where a block has room for two heads it
// takes one after the other, and the next one is brought meanwhile.
#include "engine/gpu/attention.h"
#include "engine/gpu/hopper_text.h"
#include "engine/gpu/kernel_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace deepgap::gpu {
namespace {

constexpr int64_t piece = 64;  // columns that one copy brings: 128 bytes, as far as the permutation goes

struct Tiles {
  int teams = 2, blocks = 2;  // blocks: on one multiprocessor at once
  int pieces = 1;             // of a row
  int buffers = 1;            // each of a unit: the queries of a block, and its head's keys and values
  int64_t keys = 64, last = 64, count = 1, stages = 1;
  size_t tile_bytes() const { return static_cast<size_t>(keys * pieces) * 128; }
  size_t query_bytes() const { return static_cast<size_t>(teams * pieces) * 64 * 128; }
  size_t barrier_bytes() const { return static_cast<size_t>(stages) * 16 + 8; }
  size_t buffer_bytes() const { return query_bytes() + static_cast<size_t>(stages) * 2 * tile_bytes(); }
  size_t shared_bytes() const { return 1024 + static_cast<size_t>(buffers) * (buffer_bytes() + barrier_bytes()); }
};

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Tiles of equal size but for the last one; all of a head's where there is room, so that nobody waits for a place.
Tiles tiles_of(const Attention& a, const Chip& chip) {
  constexpr size_t of_system = 1 << 10;
  Tiles tiles;
  tiles.pieces = static_cast<int>(a.depth / piece);
  const int most_teams = tiles.pieces == 1 ? 2 : 3;
  tiles.teams = static_cast<int>(std::clamp<int64_t>(divide_up(a.queries, 64), 1, most_teams));
  tiles.blocks = tiles.pieces == 1 ? 4 / tiles.teams : 1;
  const int64_t most_keys = tiles.pieces == 1 ? 80 : 64, padded = divide_up(a.keys, 16) * 16;
  tiles.count = divide_up(padded, most_keys);
  tiles.keys = divide_up(divide_up(padded, tiles.count), 16) * 16;
  tiles.count = divide_up(padded, tiles.keys);
  tiles.last = padded - tiles.keys * (tiles.count - 1);
  const size_t room = std::min(chip.shared_bytes, (chip.shared_bytes + of_system) / static_cast<size_t>(tiles.blocks) - of_system);
  for (tiles.stages = tiles.count; tiles.stages > 2 && tiles.shared_bytes() > room;) --tiles.stages;
  if (tiles.stages < tiles.count) return tiles;
  tiles.buffers = 2;
  if (tiles.shared_bytes() > room) tiles.buffers = 1;
  return tiles;
}

constexpr std::string_view text = R"(
static const int tile_bytes = TILE * PIECES * 128, query_bytes = TEAMS * PIECES * 64 * 128;
static const int buffer_bytes = query_bytes + STAGES * 2 * tile_bytes, barrier_bytes = STAGES * 16 + 8;
static const int pieces_of_tile = TILE * 128, pieces_of_query = TEAMS * 64 * 128;
struct Places {
  unsigned query, key, value, barriers;
  __device__ __forceinline__ Places(unsigned base, int buffer)
      : query(base + buffer * buffer_bytes), key(query + query_bytes), value(key + STAGES * tile_bytes),
        barriers(base + BUFFERS * buffer_bytes + buffer * barrier_bytes) {}
  __device__ __forceinline__ unsigned keys_come(int stage) const { return barriers + 16 * stage; }
  __device__ __forceinline__ unsigned values_come(int stage) const { return barriers + 16 * stage + 8; }
  __device__ __forceinline__ unsigned queries_come() const { return barriers + 16 * STAGES; }
};
// The smaller step comes first.
template <bool HEADS_FIRST> __device__ __forceinline__ void copy_piece(unsigned to, const Map& map, unsigned barrier, int column, int row, int head,
                                                                      int batch) {
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
    copy_piece<HEADS_FIRST_V>(at.value + stage * tile_bytes + p * pieces_of_tile, v, at.values_come(stage), 64 * p, tile * TILE, head, batch);
}
// What a block does at once: queries of a head.
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

// What a thread has of its queries: results so far, the weights that are being multiplied, the largest score, the sum of the weights. It
// has rows lane / 4 and 8 below of its warp's 16.
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
template <int KEYS_HERE, bool LAST> __device__ __forceinline__ void take_keys(Softmax& all, const Places& at, const Map& k, const Map& v, int tile,
                                                                           int turn, int row, MASK_PARAMETER int head, int batch) {
  const int lane = threadIdx.x % 32, team = threadIdx.x / 128, stage = tile % STAGES, parity = tile / STAGES + turn & 1;
  float s[KEYS_HERE / 2];
  float added_to[KEYS_HERE / 8][2];  // what a mask says of keys, asked for before the products
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
    for (int i = 0; i < 4; ++i)
      all.weights[n][i] = HALF::pair(s[4 * (2 * n + i / 2) + i % 2 * 2], s[4 * (2 * n + i / 2) + i % 2 * 2 + 1]);
  wait_for(at.values_come(stage), parity);
  all.keep_all();
  begin_products();
#pragma unroll
  for (int n = 0; n < KEYS_HERE / 16; ++n)
#pragma unroll
    for (int p = 0; p < PIECES; ++p)
      product_with_turned(all.o[p], all.weights[n], rows_at<128>(at.value + stage * tile_bytes + p * pieces_of_tile + n * (16 * 128)), tile + n);
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
          const int run = quarter ^ step;  // whose run my partner asks for
          const unsigned given = run == 0 ? mine[0] : run == 1 ? mine[1] : run == 2 ? mine[2] : mine[3];
          const unsigned got = __shfl_xor_sync(0xffffffffu, given, step);
          if (run == 0) words[0] = got; else if (run == 1) words[1] = got; else if (run == 2) words[2] = got; else words[3] = got;
        }
        if (at < QUERIES)
          *(uint4*)(out + at * (long long)R2 + 64 * p + 32 * group + 8 * quarter) = make_uint4(words[0], words[1], words[2], words[3]);
      }
  }
}

extern "C" __global__ void __launch_bounds__(TEAMS * 128, BLOCKS) ENTRY(const __grid_constant__ Map q, const __grid_constant__ Map k,
                                                                     const __grid_constant__ Map v, MASK_PARAMETER unsigned short* out) {
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
)";

// The copy engine wants each step to be a multiple of the one before it, and of 16 bytes.
bool heads_come_first(const Attention& a, const std::array<int64_t, 4>& steps, size_t row_axis) {
  return a.heads > 1 && steps[1] < steps[row_axis];
}

TensorMapArgument map_of(const AttentionLayout& layout, int role, int64_t rows, const std::array<int64_t, 4>& steps, size_t row_axis,
                         uint32_t box_rows) {
  const Attention& a = layout.attention;
  struct Axis {
    int64_t size, step;
    uint32_t box;
  };
  std::array<Axis, 3> axes{{{rows, steps[row_axis], box_rows}, {a.heads, steps[1], 1}, {a.batch, steps[0], 1}}};
  if (heads_come_first(a, steps, row_axis)) std::swap(axes[0], axes[1]);
  TensorMapArgument map;
  map.role = role;
  map.element = layout.element;
  map.sizes = {static_cast<uint64_t>(a.depth)};
  map.box = {static_cast<uint32_t>(piece)};
  auto before = static_cast<uint64_t>(2 * a.depth);  // bytes
  for (const Axis& axis : axes) {
    if (axis.size > 1) before = static_cast<uint64_t>(2 * axis.step);
    map.sizes.push_back(static_cast<uint64_t>(axis.size));
    map.strides.push_back(before);
    map.box.push_back(axis.box);
  }
  map.swizzle_bytes = 128;
  map.offset_bytes = 2 * layout.first[static_cast<size_t>(role)];
  return map;
}

// The copy engine goes forward, and never stays.
bool has_steps(int64_t step, int64_t size) { return size == 1 || step > 0; }

bool fits_copy_engine(const AttentionLayout& layout) {
  const Attention& a = layout.attention;
  const auto each = [&](const std::array<int64_t, 4>& steps, size_t row_axis, int64_t rows) {
    return has_steps(steps[0], a.batch) && has_steps(steps[1], a.heads) && has_steps(steps[row_axis], rows);
  };
  return each(a.query.steps, 2, a.queries) && each(a.key.steps, 3, a.keys) && each(a.value.steps, 2, a.keys);
}

// Units of work, and the blocks that take them in turns: as many as there are places for, where a block brings the next while it computes.
struct Grid {
  int64_t query_blocks = 1, units = 1, blocks = 1;
};

Grid grid_of(const Attention& a, const Tiles& tiles, const Chip& chip) {
  Grid grid{.query_blocks = divide_up(a.queries, int64_t{64} * tiles.teams)};
  grid.blocks = grid.units = grid.query_blocks * a.heads * a.batch;
  if (tiles.buffers > 1) grid.blocks = std::min(grid.units, int64_t{chip.multiprocessors} * tiles.blocks);
  return grid;
}

std::string source_of(const AttentionLayout& layout, const Tiles& tiles, const Grid& grid, const std::string& mask_text,
                      const std::string& entry) {
  const Attention& a = layout.attention;
  const bool half = layout.element == Element::f16;
  Convolution problem;  // of products_text, which reads what is multiplied
  problem.compute = half ? ComputeType::f16 : ComputeType::bf16;
  problem.source = layout.element;
  std::string source(kernel_prelude());
  source += hopper_prelude();
  source += fmt::format(
      "typedef float Sum;\n#define QUERIES {}\n#define KEYS {}\n#define PIECES {}\n#define TEAMS {}\n#define BLOCKS {}\n#define TILE "
      "{}\n#define LAST_TILE {}\n#define TILES {}\n#define STAGES {}\n#define HALF {}\n#define ENTRY {}\n",
      a.queries, a.keys, tiles.pieces, tiles.teams, tiles.blocks, tiles.keys, tiles.last, tiles.count, tiles.stages, half ? "F16" : "BF16",
      entry);
  source += fmt::format("#define BUFFERS {}\n#define QUERY_BLOCKS {}\n#define HEADS {}\n#define UNITS {}\n#define BLOCKS_IN_ALL {}\n",
                        tiles.buffers, grid.query_blocks, a.heads, grid.units, grid.blocks);
  const auto flag = [](char name, bool value) { return fmt::format("#define HEADS_FIRST_{} {}\n", name, value); };
  source += flag('Q', heads_come_first(a, a.query.steps, 2)) + flag('K', heads_come_first(a, a.key.steps, 3)) +
            flag('V', heads_come_first(a, a.value.steps, 2));
  source += attention_steps_text(a) + mask_text;
  source += softmax_text();
  source += product_text(problem, static_cast<int>(tiles.keys));
  if (tiles.last != tiles.keys) source += product_text(problem, static_cast<int>(tiles.last));
  source += turned_product_text(problem, static_cast<int>(piece));
  source += text;
  return source;
}

}  // namespace

std::optional<Launch> hopper_attention(const AttentionLayout& layout, const std::string& mask_text, const std::string& entry,
                                       const Chip& chip) {
  const Attention& a = layout.attention;
  if (chip.architecture != 90 || a.depth != a.columns || (a.depth != piece && a.depth != 2 * piece)) return std::nullopt;
  if (!wide_operands(layout).all() || !fits_copy_engine(layout)) return std::nullopt;
  const Tiles tiles = tiles_of(a, chip);
  if (tiles.shared_bytes() > chip.shared_bytes) return std::nullopt;
  Launch launch;
  launch.entry = entry;
  const Grid grid = grid_of(a, tiles, chip);
  if (grid.units >= int64_t{1} << 30) return std::nullopt;
  launch.source = source_of(layout, tiles, grid, mask_text, entry);
  launch.block = {static_cast<unsigned>(128 * tiles.teams), 1, 1};
  launch.grid = {static_cast<unsigned>(grid.blocks), 1, 1};
  launch.shared_bytes = tiles.shared_bytes();
  launch.overlaps_previous = true;
  const auto rows_of_tile = static_cast<uint32_t>(tiles.keys);
  launch.arguments = {map_of(layout, 0, a.queries, a.query.steps, 2, static_cast<uint32_t>(64 * tiles.teams)),
                      map_of(layout, 1, a.keys, a.key.steps, 3, rows_of_tile), map_of(layout, 2, a.keys, a.value.steps, 2, rows_of_tile)};
  for (int role = 3; role < (a.mask ? 5 : 4); ++role) launch.arguments.emplace_back(BufferArgument{role});
  return launch;
}

}  // namespace deepgap::gpu
