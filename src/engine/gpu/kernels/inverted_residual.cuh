// An inverted residual as one kernel (inverted_residual.cpp): a 1x1 convolution that makes many channels ("expand"; may be missing), a
// convolution of each channel by itself ("depthwise"), and a 1x1 convolution back to few channels ("project"), to which a residual may be
// added. The wide images between them stay in shared memory.
//
// A block makes tile_h x tile_w pixels of one image. It goes over the wide channels in chunks. For each it multiplies the tile's
// region of the source (with the border that the depthwise kernel reads) by the chunk's weights, convolves what comes out channel by
// channel, and adds the products of that with the chunk's part of the last weights to sums in registers. While it computes one chunk,
// the next one's weights are on their way. Several blocks share a multiprocessor, so that one multiplies while another convolves.
//
// Rows in shared memory (a pixel's channels, or a channel's weights) are an odd number of 16 bytes apart, so that neither ldmatrix nor the
// threads that store products meet a bank twice.
//
// Text before this: the prelude, namespaces expand, depthwise and project with each one's epilogue and shape, and the constants that
// inverted_residual.cpp writes. first_sum is what a sum begins
// with, ended_pair what is stored of two: zeros where they are not kept.
typedef depthwise::Source Number;
static const int threads = 32 * warps;
static const int pairs = chunk / 2, chunk_steps = chunk / 16;
static const int region_h = (tile_h - 1) * depthwise::stride_h + depthwise::kernel_h;
static const int region_w = (tile_w - 1) * depthwise::stride_w + depthwise::kernel_w;
static const int region = region_h * region_w, pixels_of_tile = tile_h * tile_w;
static const int tiles_y = (project::out_h + tile_h - 1) / tile_h, tiles_x = (project::out_w + tile_w - 1) / tile_w;
static const int patches_x = tile_w / patch_w, patches = tile_h / patch_h * patches_x;
static const int rows_in = (patch_h - 1) * depthwise::stride_h + depthwise::kernel_h;
static const int columns_in = (patch_w - 1) * depthwise::stride_w + depthwise::kernel_w;
// A warp's part of the last product.
static const int warps_n = warps / warps_m, own_columns = out_columns / warps_n,
                 own_rows = (pixels_of_tile + 16 * warps_m - 1) / (16 * warps_m);

// The place of a block's tile: its first pixel, and the first of its region (which may lie outside of the image).
struct Tile {
  long long image;
  int y, x, top, left;
  __device__ __forceinline__ Tile() {
    image = blockIdx.x / (tiles_y * tiles_x);
    y = blockIdx.x / tiles_x % tiles_y * tile_h;
    x = blockIdx.x % tiles_x * tile_w;
    top = y * depthwise::stride_h - depthwise::pad_top;
    left = x * depthwise::stride_w - depthwise::pad_left;
  }
  __device__ __forceinline__ bool inside(int pixel) const {
    return pixel < region && (unsigned)(top + pixel / region_w) < (unsigned)depthwise::in_h &&
           (unsigned)(left + pixel % region_w) < (unsigned)depthwise::in_w;
  }
  __device__ __forceinline__ long long source_pixel(int pixel) const {
    return (image * depthwise::in_h + top + pixel / region_w) * depthwise::in_w + left + pixel % region_w;
  }
  // `pixel` counts within the tile.
  __device__ __forceinline__ bool has(int pixel) const {
    return (project::out_h % tile_h == 0 || y + pixel / tile_w < project::out_h) &&
           (project::out_w % tile_w == 0 || x + pixel % tile_w < project::out_w);
  }
  __device__ __forceinline__ long long target_pixel(int pixel) const {
    return (image * project::out_h + y + pixel / tile_w) * project::out_w + x + pixel % tile_w;
  }
};

// The weights of a chunk, and the biases of its channels.
__device__ __forceinline__ void load_weights(unsigned to, const unsigned char* weights, const float* scale_bias, int number) {
  const unsigned first = to + threadIdx.x * 16;
  const unsigned char* const from = weights + number * weight_bytes + threadIdx.x * 16;
#pragma unroll
  for (int i = 0; i < weight_bytes / 16; i += threads)
    if (i + threads <= weight_bytes / 16 || threadIdx.x < weight_bytes / 16 - i) cp_async16(first + i * 16, from + i * 16);
  if (threadIdx.x >= (has_expand ? 0 : chunk / 4) && threadIdx.x < chunk / 2) {
    const int channel = number * chunk + threadIdx.x % (chunk / 4) * 4;
    const bool valid = channel < depthwise::out_pitch;
    const float* of_channels = scale_bias + (threadIdx.x < chunk / 4 ? expand_bias : depthwise_bias);
    cp_async16(first + biases_at, valid ? of_channels + channel : of_channels, valid);
  }
}

