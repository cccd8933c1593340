#include "engine/gpu/tile_epilogue.h"

#include "engine/gpu/kernel_text.h"

#include <fmt/format.h>

namespace deepgap::gpu {
namespace {

constexpr std::string_view table_text = R"(
struct Table {
  float scale[table_share], bias[table_share];  // of one thread
  __device__ __forceinline__ void load(const float* scale_bias, int column) {
#pragma unroll
    for (int i = 0; i < table_share; i++) {
      const int place = threadIdx.x % 128 + 128 * i;
      const int in_group = place % (4 * run);
      const int channel = column * columns + place / (4 * run) * (4 * run) + in_group / 4 % 4 * run + in_group / 16 * 4 + in_group % 4;
      const bool there = place < columns && channel < out_pitch;
      scale[i] = there ? table_scale(scale_bias[channel]) : 0.0f;
      bias[i] = there ? table_bias(scale_bias[out_pitch + channel]) : 0.0f;
    }
  }
  __device__ __forceinline__ void store(float* table) const {
#pragma unroll
    for (int i = 0; i < table_share; i++) {
      const int place = threadIdx.x % 128 + 128 * i;
      if (place < columns) { table[place] = scale[i]; table[columns + place] = bias[i]; }
    }
  }
};
)";

constexpr std::string_view run_text = R"(
// What a thread stores of group `group` of columns, eight rows apart: `sum_at(i)` is its sum i, `added(half, i)` its residual's number.
template <typename SumAt, typename Added>
__device__ __forceinline__ void end_run(float (&values)[2][run], const float* table, int group, const SumAt& sum_at, const Added& added) {
  const int quarter = threadIdx.x % 4;
#pragma unroll
  for (int part = 0; part < run / 4; part++) {
    float scale[4], bias[4];
    const int place = group * 4 * run + part * 16 + quarter * 4;
    if (has_scale) load_floats<4>(table + place, scale);
    load_floats<4>(table + columns + place, bias);
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int of_run = part * 4 + i, sum = (group * (run / 2) + of_run / 2) * 4 + half * 2 + of_run % 2;
        values[half][of_run] = end_value(sum_at(sum), has_scale ? scale[i] : 1.0f, bias[i], added(half, of_run));
      }
  }
}
)";

constexpr std::string_view rows_text = R"(
static const int residual_words = has_residual ? run * Residual::bytes / 4 : 1;
// The residual of one group of columns, on its way while others are ended.
struct Kept {
  unsigned words[row_blocks][2][residual_words];
  __device__ __forceinline__ void load(const unsigned char* residual, const Corner& at, int block, int group) {
#pragma unroll
    for (int half = 0; half < 2; half++)
      if (at.inside(block, half, group)) get_residual<run>(residual + at.element(block, half, group) * Residual::bytes, words[block][half]);
  }
};
// The sums of a tile become what is stored. Each group's place in `kept` is filled again as soon as it is used: with a later group of this
// tile, or with one of the next tile.
__device__ __forceinline__ void end_tile(Sum (&sums)[row_blocks][products][product_sums], const float* table, Kept (&kept)[kept_groups],
                                         const Corner& here, const Corner& next, bool more, const unsigned char* residual,
                                         unsigned char* target) {
#pragma unroll
  for (int group = 0; group < groups_of_columns; group++) {
    Kept& added = kept[group % kept_groups];
#pragma unroll
    for (int block = 0; block < row_blocks; block++) {
      float values[2][run];
      end_run(values, table, group, [&](int sum) { return value_of(sums[block][sum / product_sums][sum % product_sums]); },
              [&](int half, int i) { return has_residual ? residual_of(added.words[block][half], i) : 0.0f; });
#pragma unroll
      for (int half = 0; half < 2; half++)
        if (here.inside(block, half, group)) put_target(target + here.element(block, half, group) * Target::bytes, values[half]);
      if (has_residual) {
        const int coming = group + kept_groups;
        if (coming < groups_of_columns) added.load(residual, here, block, coming);
        else if (more) added.load(residual, next, block, coming - groups_of_columns);
      }
    }
  }
}

// Barriers of a ring: of each stage one that the producer fills, and one that every warp frees that reads it.
__device__ __forceinline__ void make_ring(unsigned full, unsigned empty, int stages) {
  for (int stage = 0; stage < stages; stage++) {
    make_barrier(full + 8 * stage, 1);
    make_barrier(empty + 8 * stage, 4 * tile_teams);
  }
}

static const int tiles_apart = turns ? teams : 1;  // of a team, in the order of its block
// A warpgroup that multiplies, going through the tiles of its block.
struct Team {
  const float* scale_bias;
  const unsigned char* residual;
  unsigned char* target;
  float* shared_table;
  Table table;
  Corner here, next;
  Kept kept[kept_groups];
  int row, column, ended_column;
  bool more;  // tiles

