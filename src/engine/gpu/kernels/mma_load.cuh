// Implicit GEMM by mma.sync or, in float32, by FFMA: what a step needs is brought here. The text goes on with mma_tensor_cores.cuh or
// mma_floats.cuh, mma_end.cuh and one of its two endings, and mma.cuh.
//
// A block makes a tile of tile_m pixels by tile_n channels. The sum's axis, k, goes over the kernel's places and, within a place, over
// channels; it is counted in chunks of 16 bytes, `row_bytes` / 16 of them in a step. A step's tiles of source and weights lie in shared
// memory as rows of row_bytes (one pixel, one channel), `stages` steps deep: while the products of one step are computed, the next ones are
// under way (cp.async). Chunks within a row are exchanged by the row's number so that neither writing nor ldmatrix meets a bank twice.
// Every product unit reads 16 bytes of eight rows in the same order, so one kernel serves all precisions; only multiply_step differs.
//
// A thread's sums are [tile of a warp / 8 rows][/ 4 columns]. Weights are packed so that a thread's columns are neighbouring channels: it
// ends them and stores 16 bytes by itself. Where several warps or blocks (a cluster) share a tile's sum, they meet in shared memory
// instead.
static const int threads = 32 * warps_m * warps_n * warps_k;
static const int row_chunks = row_bytes / 16, step_bytes_a = tile_m * row_bytes, step_bytes_b = tile_n * row_bytes;
static const int rows_apart = threads / row_chunks;
static const int loads_a = (tile_m + rows_apart - 1) / rows_apart, chunks_b = tile_n * row_chunks,
                 loads_b = (chunks_b + threads - 1) / threads;
static const int warp_m = tile_m / warps_m, warp_n = tile_n / warps_n, rows = warp_m / 8, columns = warp_n / 4;
// The largest tiles of a warp leave no registers to load further ahead.
static const int unrolled = rows * columns >= 128 && (rounds_source || loads_a >= 8 && threads < 256) ? 1 : row_bytes / 32;
static const int source_pixel_bytes = in_pitch * Source::bytes;

__device__ __forceinline__ int swizzled(int row, int chunk) {
  return row_bytes == 128 ? row * 128 + ((chunk ^ (row & 7)) << 4) : row * 64 + ((chunk ^ (row >> 1 & 3)) << 4);
}

// The pixels that a thread loads (offsets of 32 bits wrap around, so that they are added as such and take no register pairs): where the
// first place of the kernel lies for each, and which places are inside of the image.
struct Pixels {
  Offset offset[loads_a];
  unsigned inside[loads_a];  // bit y, bit 16 + x; without a border: not 0
};
__device__ __forceinline__ Pixels pixels_of(long long first, int group) {
  Pixels p;
#pragma unroll
  for (int i = 0; i < loads_a; i++) {
    const int row = threadIdx.x / row_chunks + i * rows_apart;
    const long long pixel = first + row;
    const bool live = row < tile_m && pixel < pixels;
    int y = 0, x = 0;
    long long image = 0;
    if (live) {
      const Index at = (Index)pixel;
      x = (int)(at % out_w);
      y = (int)(at / out_w % out_h);
      image = at / (out_w * out_h);
    }
    const int in_y = y * stride_h - pad_top, in_x = x * stride_w - pad_left;
    p.offset[i] = (Offset)(((image * in_h + in_y) * in_w + in_x) * source_pixel_bytes + group * super_in * Source::bytes);
    if (!border) {
      p.inside[i] = live;
      continue;
    }
    unsigned inside = 0;
#pragma unroll
    for (int r = 0; r < kernel_h; r++) inside |= ((unsigned)(in_y + r * dilation_h) < (unsigned)in_h ? 1u : 0u) << r;
#pragma unroll
    for (int s = 0; s < kernel_w; s++) inside |= ((unsigned)(in_x + s * dilation_w) < (unsigned)in_w ? 1u : 0u) << (16 + s);
    p.inside[i] = live ? inside : 0;
  }
  return p;
}

__device__ __forceinline__ void load_source(const unsigned char* source, const Pixels& p, int step, unsigned to) {
  const int column = threadIdx.x % row_chunks;
  int place, chunk;
  if (place_chunks % row_chunks == 0) {  // one place a step
    place = step / (place_chunks / row_chunks);
    chunk = step % (place_chunks / row_chunks) * row_chunks + column;
  } else {
    place = (step * row_chunks + column) / place_chunks;
    chunk = (step * row_chunks + column) % place_chunks;
  }
  const int r = place / kernel_w, s = place % kernel_w;
  const Offset offset = (Offset)((r * dilation_h * in_w + s * dilation_w) * source_pixel_bytes + chunk * 16);
  const bool within = place < kernel_h * kernel_w;
#pragma unroll
  for (int i = 0; i < loads_a; i++) {
    const int row = threadIdx.x / row_chunks + i * rows_apart;
    if (tile_m % rows_apart != 0 && row >= tile_m) break;
    const bool inside = border ? (p.inside[i] >> r & p.inside[i] >> (16 + s) & 1) != 0 : p.inside[i] != 0;
    const bool valid = within && inside;
    const unsigned place_of_chunk = to + swizzled(row, column);
    if (border && outside_word != 0) {
      if (valid)
        cp_async16(place_of_chunk, source + (p.offset[i] + offset));
      else
        store_shared16(place_of_chunk, outside_word, outside_word, outside_word, outside_word);
    } else {
      cp_async16(place_of_chunk, valid ? source + (p.offset[i] + offset) : source, valid);
    }
  }
}

// They lie as the steps' tiles are in shared memory.
__device__ __forceinline__ void load_weights(const unsigned char* weights, int step, unsigned to) {
  const unsigned char* from = weights + (long long)step * step_bytes_b;
#pragma unroll
  for (int i = 0; i < loads_b; i++) {
    const int chunk = threadIdx.x + i * threads;
    if (chunks_b % threads == 0 || chunk < chunks_b) cp_async16(to + chunk * 16, from + chunk * 16);
  }
}