// `count` pieces of 16 bytes of each pixel of the region, from piece `first` on; zeros outside of the image and beyond the pixel.
template <int count, int stride>
__device__ __forceinline__ void load_region(unsigned to, const unsigned char* source, const Tile& tile, int first) {
  const int pixel_bytes = source_pitch * Number::bytes;
#pragma unroll 4
  for (int i = threadIdx.x; i < region * count; i += threads) {
    const int pixel = i / count, piece = first + i % count;
    const bool valid = tile.inside(pixel) && (piece + 1) * 16 <= pixel_bytes;
    cp_async16(to + pixel * stride + i % count * 16, valid ? source + tile.source_pixel(pixel) * pixel_bytes + piece * 16 : source, valid);
  }
}

// Address at which lane `lane` reads the rows of a first and of a second factor for load_matrices.
__device__ __forceinline__ unsigned first_rows(unsigned rows, int stride) {
  return rows + threadIdx.x % 16 * stride + threadIdx.x % 32 / 16 * 16;
}
__device__ __forceinline__ unsigned second_rows(unsigned rows, int stride) {
  return rows + (threadIdx.x % 32 / 16 * 8 + threadIdx.x % 8) * stride + threadIdx.x / 8 % 2 * 16;
}

#if HAS_EXPAND
// The second factors of a chunk, where registers hold them.
static const bool keeps_weights = source_steps * chunk <= 96;
struct ChunkWeights {
  unsigned words[source_steps][chunk / 16][4];
  __device__ __forceinline__ void load(unsigned weights, int k) {
#pragma unroll
    for (int j = 0; j < chunk / 16; j++) load_matrices(words[k][j], second_rows(weights + j * 16 * source_stride + k * 32, source_stride));
  }
};

// Marks the rows whose products a thread has that are pixels of the image: bit 2 * i + half for row i of its warp.
static const int expand_rows = (region + 16 * warps - 1) / (16 * warps);
__device__ __forceinline__ unsigned rows_inside(const Tile& tile) {
  unsigned inside = 0;
#pragma unroll
  for (int i = 0; i < 2 * expand_rows; i++)
    inside |= (unsigned)tile.inside((threadIdx.x / 32 + i / 2 * warps) * 16 + threadIdx.x % 32 / 4 + i % 2 * 8) << i;
  return inside;
}

// Weights are packed so that a thread's columns are neighbouring channels.
__device__ __forceinline__ void expand_chunk(unsigned char* shared, unsigned base, const unsigned char* parts, unsigned weights,
                                             unsigned inside) {
  const int lane = threadIdx.x % 32, own_channel = lane % 4 * (chunk / 4);
  float bias[chunk / 4];
  load_floats<chunk / 4>((const float*)(parts + biases_at) + own_channel, bias);
  ChunkWeights second;
#pragma unroll
  for (int k = 0; k < source_steps; k++)
    if (keeps_weights) second.load(weights, k);
#pragma unroll 1
  for (int row = threadIdx.x / 32 * 16; row < region; row += warps * 16, inside >>= 2) {
    float sums[chunk / 8][4];
#pragma unroll
    for (int k = 0; k < source_steps; k++) {
      if (!keeps_weights) second.load(weights, k);
      unsigned a[4];
      load_matrices(a, first_rows(base + source_at + row * source_stride + k * 32, source_stride));
#pragma unroll
      for (int j = 0; j < chunk / 8; j++) {
        const unsigned* b = second.words[k][j / 2] + j % 2 * 2;
        if (k == 0)
          multiply_first(sums[j], a, b[0], b[1], expand::first_sum(bias[2 * j]), expand::first_sum(bias[2 * j + 1]));
        else
          multiply(sums[j][0], sums[j][1], sums[j][2], sums[j][3], a, b[0], b[1]);
      }
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const int pixel = row + lane / 4 + 8 * half;
      if (pixel >= region) continue;
      const bool kept = inside >> half & 1;
      unsigned words[chunk / 8];
#pragma unroll
      for (int j = 0; j < chunk / 8; j++)
        words[j] = expand::ended_pair(sums[j][2 * half], sums[j][2 * half + 1], bias[2 * j], bias[2 * j + 1], kept);
      store_words<chunk / 8>(shared + wide_at + pixel * chunk_stride + own_channel * Number::bytes, words);
    }
  }
}
#endif

