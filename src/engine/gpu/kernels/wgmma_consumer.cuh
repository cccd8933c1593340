// Every warp says so by itself: a stage is free when all have read it.
__device__ __forceinline__ void release(unsigned base, unsigned stage, int lane) {
  if (lane == 0) arrive(empty_at(base, stage));
}

// One team: multiplies what the stages bring, then ends the sums. If teams take turns, one team reads the stages of a tile. It begins when
// the team before has seen all of its own arrive: a barrier's parity distinguishes only one phase from the next.
__device__ __forceinline__ void consume(unsigned base, float* tables, const float* scale_bias, const unsigned char* residual,
                                        unsigned char* target) {
  const int lane = threadIdx.x % 32;
  Team own(tables, scale_bias, residual, target);
  if (resident && own.more) wait_for(full_at(base, 2 * stages), 0);
  Sum sums[row_blocks][products][product_sums];
  unsigned position = own.first_tile() * tile_stages;
  for (int index = own.first_tile(); own.more; index += tiles_apart) {
    own.begin(index);
    if (turns && index > 0) {
      if (resident) meet(1 + threadIdx.x / 128, 128);  // else they have met at the end: none is ahead of its own team
      wait_for(turn_at(base), (index - 1) & 1);
    }
    for (int k = 0; k < tile_stages; k++, position++) {
      const unsigned stage = position % stages;
      const unsigned rows = base + stages_at + stage * stage_bytes;
      wait_for(full_at(base, stage), position / stages & 1);
      begin_products();
#pragma unroll
      for (int part = 0; part < stage_steps; part++) {
        const unsigned from = resident ? base + (k * stage_steps + part) * weight_bytes : rows + stage_rows_bytes + part * weight_bytes;
#pragma unroll
        for (int i = 0; i < step_bytes / 32; i++)
#pragma unroll
          for (int block = 0; block < row_blocks; block++)
#pragma unroll
            for (int n = 0; n < products; n++)
              product(sums[block][n], rows_at<step_bytes>(rows + part * rows_bytes + (rows_before() + block * 64) * step_bytes + 32 * i),
                      rows_at<step_bytes>(from + n * (2 * product_sums * step_bytes) + 32 * i), (k | part | i) != 0);
      }
      commit_products();
      wait_for_products<1>();
      if (k > 0) release(base, (position - 1) % stages, lane);
    }
    if (turns && lane == 0) arrive(turn_at(base));
    wait_for_products<0>();
    release(base, (position - 1) % stages, lane);
    position += (tiles_apart - 1) * tile_stages;
    own.end(sums);
  }
}

__device__ __forceinline__ void make_barriers(unsigned base) {
  make_ring(full_at(base, 0), empty_at(base, 0), stages);
  make_barrier(full_at(base, 2 * stages), 1);
  if (turns) make_barrier(turn_at(base), 4);
}
