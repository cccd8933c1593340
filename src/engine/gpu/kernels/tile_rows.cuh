// Ends each tile of a team: `Kept`, a group's residual; end_tile; make_ring; `Team`. Text before this: tile_epilogue.cuh,
// tile_constants_text, constants products, product_sums (of one thread and product), groups_of_columns, kept_groups, resident (the
// weights of a block's channels stay in shared memory), tile_at(int index, int& row, int& column), the tiles of a block (false: there are
// no more), and a thread's place in a tile, whether its run is part of the target, and where:
//   struct Corner { void go_to(int row, int column); bool inside(int block, int half, int group) const;
//                   long long element(int block, int half, int group) const; }
// A team that shares its tiles with the others asks for what it adds to the next one while it ends one; where teams take turns another
// multiplies while it waits, and the registers are worth more.
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
      end_run(
          values, table, group, [&](int sum) { return value_of(sums[block][sum / product_sums][sum % product_sums]); },
          [&](int half, int i) { return has_residual ? residual_of(added.words[block][half], i) : 0.0f; });
#pragma unroll
      for (int half = 0; half < 2; half++)
        if (here.inside(block, half, group)) put_target(target + here.element(block, half, group) * Target::bytes, values[half]);
      if (has_residual) {
        const int coming = group + kept_groups;
        if (coming < groups_of_columns)
          added.load(residual, here, block, coming);
        else if (more)
          added.load(residual, next, block, coming - groups_of_columns);
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

static const int tiles_apart = turns ? teams : 1;  // distance between a team's tiles, in the order of its block
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
  // Called for tile `index`, before its products ...
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
