// A quantized matrix as plain halves, for products by a library: a warp for each tile and chunk. Text before this: decoder_product.cuh.
extern "C" __global__ void __launch_bounds__(256) unpack_matrix(const unsigned char* numbers, const unsigned char* scales, int rows,
                                                               int pitch, int chunks, int gated, unsigned short* to) {
  let_next_begin();
  wait_for_previous();
  const Operands all{numbers, scales, nullptr, nullptr, nullptr, nullptr, 0, rows, pitch, pitch, chunks, 0};
  const int tile = blockIdx.y, chunk = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (chunk >= chunks) return;
  Taken taken;
  take<STORE>(taken, all, tile, chunk);
  for (int half = 0; half < 2; ++half) {
    const int row = lane / 4 + 8 * half;
    if (gated ? !is_row<GATED>(all, tile, row) : !is_row<STORE>(all, tile, row)) continue;
    const int at = gated ? row_of<GATED>(all, tile, row) : row_of<STORE>(all, tile, row);
#pragma unroll
    for (int block = 0; block < CHUNK / 32; ++block)
#pragma unroll
      for (int step = 0; step < 2; ++step) {
        const int g = SCALE_GROUP == 16 ? 2 * block + step : block;
        const float scale = scale_of(taken.scales[half], g), offset = HAS_OFFSET ? offset_of(taken.scales[half], g) : 0.0f;
        unsigned words[2];
#pragma unroll
        for (int p = 0; p < 2; ++p) {
          const unsigned pair = pair_of(taken.numbers[half], block, step, p);
          words[p] = HALF::pair(HALF::get(pair, 0) * scale + offset, HALF::get(pair, 1) * scale + offset);
        }
        store_words<2>(to + (long long)at * pitch + chunk * CHUNK + block * 32 + step * 16 + lane % 4 * 4, words);
      }
  }
}