// A thread has two channels of a patch of the tile, and reads each pixel under it once.
__device__ __forceinline__ void convolve_chunk(unsigned char* shared, const unsigned char* parts) {
  const float* const weights = (const float*)(parts + depthwise_at);
#pragma unroll 1
  for (int item = threadIdx.x; item < patches * pairs; item += threads) {
    const int pair = item % pairs, patch = item / pairs, first_y = patch / patches_x * patch_h, first_x = patch % patches_x * patch_w;
    const unsigned char* const from =
        shared + wide_at + (first_y * depthwise::stride_h * region_w + first_x * depthwise::stride_w) * chunk_stride + pair * 4;
    float sums[patch_h][patch_w][2], bias[2];
    load_floats<2>((const float*)(parts + biases_at) + chunk + pair * 2, bias);
#pragma unroll
    for (int i = 0; i < patch_h; i++)
#pragma unroll
      for (int j = 0; j < patch_w; j++)
#pragma unroll
        for (int c = 0; c < 2; c++) sums[i][j][c] = depthwise::first_sum(bias[c]);
#pragma unroll
    for (int y = 0; y < rows_in; y++) {
      float row[columns_in][2];
#pragma unroll
      for (int x = 0; x < columns_in; x++) {
        const unsigned word = *(const unsigned*)(from + (y * region_w + x) * chunk_stride);
        row[x][0] = Number::get(word, 0);
        row[x][1] = Number::get(word, 1);
      }
#pragma unroll
      for (int i = 0; i < patch_h; i++) {
        const int r = y - i * depthwise::stride_h;
        if (r < 0 || r >= depthwise::kernel_h) continue;
#pragma unroll
        for (int s = 0; s < depthwise::kernel_w; s++) {
          float weight[2];
          load_floats<2>(weights + (r * depthwise::kernel_w + s) * chunk + pair * 2, weight);
#pragma unroll
          for (int j = 0; j < patch_w; j++)
#pragma unroll
            for (int c = 0; c < 2; c++) sums[i][j][c] = fmaf(row[j * depthwise::stride_w + s][c], weight[c], sums[i][j][c]);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < patch_h; i++)
#pragma unroll
      for (int j = 0; j < patch_w; j++)
        *(unsigned*)(shared + convolved_at + ((first_y + i) * tile_w + first_x + j) * chunk_stride + pair * 4) =
            depthwise::ended_pair(sums[i][j][0], sums[i][j][1], bias[0], bias[1], true);
  }
}

typedef float Sums[own_rows][own_columns / 8][4];

__device__ __forceinline__ void project_chunk(Sums& sums, unsigned base, unsigned weights, int warp_row, int warp_column) {
#pragma unroll
  for (int k = 0; k < chunk_steps; k++) {
    unsigned a[own_rows][4];
#pragma unroll
    for (int i = 0; i < own_rows; i++)
      load_matrices(a[i], first_rows(base + convolved_at + (warp_row + i * warps_m) * 16 * chunk_stride + k * 32, chunk_stride));
#pragma unroll
    for (int j = 0; j < own_columns / 16; j++) {
      unsigned b[4];
      load_matrices(b, second_rows(weights + (warp_column + j * 16) * chunk_stride + k * 32, chunk_stride));
#pragma unroll
      for (int i = 0; i < own_rows; i++) {
        multiply(sums[i][2 * j][0], sums[i][2 * j][1], sums[i][2 * j][2], sums[i][2 * j][3], a[i], b[0], b[1]);
        multiply(sums[i][2 * j + 1][0], sums[i][2 * j + 1][1], sums[i][2 * j + 1][2], sums[i][2 * j + 1][3], a[i], b[2], b[3]);
      }
    }
  }
}

// Rows of the result in shared memory, where the wide image was: the residual comes to them, and each thread replaces its own part.
static const int target_pieces = project::out_pitch * Number::bytes / 16;

__device__ __forceinline__ void load_residual(unsigned to, const unsigned char* residual, const Tile& tile) {
  for (int i = threadIdx.x; i < pixels_of_tile * target_pieces; i += threads) {
    const int pixel = i / target_pieces;
    if (tile.has(pixel))
      cp_async16(to + pixel * out_stride + i % target_pieces * 16,
                 residual + (tile.target_pixel(pixel) * target_pieces + i % target_pieces) * 16);
  }
}

__device__ __forceinline__ void end_tile(const Sums& sums, unsigned char* rows, const float* bias, int warp_row, int warp_column) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int j = 0; j < own_columns / 8; j++) {
    const int channel = warp_column + j * 8 + lane % 4 * 2;
    if (channel >= project::out_pitch) continue;
    float biases[2];
    load_floats<2>(bias + channel, biases);
#pragma unroll
    for (int i = 0; i < own_rows; i++)
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const int pixel = (warp_row + i * warps_m) * 16 + lane / 4 + 8 * half;
        if (pixel >= pixels_of_tile) continue;
        unsigned* const place = (unsigned*)(rows + pixel * out_stride + channel * Number::bytes);
        float v[2];
#pragma unroll
        for (int c = 0; c < 2; c++) {
          const float added = project::has_residual ? project::residual_of(place, c) : 0.0f;
          v[c] = project::ended_value(sums[i][j][2 * half + c], 1.0f, biases[c], added);
          if (project::out_pitch != project::out_channels && channel + c >= project::out_channels) v[c] = 0.0f;
        }
        unsigned word[1];
        project::put_values<2>(word, v);
        *place = word[0];
      }
  }
}

