// Convolutions whose windows overlap: a region of the image is brought once for all places of the kernel. Text before this: the preludes,
// the epilogue, the shape, tile_epilogue.cuh, and the constants that window_text.cpp writes. After it: tile_rows.cuh, window_consumer.cuh.
static const bool resident = weight_stages == 0;
static const int source_at = resident ? channel_steps * taps * weight_bytes : weight_stages * weight_bytes;
static const int source_stage_bytes = regions * region_bytes;
static const int tables_at = source_at + source_stages * source_stage_bytes;
static const int barriers_at = tables_at + teams * columns * 8;
static const int groups_of_columns = columns / (4 * run);
static const int product_sums = columns / products / 2;
static const int region_total = batch * row_regions;
static const int region_units = tile_rows / regions;  // rows of the product that a region has

__device__ __forceinline__ unsigned source_full(unsigned base, unsigned stage) { return base + barriers_at + 8 * stage; }
__device__ __forceinline__ unsigned source_empty(unsigned base, unsigned stage) { return base + barriers_at + 8 * (source_stages + stage); }
__device__ __forceinline__ unsigned weights_full(unsigned base, unsigned stage) {
  return base + barriers_at + 8 * (2 * source_stages + stage);
}
__device__ __forceinline__ unsigned weights_empty(unsigned base, unsigned stage) {
  return base + barriers_at + 8 * (2 * source_stages + weight_stages + stage);
}
__device__ __forceinline__ bool tile_at(int index, int& row, int& column) {
  const int linear = blockIdx.x + index * gridDim.x;  // with resident weights the grid is a multiple of column_tiles
  column = linear % column_tiles;
  row = linear / column_tiles;
  return row < row_tiles;
}

__device__ __forceinline__ void produce(unsigned base, const Map& source, const unsigned char* weights) {
  int row, column;
  if (resident && tile_at(0, row, column)) {
    expect_bytes(weights_full(base, 0), channel_steps * taps * weight_bytes);
    for (int i = 0; i < channel_steps * taps; i++)
      copy_bytes(base + i * weight_bytes, weights + ((long long)column * (channel_steps * taps) + i) * weight_bytes, weight_bytes,
                 weights_full(base, 0));
  }
  wait_for_previous();
  unsigned position = 0, weight_position = 0;
  for (int index = 0; tile_at(index, row, column); index++) {
    const unsigned char* from = weights + (long long)column * (channel_steps * taps) * weight_bytes;
    for (int step = 0; step < channel_steps; step++, position++) {
      const unsigned stage = position % source_stages, full = source_full(base, stage);
      wait_for(source_empty(base, stage), (position / source_stages & 1) ^ 1);
      expect_bytes(full, regions * box_bytes);
      for (int i = 0; i < regions; i++) {
        const int region = row * regions + i;  // beyond the last image TMA fills zeros
        copy_box(base + source_at + stage * source_stage_bytes + i * region_bytes, source, full, step * step_elements, -pad_left,
                 region % row_regions * region_rows - pad_top, region / row_regions);
      }
      if (!resident)
        for (int tap = 0; tap < taps; tap++, weight_position++, from += weight_bytes) {
          const unsigned weight_stage = weight_position % (weight_stages + resident);
          wait_for(weights_empty(base, weight_stage), (weight_position / (weight_stages + resident) & 1) ^ 1);
          expect_bytes(weights_full(base, weight_stage), weight_bytes);
          copy_bytes(base + weight_stage * weight_bytes, from, weight_bytes, weights_full(base, weight_stage));
        }
    }
  }
}

// The place of a thread's rows in the target; -1: nowhere.
struct Corner {
  int pixel[row_blocks][2];
  int channel;
  __device__ __forceinline__ void go_to(int row, int column) {
    const int thread = threadIdx.x % 128;
    channel = column * columns + thread % 4 * run;
#pragma unroll
    for (int block = 0; block < row_blocks; block++)
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const int unit = (threadIdx.x / 128 * row_blocks + block) * 64 + thread / 32 * 16 + thread % 32 / 4 + 8 * half;
        const int region = row * regions + unit / region_units, of_region = unit % region_units;
        const int x = of_region % padded_w, of_rows = of_region / padded_w, y = region % row_regions * region_rows + of_rows;
        const bool there = region < region_total && x < out_w && of_rows < region_rows && y < out_h;
        pixel[block][half] = there ? (region / row_regions * out_h + y) * out_w + x : -1;
      }
  }
  __device__ __forceinline__ bool inside(int block, int half, int group) const {
    return pixel[block][half] >= 0 && (whole_columns || channel + group * 4 * run < out_pitch);
  }
  __device__ __forceinline__ long long element(int block, int half, int group) const {
    return (long long)pixel[block][half] * out_pitch + channel + group * 4 * run;
  }
};
