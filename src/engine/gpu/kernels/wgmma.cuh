// Implicit GEMM by TMA and wgmma. Text before this: the preludes, the epilogue, the shape, tile_epilogue.cuh, and the constants that
// wgmma_text.cpp writes. After it: tile_rows.cuh, wgmma_consumer.cuh.
//
// The places in shared memory, and the order of the tiles.
static const int rows_bytes = tile_rows * step_bytes;  // bytes of one copy
static const int stage_rows_bytes = stage_steps * rows_bytes;
static const int stage_bytes = stage_rows_bytes + (resident ? 0 : stage_steps * weight_bytes);
static const int stages_at = resident ? steps * weight_bytes : 0;
static const int tables_at = stages_at + stages * stage_bytes;
static const int barriers_at = tables_at + teams * columns * 8;
static const int tile_stages = steps / stage_steps;
static const int groups_of_columns = columns / (4 * run);
static const int product_sums = columns / products / 2;  // sums per thread

__device__ __forceinline__ unsigned full_at(unsigned base, unsigned stage) { return base + barriers_at + 8 * stage; }
__device__ __forceinline__ unsigned empty_at(unsigned base, unsigned stage) { return base + barriers_at + 8 * (stages + stage); }

// Phase i: the stages of tile i have all come.
__device__ __forceinline__ unsigned turn_at(unsigned base) { return base + barriers_at + 8 * (2 * stages + 1); }

// Tile number `index` of this block: rows from row * tile_rows on, columns from column * columns on.
__device__ __forceinline__ bool tile_at(int index, int& row, int& column) {
  if (resident) {
    column = blockIdx.x % column_tiles;
    row = blockIdx.x / column_tiles + index * (gridDim.x / column_tiles);
    return row < row_tiles;
  }
  const int linear = blockIdx.x + index * gridDim.x;
  column = linear % column_tiles;
  row = linear / column_tiles;
  return row < row_tiles;
}
// Rows of a tile that are before this team's.
__device__ __forceinline__ int rows_before() { return turns ? 0 : threadIdx.x / 128 * (64 * row_blocks); }

struct Start {
  int x, y, image;
};
__device__ __forceinline__ Start start_of(long long pixel) {
  const int x = (int)(pixel % out_w), y = (int)(pixel / out_w % out_h);
  return {x * stride_w - pad_left, y * stride_h - pad_top, (int)(pixel / out_w / out_h)};
}

// One thread: waits for a stage to be free, orders its bytes, goes on.
__device__ __forceinline__ void produce(unsigned base, const Map& source, const unsigned char* weights) {
  int row, column;
  if (resident && tile_at(0, row, column)) {
    const unsigned barrier = full_at(base, 2 * stages);
    expect_bytes(barrier, steps * weight_bytes);
    for (int step = 0; step < steps; step++)
      copy_bytes(base + step * weight_bytes, weights + ((long long)column * steps + step) * weight_bytes, weight_bytes, barrier);
  }
  wait_for_previous();
  unsigned stage = 0, parity = 1;
  for (int index = 0; tile_at(index, row, column); index++) {
    const Start start = start_of((long long)row * tile_rows);
    const unsigned char* tile_weights = weights + (long long)column * steps * weight_bytes;
    int channels = 0, right = 0, down = 0;
    for (int step = 0; step < steps; stage = stage + 1 == stages ? 0 : stage + 1, parity ^= stage == 0) {
      const unsigned full = full_at(base, stage), rows = base + stages_at + stage * stage_bytes;
      wait_for(empty_at(base, stage), parity);
      expect_bytes(full, stage_bytes);
#pragma unroll
      for (int part = 0; part < stage_steps; part++, step++) {
        if (plain)
          copy_rows(rows + part * rows_bytes, source, full, channels * step_elements, row * tile_rows);
        else
          copy_pixels(rows + part * rows_bytes, source, full, channels * step_elements, start.x, start.y, start.image, right, down);
        if (++channels == tap_steps) {
          channels = 0;
          right += dilation_w;
          if (right == kernel_w * dilation_w) {
            right = 0;
            down += dilation_h;
          }
        }
        if (!resident)
          copy_bytes(rows + stage_rows_bytes + part * weight_bytes, tile_weights + (long long)step * weight_bytes, weight_bytes, full);
      }
    }
  }
}

// This thread's place in a tile: its first row and channel.
struct Corner {
  long long pixel;
  int channel;
  __device__ __forceinline__ void go_to(int row, int column) {
    const int thread = threadIdx.x % 128;
    pixel = (long long)row * tile_rows + rows_before() + thread / 32 * 16 + thread % 32 / 4;
    channel = column * columns + thread % 4 * run;
  }
  __device__ __forceinline__ bool inside(int block, int half, int group) const {
    return pixel + 64 * block + 8 * half < pixels && (whole_columns || channel + group * 4 * run < out_pitch);
  }
  __device__ __forceinline__ long long element(int block, int half, int group) const {
    return (pixel + 64 * block + 8 * half) * out_pitch + channel + group * 4 * run;
  }
};
