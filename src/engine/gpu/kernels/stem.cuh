// The first convolution of a network, over few channels: stem.cpp says how. Text before this: the preludes, the epilogue, the shape,
// tile_epilogue.cuh, the constants that stem.cpp writes, and stem_source.cuh.
static const int source_at = weight_bytes, tables_at = source_at + 2 * source_bytes, barrier_at = tables_at + teams * columns * 8;
static const int row_tiles = (out_h + rows - 1) / rows, tiles = batch * row_tiles;
static const int tile_pixels = rows * out_w, tile_blocks = (tile_pixels + 63) / 64;

__device__ __forceinline__ int top_of(int tile) { return tile % row_tiles * rows * stride_h - pad_top; }
// Returns the address at which the run of pixel `pixel` of the tile begins; pixels beyond the tile read the first one's.
__device__ __forceinline__ unsigned run_at(unsigned from, int pixel) {
  if (pixel >= tile_pixels) pixel = 0;
  return from + pixel / out_w * (stride_h * row_bytes) + (pixel % out_w * stride_w + origin - pad_left) * pixel_bytes + threadIdx.x % 4 * 4;
}
__device__ __forceinline__ void load_step(unsigned (&words)[4], unsigned first, unsigned second, int step) {
  const int offset = step / run_steps * (dilation_h * row_bytes) + step % run_steps * 32;
  words[0] = load_copied(first + offset);
  words[1] = load_copied(second + offset);
  words[2] = load_copied(first + offset + 16);
  words[3] = load_copied(second + offset + 16);
}
// 64 pixels of a tile from `from` on.
__device__ __forceinline__ void multiply(Sum (&sums)[columns / 2], unsigned from, unsigned weights, int block) {
  const int pixel = block * 64 + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
  const unsigned first = run_at(from, pixel), second = run_at(from, pixel + 8);
  unsigned words[2][batch_steps][4];
#pragma unroll
  for (int batch = 0; batch * batch_steps < steps; batch++) {
    if (batch > 1) wait_for_products<1>();  // has read the registers that are filled now
#pragma unroll
    for (int i = 0; i < batch_steps; i++)
      if (batch * batch_steps + i < steps) load_step(words[batch % 2][i], first, second, batch * batch_steps + i);
    begin_products();
#pragma unroll
    for (int i = 0; i < batch_steps; i++) {
      const int step = batch * batch_steps + i;
      if (step < steps) product_of_registers(sums, words[batch % 2][i], rows_at<32>(weights + step * (columns * 32)), step != 0);
    }
    commit_products();
  }
  wait_for_products<0>();
#pragma unroll
  for (int i = 0; i < columns / 2; i++) keep(sums[i]);
}
__device__ __forceinline__ void end_block(Sum (&sums)[columns / 2], const float* table, unsigned char* target, int tile, int block) {
  const int quarter = threadIdx.x % 4, y = tile % row_tiles * rows;
  const int in_tile = block * 64 + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
  const long long pixel = ((long long)(tile / row_tiles) * out_h + y) * out_w + in_tile;
  const int within = min(tile_pixels, (out_h - y) * out_w);
#pragma unroll
  for (int group = 0; group < columns / (4 * run); group++) {
    float values[2][run];
    end_run(
        values, table, group, [&](int sum) { return value_of(sums[sum]); }, [](int, int) { return 0.0f; });
    const int channel = group * 4 * run + quarter * run;
#pragma unroll
    for (int half = 0; half < 2; half++)
      if (in_tile + 8 * half < within && channel < out_pitch)
        put_target(target + ((pixel + 8 * half) * out_pitch + channel) * Target::bytes, values[half]);
  }
}

extern "C" __global__ void __launch_bounds__(teams * 128, blocks)
    stem(const unsigned char* source, const unsigned char* __restrict__ weights, const float* __restrict__ scale_bias,
         unsigned char* target) {
  extern __shared__ unsigned char shared_memory[];
  const unsigned begin = shared_address(shared_memory), base = (begin + 1023) & ~1023u;
  const int team = threadIdx.x / 128;
  float* table = (float*)(shared_memory + (base - begin) + tables_at) + team * 2 * columns;
  let_next_begin();
  if (threadIdx.x == 0) {
    make_barrier(base + barrier_at, 1);
    barriers_made();
    expect_bytes(base + barrier_at, weight_bytes);
    copy_bytes(base, weights, weight_bytes, base + barrier_at);
  }
  Table own;
  own.load(scale_bias, 0);
  own.store(table);
  wait_for_previous();
  int tile = blockIdx.x, buffer = 0;
  fetch(base + source_at, source, tile / row_tiles, top_of(tile));
  commit_copies();
  __syncthreads();
  wait_for(base + barrier_at, 0);
  Sum sums[columns / 2];
  for (; tile < tiles; tile += gridDim.x, buffer ^= 1) {
    const int coming = tile + gridDim.x;
    if (coming < tiles) fetch(base + source_at + (buffer ^ 1) * source_bytes, source, coming / row_tiles, top_of(coming));
    commit_copies();
    wait_for_copies<1>();
    __syncthreads();
    for (int block = team; block < tile_blocks; block += teams) {
      multiply(sums, base + source_at + buffer * source_bytes, base, block);
      end_block(sums, table, target, tile, block);
    }
    __syncthreads();
  }
}
