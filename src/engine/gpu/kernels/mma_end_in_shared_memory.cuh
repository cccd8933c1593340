// Each part of the sum goes to shared memory, where the parts of a block's warps are added; then every block of the cluster ends its
// share of the tile. Parts are added in a fixed order, after all of them were read: a read from another block takes long.
static const int staged_pitch = tile_n + 8, row_vectors = tile_n / vector, parts = split > 1 ? split : warps_k;
__device__ __forceinline__ uint4 added(uint4 a, uint4 b) {
  return make_uint4(as_bits(as_sum(a.x) + as_sum(b.x)), as_bits(as_sum(a.y) + as_sum(b.y)), as_bits(as_sum(a.z) + as_sum(b.z)),
                    as_bits(as_sum(a.w) + as_sum(b.w)));
}
__device__ __forceinline__ void end_tile(Sum (&sums)[rows][columns], unsigned char* shared, const float* scale_bias,
                                         const unsigned char* residual, unsigned char* target, long long first_pixel, int first_channel,
                                         int last_channel, int warp_row, int warp_column, int part, int rank) {
  const int lane = threadIdx.x % 32;
  wait_for_copies<0>();
  __syncthreads();
  Sum* staged = (Sum*)shared;
#pragma unroll
  for (int i = 0; i < rows; i++)
#pragma unroll
    for (int j = 0; j < columns; j++)
      staged[(part * tile_m + warp_row + lane / 4 + i * 8) * staged_pitch + warp_column + column_of(j)] = sums[i][j];
  if (split > 1 && warps_k > 1) {
    __syncthreads();
    for (int item = threadIdx.x; item < tile_m * row_vectors; item += threads) {
      uint4* const first = (uint4*)(staged + item / row_vectors * staged_pitch + item % row_vectors * vector);
      uint4 total = *first;
#pragma unroll
      for (int k = 1; k < warps_k; k++) total = added(total, first[k * tile_m * staged_pitch / 4]);
      *first = total;
    }
  }
  MEET();
  const int share = tile_m * row_vectors / split;
  for (int item = rank * share + threadIdx.x; item < (rank + 1) * share; item += threads) {
    const int row = item / row_vectors, column = item % row_vectors * vector, channel = first_channel + column;
    const long long pixel = first_pixel + row;
    if (pixel >= pixels || channel >= last_channel) continue;
    uint4 w[parts];
#pragma unroll
    for (int i = 0; i < parts; i++) w[i] = load_part(shared, (row * staged_pitch + column) * 4, i);
    unsigned words[residual_words];
    if (has_residual) get_residual<vector>(residual + (pixel * out_pitch + channel) * Residual::bytes, words);
    float scale[vector], bias[vector];
    load_scale_bias(scale_bias, channel, scale, bias);
#pragma unroll
    for (int i = 1; i < parts; i++) w[0] = added(w[0], w[i]);
    const Sum total[vector] = {as_sum(w[0].x), as_sum(w[0].y), as_sum(w[0].z), as_sum(w[0].w)};
    end_and_store(total, scale, bias, words, target, pixel * out_pitch + channel, channel);
  }
  PART();
}
