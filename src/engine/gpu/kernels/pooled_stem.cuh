// The first convolution of a network and the max-pool behind it, of 3x3 windows two apart (pooled_stem.cpp). What the convolution makes is
// neither written nor read: it is four times what the pool makes.
//
// A tile is `tile_rows` rows of the pool's result in one image. Shared memory holds the rows of the image under it, twice: one tile is
// computed while the next one's rows come. A warpgroup ("team") computes `rows` of them, the convolution's rows from top to bottom.
//
// Row r of a warp's products is column 15 * warp + r - 1 of the pool, and a thread has r = 2 * (lane / 4) + half. For each it computes the
// two columns of the convolution that no other window begins with ("even", "odd"): a window is the odd one to the left, the even and the
// odd one. Row 0 only gives what the row after it has to its left, so a warp makes 15 columns. Windows reach beyond the convolution's
// result by copies of its outermost columns and rows, which they have anyway.
//
// Sums are compared before the epilogue, which never makes the larger of two numbers the smaller one.
//
// Text before this: the preludes, the epilogue, the shape, tile_epilogue.cuh, the constants that pooled_stem.cpp writes, and
// stem_source.cuh.
static const int source_at = weight_bytes, tables_at = source_at + 2 * source_bytes, barrier_at = tables_at + columns * 8;
static const int tile_rows = teams * rows;
static const int row_tiles = (pool_h + tile_rows - 1) / tile_rows, tiles = batch * row_tiles;
static const int warp_columns = 15, team_columns = 4 * warp_columns;

// The convolution's row with which the tile's windows begin.
__device__ __forceinline__ int first_row(int tile) { return tile % row_tiles * tile_rows * 2 - pool_top; }

__device__ __forceinline__ int top_of(int tile) { return first_row(tile) * stride_h - pad_top; }

// The places, in a row of the image, where a thread's part of the runs of two columns of the convolution begins: for each half.
struct Runs {
  unsigned even[2], odd[2];
  __device__ __forceinline__ static unsigned at_column(int column) {
    column = min(max(column, 0), out_w - 1);
    return (column * stride_w + origin - pad_left - shift) * pixel_bytes + threadIdx.x % 4 * (8 * run_steps);
  }
  // `first`: the pool's column of the thread's half 0.
  __device__ __forceinline__ Runs(int first) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      even[half] = at_column(2 * (first + half) + 1 - pool_left);
      odd[half] = at_column(2 * (first + half) + 2 - pool_left);
    }
  }
};

// Loads what the products of one row of the kernel read: neighbouring bytes, two words a step.
__device__ __forceinline__ void load_runs(unsigned (&words)[row_batch * run_steps][4], int to, unsigned first, unsigned second) {
#pragma unroll
  for (int half = 0; half < 2; half++) {
    unsigned got[2 * run_steps];
    load_copied(half ? second : first, got);
#pragma unroll
    for (int step = 0; step < run_steps; step++) {
      words[to + step][half] = got[2 * step];
      words[to + step][2 + half] = got[2 * step + 1];
    }
  }
}

// The sums of `count` rows of the convolution: even and odd columns of each. `from`: where the image's row under the kernel's first one
// lies. Words of the next products are loaded while the tensor cores do those before them.
template <int count>
__device__ __forceinline__ void multiply(Sum (&sums)[2 * count][columns / 2], const unsigned (&from)[count], const Runs& runs, unsigned weights) {
  unsigned words[2][row_batch * run_steps][4];
#pragma unroll
  for (int batch = 0; batch < 2 * count * row_batches; batch++) {
    const int which = batch / row_batches, begin = batch % row_batches * row_batch;
    if (batch > 1) wait_for_products<1>();  // has read the registers that are filled now
#pragma unroll
    for (int i = 0; i < row_batch; i++)
      if (begin + i < kernel_h) {
        const unsigned row = from[which / 2] + (begin + i) * (dilation_h * row_bytes);
        if (which % 2 == 0) load_runs(words[batch % 2], i * run_steps, row + runs.even[0], row + runs.even[1]);
        else load_runs(words[batch % 2], i * run_steps, row + runs.odd[0], row + runs.odd[1]);
      }
    begin_products();
#pragma unroll
    for (int i = 0; i < row_batch * run_steps; i++) {
      const int step = begin * run_steps + i;
      if (step < steps) product_of_registers(sums[which], words[batch % 2][i], rows_at<32>(weights + step * (columns * 32)), step != 0);
    }
    commit_products();
  }
  wait_for_products<0>();
#pragma unroll
  for (int i = 0; i < columns / 2; i++)
#pragma unroll
    for (int which = 0; which < 2 * count; which++) keep(sums[which][i]);
}

