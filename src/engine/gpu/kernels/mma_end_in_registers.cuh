// Each warp ends the sums that it has.
__device__ __forceinline__ void end_tile(Sum (&sums)[rows][columns], unsigned char*, const float* scale_bias, const unsigned char* residual,
                                         unsigned char* target, long long first_pixel, int first_channel, int last_channel, int warp_row,
                                         int warp_column, int, int) {
  const int lane = threadIdx.x % 32;
  const int at_once = rows < 4 ? rows : 4;
#pragma unroll
  for (int block = 0; block < columns / vector; block++) {
    const int channel = first_channel + warp_column + (block * 4 + lane % 4) * vector;
    if (channel >= last_channel) break;
    float scale[vector], bias[vector];
    load_scale_bias(scale_bias, channel, scale, bias);
#pragma unroll
    for (int begin = 0; begin < rows; begin += at_once) {
      unsigned words[at_once][residual_words];
#pragma unroll
      for (int i = 0; i < at_once; i++) {
        const long long pixel = first_pixel + warp_row + lane / 4 + (begin + i) * 8;
        if (has_residual && pixel < pixels) get_residual<vector>(residual + (pixel * out_pitch + channel) * Residual::bytes, words[i]);
      }
#pragma unroll
      for (int i = 0; i < at_once; i++) {
        const long long pixel = first_pixel + warp_row + lane / 4 + (begin + i) * 8;
        if (pixel < pixels)
          end_and_store(&sums[begin + i][block * vector], scale, bias, words[i], target, pixel * out_pitch + channel, channel);
      }
    }
  }
}