  __device__ __forceinline__ Team(float* tables, const float* of_scale_bias, const unsigned char* of_residual, unsigned char* of_target)
      : scale_bias(of_scale_bias), residual(of_residual), target(of_target), shared_table(tables + threadIdx.x / 128 * 2 * columns) {
    more = tile_at(first_tile(), row, column);
    if (resident && more) {
      table.load(scale_bias, column);
      table.store(shared_table);
      meet(1 + threadIdx.x / 128, 128);
    }
    wait_for_previous();
    next.go_to(row, column);
    if (!turns && more) keep_first(next);
  }
  __device__ __forceinline__ static int first_tile() { return turns ? threadIdx.x / 128 : 0; }
  __device__ __forceinline__ void keep_first(const Corner& of) {
    if (!has_residual) return;
#pragma unroll
    for (int group = 0; group < kept_groups; group++)
#pragma unroll
      for (int block = 0; block < row_blocks; block++) kept[group].load(residual, of, block, group);
  }
  // Of tile `index`, before its products ...
  __device__ __forceinline__ void begin(int index) {
    here = next;
    if (!resident && !turns) table.load(scale_bias, column);
    ended_column = column;
    more = tile_at(index + tiles_apart, row, column);
    next.go_to(row, column);
  }
  // ... and after them.
  __device__ __forceinline__ void end(Sum (&sums)[row_blocks][products][product_sums]) {
#pragma unroll
    for (int block = 0; block < row_blocks; block++)
#pragma unroll
      for (int i = 0; i < columns / 2; i++) keep(sums[block][i / product_sums][i % product_sums]);
    if (turns) {
      if (!resident) table.load(scale_bias, ended_column);
      keep_first(here);
    }
    if (!resident) {
      meet(1 + threadIdx.x / 128, 128);
      table.store(shared_table);
      meet(1 + threadIdx.x / 128, 128);
    }
    end_tile(sums, shared_table, kept, here, next, !turns && more, residual, target);
  }
};
)";

constexpr std::string_view roles = R"(
    barriers_made();
  }
  __syncthreads();
  if (threadIdx.x >= teams * 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(producer_registers));
    if (threadIdx.x == teams * 128) produce(base, source, weights);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(team_registers));
    consume(base, (float*)(shared_memory + (base - begin) + tables_at), scale_bias, residual, target);
  }
}
)";

}  // namespace

std::string tile_epilogue_text() { return std::string(table_text) + std::string(run_text); }

std::string tile_constants_text(const TeamTile& tile) {
  return fmt::format(
      "static const int teams = {}, tile_teams = {}, row_blocks = {}, columns = {}, step_bytes = {}, tile_rows = {}, "
      "table_share = {}, producer_registers = {}, team_registers = {};\nstatic const bool turns = {};\n",
      tile.teams, tile.tile_teams(), tile.row_blocks, tile.columns, tile.step_bytes, tile.tile_rows(), (tile.columns + 127) / 128,
      tile.producer_registers(), tile.team_registers(), tile.turns);
}

std::string_view tile_rows_text() { return rows_text; }

std::string team_kernel_text(std::string_view entry, const TeamTile& tile, bool residual, std::string_view barriers) {
  return fmt::format(
             "extern \"C\" __global__ void __launch_bounds__({}, {}) {}(const __grid_constant__ Map source, const unsigned char* "
             "__restrict__ weights, const float* __restrict__ scale_bias, unsigned char* target{}) {{\n{}"
             "  extern __shared__ unsigned char shared_memory[];\n"
             "  const unsigned begin = shared_address(shared_memory), base = (begin + 1023) & ~1023u;\n"
             "  let_next_begin();\n"
             "  if (threadIdx.x == 0) {{",
             tile.threads(), tile.blocks, entry, residual ? ", const unsigned char* residual" : "",
             residual ? "" : "  const unsigned char* const residual = 0;\n") +
         std::string(barriers) + std::string(roles);
}

int kept_groups_of(const Convolution& problem, const TeamTile& tile) {
  const int run = run_of(problem, tile.columns), groups = tile.columns / (4 * run), most_words = tile.turns ? 16 : 32;
  const int words = tile.row_blocks * 2 * run * static_cast<int>(byte_size(problem.epilogue.residual)) / 4;
  int kept = groups;
  while (kept > 1 && kept * words > most_words) kept /= 2;
  return groups % kept == 0 ? kept : 1;
}

int run_of(const Convolution& problem, int columns) {
  int run = 16 / static_cast<int>(byte_size(problem.epilogue.target));
  while (columns % (4 * run) != 0) run /= 2;
  return run;
}

int channel_of_column(int column, int run) {
  const int group = column / (4 * run), of_group = column % (4 * run);
  return group * 4 * run + of_group % 8 / 2 * run + of_group / 8 * 2 + of_group % 2;
}

}  // namespace deepgap::gpu
