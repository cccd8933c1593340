// The kernel of mma_load.cuh, after the functions that multiply and end.
KERNEL() {
  DECLARE_RESIDUAL;
  extern __shared__ __align__(128) unsigned char shared[];
  const unsigned base = shared_address(shared);
  const unsigned rank = split > 1 ? RANK() : 0;
  const unsigned tile = blockIdx.x / split;
  const long long first_pixel = (long long)(tile / tiles_n) * tile_m;
  const int tile_column = tile % tiles_n, group = blockIdx.y;
  const int begin = rank * steps_each, end = begin + steps_each < steps ? begin + steps_each : steps, count = end > begin ? end - begin : 0;
  const unsigned char* own_weights = weights + ((long long)(group * tiles_n + tile_column) * steps + begin) * step_bytes_b;
  const unsigned tiles_b = base + stages * step_bytes_a;
  const Pixels p = pixels_of(first_pixel, group);
#pragma unroll
  for (int s = 0; s < stages - 1; s++)
    if (s < count) load_weights(own_weights, s, tiles_b + s * step_bytes_b);
  wait_for_previous();
  let_next_begin();
#pragma unroll
  for (int s = 0; s < stages - 1; s++) {
    if (s < count) load_source(source, p, begin + s, base + s * step_bytes_a);
    commit_copies();
  }
  const int warp = threadIdx.x / 32, part = warp / (warps_m * warps_n);
  const int warp_row = warp % warps_m * warp_m, warp_column = warp / warps_m % warps_n * warp_n;
  Sum sums[rows][columns];
#pragma unroll
  for (int i = 0; i < rows; i++)
#pragma unroll
    for (int j = 0; j < columns; j++) sums[i][j] = 0;
  int slot = 0, next_slot = stages - 1;
#pragma unroll 1
  for (int step = 0; step < count; step++) {
    wait_for_copies<stages - 2>();
    __syncthreads();
    const int next = step + stages - 1;
    if (next < count) {
      load_weights(own_weights, next, tiles_b + next_slot * step_bytes_b);
      load_source(source, p, begin + next, base + next_slot * step_bytes_a);
    }
    commit_copies();
    multiply_step(sums, base + slot * step_bytes_a, tiles_b + slot * step_bytes_b, warp_row, warp_column, part);
    slot = slot + 1 == stages ? 0 : slot + 1;
    next_slot = next_slot + 1 == stages ? 0 : next_slot + 1;
  }
  const int last = (group + 1) * super_out, last_channel = group + 1 == super_groups ? out_pitch : last;
  end_tile(sums, shared, scale_bias, residual, target, first_pixel, group * super_out + tile_column * tile_n, last_channel, warp_row,
           warp_column, part, rank);
}