__device__ __forceinline__ void store_tile(unsigned char* target, const unsigned char* rows, const Tile& tile) {
#pragma unroll 4
  for (int i = threadIdx.x; i < pixels_of_tile * target_pieces; i += threads) {
    const int pixel = i / target_pieces;
    if (!tile.has(pixel)) continue;
    unsigned words[4];
    load_words<4>(rows + pixel * out_stride + i % target_pieces * 16, words);
    store_words<4>(target + (tile.target_pixel(pixel) * target_pieces + i % target_pieces) * 16, words);
  }
}

extern "C" __global__ void __launch_bounds__(threads, blocks)
    inverted_residual(const unsigned char* source, const unsigned char* residual, const unsigned char* __restrict__ weights,
                      const float* __restrict__ scale_bias, unsigned char* target) {
  extern __shared__ unsigned char shared_memory[];
  const unsigned begin = shared_address(shared_memory), base = (begin + 127) & ~127u;
  unsigned char* const shared = shared_memory + (base - begin);
  const Tile tile;
  load_weights(base + weights_at, weights, scale_bias, 0);
  let_next_begin();
  wait_for_previous();
  if (has_expand)
    load_region<source_steps * 2, source_stride>(base + source_at, source, tile, 0);
  else
    load_region<chunk_steps * 2, chunk_stride>(base + wide_at, source, tile, 0);
  commit_copies();
  const int warp = threadIdx.x / 32, warp_row = warp % warps_m, warp_column = warp / warps_m * own_columns;
  Sums sums;
#pragma unroll
  for (int i = 0; i < own_rows; i++)
#pragma unroll
    for (int j = 0; j < own_columns / 8; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) sums[i][j][e] = 0.0f;
#if HAS_EXPAND
  const unsigned inside = rows_inside(tile);
#endif
#pragma unroll 1
  for (int number = 0; number < chunks; number++) {
    const int parts_at = weights_at + number % 2 * part_bytes, next_at = weights_at + (number + 1) % 2 * part_bytes;
    wait_for_copies<0>();
    __syncthreads();
    if (number + 1 < chunks) load_weights(base + next_at, weights, scale_bias, number + 1);
#if HAS_EXPAND
    expand_chunk(shared, base, shared + parts_at, base + parts_at, inside);
    __syncthreads();
#endif
    convolve_chunk(shared, shared + parts_at);
    __syncthreads();
    if (!has_expand && number + 1 < chunks)
      load_region<chunk_steps * 2, chunk_stride>(base + wide_at, source, tile, (number + 1) * chunk_steps * 2);
    if (number + 1 == chunks && project::has_residual) load_residual(base + wide_at, residual, tile);
    commit_copies();
    project_chunk(sums, base, base + parts_at + project_at, warp_row, warp_column);
  }
  wait_for_copies<0>();
  __syncthreads();
  end_tile(sums, shared + wide_at, scale_bias + project_bias, warp_row, warp_column);
  __syncthreads();
  store_tile(target, shared + wide_at, tile);
}