// The largest of each window's three columns in one row, of the sums i and i + 2: a thread's two columns of the pool.
__device__ __forceinline__ void compare_columns(Sum (&largest)[2], const Sum (&even)[columns / 2], const Sum (&odd)[columns / 2], int i) {
  const Sum left = __shfl_sync(0xffffffffu, odd[i + 2], (threadIdx.x - 4) % 32);
  largest[0] = larger(larger(even[i], odd[i]), left);
  largest[1] = larger(larger(even[i + 2], odd[i + 2]), odd[i]);
}

// One row of the pool's result; `at`: its number among all images' rows.
__device__ __forceinline__ void end_row(const Sum (&sums)[columns / 2], const float* table, unsigned char* target, int at, int first) {
#pragma unroll
  for (int group = 0; group < columns / (4 * run); group++) {
    float values[2][run];
    end_run(values, table, group, [&](int sum) { return (float)sums[sum]; }, [](int, int) { return 0.0f; });
    const int channel = group * 4 * run + threadIdx.x % 4 * run;
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const bool is_left_of_others = half == 0 && threadIdx.x % 32 < 4;
      if (!is_left_of_others && first + half < pool_w && channel < out_pitch)
        put_target(target + (((long long)at * pool_w + first + half) * out_pitch + channel) * Target::bytes, values[half]);
    }
  }
}

// Returns the address of the image's row with which the convolution's row `row`, or the nearest one that exists, begins.
__device__ __forceinline__ unsigned source_row(unsigned from, int tile, int row) {
  return from + (min(max(row, 0), out_h - 1) - first_row(tile)) * (stride_h * row_bytes);
}

// The team's rows of a tile; `from`: where the tile's image lies.
__device__ __forceinline__ void compute(unsigned from, unsigned weights, const float* table, unsigned char* target, int tile) {
  const int team = threadIdx.x / 128, image = tile / row_tiles;
  const int begin = tile % row_tiles * tile_rows + team * rows, end = min(begin + rows, pool_h);
  if (begin >= end) return;
  for (int left = 0; left < pool_w; left += team_columns) {
    const int first = left + threadIdx.x % 128 / 32 * warp_columns + threadIdx.x % 32 / 4 * 2 - 1;
    const Runs runs(first);
    Sum above[columns / 2], sums[4][columns / 2];  // above: of the row that the windows of two rows of the pool share
    {
      Sum first_sums[2][columns / 2];
      const unsigned row[1] = {source_row(from, tile, 2 * begin - pool_top)};
      multiply(first_sums, row, runs, weights);
#pragma unroll
      for (int i = 0; i < columns / 2; i++) {
        if (i % 4 >= 2) continue;
        Sum largest[2];
        compare_columns(largest, first_sums[0], first_sums[1], i);
        above[i] = largest[0], above[i + 2] = largest[1];
      }
    }
    for (int y = begin; y < end; y++) {
      const unsigned row[2] = {source_row(from, tile, 2 * y - pool_top + 1), source_row(from, tile, 2 * y - pool_top + 2)};
      multiply(sums, row, runs, weights);
#pragma unroll
      for (int i = 0; i < columns / 2; i++) {
        if (i % 4 >= 2) continue;
        Sum middle[2], below[2];
        compare_columns(middle, sums[0], sums[1], i);
        compare_columns(below, sums[2], sums[3], i);
#pragma unroll
        for (int half = 0; half < 2; half++) {
          sums[0][i + 2 * half] = larger(larger(above[i + 2 * half], middle[half]), below[half]);
          above[i + 2 * half] = below[half];
        }
      }
      end_row(sums[0], table, target, image * pool_h + y, first);
    }
  }
}

extern "C" __global__ void __launch_bounds__(teams * 128, blocks)
pooled_stem(const unsigned char* source, const unsigned char* __restrict__ weights, const float* __restrict__ scale_bias, unsigned char* target) {
  extern __shared__ unsigned char shared_memory[];
  const unsigned begin = shared_address(shared_memory), base = (begin + 1023) & ~1023u;
  float* const table = (float*)(shared_memory + (base - begin) + tables_at);
  let_next_begin();
  if (threadIdx.x == 0) {
    make_barrier(base + barrier_at, 1);
    barriers_made();
    expect_bytes(base + barrier_at, weight_bytes);
    copy_bytes(base, weights, weight_bytes, base + barrier_at);
  }
  if (threadIdx.x < 128) {
    Table own;
    own.load(scale_bias, 0);
    own.store(table);
  }
  wait_for_previous();
  int tile = blockIdx.x, buffer = 0;
  if (tile < tiles) fetch(base + source_at, source, tile / row_tiles, top_of(tile));
  commit_copies();
  __syncthreads();
  wait_for(base + barrier_at, 0);
  for (; tile < tiles; tile += gridDim.x, buffer ^= 1) {
    const int coming = tile + gridDim.x;
    if (coming < tiles) fetch(base + source_at + (buffer ^ 1) * source_bytes, source, coming / row_tiles, top_of(coming));
    commit_copies();
    wait_for_copies<1>();
    __syncthreads();
    compute(base + source_at + buffer * source_bytes, base, table, target, tile);
    __syncthreads();
  }
}
