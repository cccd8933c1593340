// A team multiplies each region by the weights of every place of the kernel.
__device__ __forceinline__ void consume(unsigned base, float* tables, const float* scale_bias, const unsigned char* residual,
                                        unsigned char* target) {
  const int team = threadIdx.x / 128, lane = threadIdx.x % 32;
  Team own(tables, scale_bias, residual, target);
  if (resident && own.more) wait_for(weights_full(base, 0), 0);
  Sum sums[row_blocks][products][product_sums];
  unsigned position = 0, weight_position = 0;
  for (int index = 0; own.more; index++) {
    own.begin(index);
    for (int step = 0; step < channel_steps; step++, position++) {
      const unsigned stage = position % source_stages;
      wait_for(source_full(base, stage), position / source_stages & 1);
      const unsigned rows = base + source_at + stage * source_stage_bytes;
      for (int down = 0; down < kernel_h; down++)
#pragma unroll
        for (int right = 0; right < kernel_w; right++, weight_position++) {
          const int tap = down * kernel_w + right;
          const unsigned weight_stage = weight_position % (weight_stages + resident);
          if (!resident) wait_for(weights_full(base, weight_stage), weight_position / (weight_stages + resident) & 1);
          const unsigned from = base + (resident ? step * taps + tap : weight_stage) * weight_bytes;
          const unsigned first = rows + (down * dilation_h * padded_w + right * dilation_w) * step_bytes;
          begin_products();
#pragma unroll
          for (int i = 0; i < step_bytes / 32; i++)
#pragma unroll
            for (int block = 0; block < row_blocks; block++) {
              const int unit = (team * row_blocks + block) * 64;
              const unsigned at = first + unit / region_units * region_bytes + unit % region_units * step_bytes;
#pragma unroll
              for (int n = 0; n < products; n++)
                product(sums[block][n], rows_at<step_bytes>(at + 32 * i),
                        rows_at<step_bytes>(from + n * (2 * product_sums * step_bytes) + 32 * i), (step | tap | i) != 0);
            }
          commit_products();
          wait_for_products<1>();
          if (!resident && (step | tap) != 0 && lane == 0) arrive(weights_empty(base, (weight_position - 1) % (weight_stages + resident)));
          if (tap == 0 && step > 0 && lane == 0) arrive(source_empty(base, (position - 1) % source_stages));
        }
    }
    wait_for_products<0>();
    if (!resident && lane == 0) arrive(weights_empty(base, (weight_position - 1) % (weight_stages + resident)));
    if (lane == 0) arrive(source_empty(base, (position - 1) % source_stages));
    own.end(sums);
  }
}

__device__ __forceinline__ void make_barriers(unsigned base) {
  make_ring(source_full(base, 0), source_empty(base, 0), source_stages);
  if (resident) make_barrier(weights_full(base, 0), 1);
  make_ring(weights_full(base, 0), weights_empty(base, 0), weight_stages);
}
