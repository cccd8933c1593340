// A chain of convolutions on 64 rows (pixels) at a time: head (any stride-1 window, few channels) -> wide (1x1, with a residual) -> tail
// (1x1). Head or tail may be missing. What one makes is the next one's first factor out of registers: a thread's 16 bytes of each of two
// rows are two steps of k, in an order of channels that the packed weights follow. With HAS_BRANCH the residual is itself a 1x1
// convolution of another tensor, computed here.
//
// A block's weights stay in shared memory; or, of a chain without a head, they come through a ring that all its teams read, for each chunk
// of the wide one's columns a stage of what makes them and one of what the tail multiplies with them. Each warpgroup that multiplies ("team") has tiles of its own, and a thread that orders copies
// for it alone into two rings: of the source, and of the residual (or the branch's source).
//
// Text before this: the preludes, a namespace for each part (head, wide, tail, branch) with its epilogue, and the constants that
// chain_text.cpp writes.
static const int rows = 64;
static const int group_bytes = 64;  // columns of a group, of one row: 16 bytes of each of four threads
static const int head_groups = head_columns / group_columns, wide_groups = wide_columns / group_columns;
static const int tail_groups = tail_columns / group_columns, chunks = wide_groups / chunk_groups;
static const int chunk_columns = chunk_groups * group_columns;
static const int source_at = teams_at, added_at = source_at + source_stages * source_stage_bytes;
static const int team_bytes = source_stages * source_stage_bytes + added_stages * added_stage_bytes;
static const int ring_barriers = 2 * (source_stages + added_stages);
static const bool ring_of_weights = weight_stages > 0;

// A ring of stages: of each a barrier that copies fill and one that the team's four warps free.
struct Ring {
  unsigned barriers, stages_at, stage, parity;
  __device__ __forceinline__ unsigned full() const { return barriers + 16 * stage; }
  __device__ __forceinline__ unsigned empty() const { return barriers + 16 * stage + 8; }
  __device__ __forceinline__ void step(unsigned stages) {
    if (++stage == stages) { stage = 0; parity ^= 1; }
  }
};
__device__ __forceinline__ unsigned barriers_of(unsigned base, int team) { return base + barriers_at + 8 + team * ring_barriers * 8; }
__device__ __forceinline__ Ring source_ring(unsigned base, int team) {
  const Ring ring = {barriers_of(base, team), base + source_at + team * team_bytes, 0, 0};
  return ring;
}
__device__ __forceinline__ Ring added_ring(unsigned base, int team) {
  const Ring ring = {barriers_of(base, team) + 16 * source_stages, base + added_at + team * team_bytes, 0, 0};
  return ring;
}
__device__ __forceinline__ Ring weight_ring(unsigned base) {
  const Ring ring = {barriers_of(base, teams), base + kept_weight_bytes, 0, 0};
  return ring;
}
__device__ __forceinline__ int first_tile(int team) { return blockIdx.x * teams + team; }
__device__ __forceinline__ int tiles_apart() { return gridDim.x * teams; }

// The thread that orders a team's copies.
struct Producer {
  const Map &source_map, &added_map;
  Ring source, added;
  __device__ __forceinline__ Producer(unsigned base, int team, const Map& of_source, const Map& of_added)
      : source_map(of_source), added_map(of_added), source(source_ring(base, team)), added(added_ring(base, team)) {}

  // `steps` pieces of a tile's pixels; `reach`: what a window reads beside its own.
  __device__ __forceinline__ void order_pixels(const Map& map, unsigned to, unsigned full, int tile, int steps, int piece_bytes,
                                               int step_elements, int left, int top) {
    for (int step = 0; step < steps; step++) {
      if (plain) copy_rows(to + step * piece_bytes, map, full, step * step_elements, tile * rows);
      else copy_box(to + step * piece_bytes, map, full, step * step_elements, -left, tile % row_regions * region_rows - top, tile / row_regions);
    }
  }
  __device__ __forceinline__ void bring_source(int tile) {
    wait_for(source.empty(), source.parity ^ 1);
    expect_bytes(source.full(), source_steps * source_box_bytes);
    order_pixels(source_map, source.stages_at + source.stage * source_stage_bytes, source.full(), tile, source_steps, source_piece_bytes,
                 source_step_elements, first::pad_left, first::pad_top);
    source.step(source_stages);
  }
#if HAS_BRANCH
  __device__ __forceinline__ void bring_added(int tile) {
    wait_for(added.empty(), added.parity ^ 1);
    expect_bytes(added.full(), branch_steps * branch_box_bytes);
    order_pixels(added_map, added.stages_at + added.stage * added_stage_bytes, added.full(), tile, branch_steps, branch_piece_bytes,
                 branch_step_elements, 0, 0);
    added.step(added_stages);
  }
#elif HAS_RESIDUAL
  __device__ __forceinline__ void bring_added(int tile) {
    const int first_row = plain ? tile * rows : (tile / row_regions * wide::out_h + tile % row_regions * region_rows) * wide::out_w;
    for (int group = 0; group < wide_groups; group++) {
      wait_for(added.empty(), added.parity ^ 1);
      expect_bytes(added.full(), added_box_bytes);
      copy_rows(added.stages_at + added.stage * added_stage_bytes, added_map, added.full(), group * group_columns, first_row);
      added.step(added_stages);
    }
  }
#else
  __device__ __forceinline__ void bring_added(int) {}
#endif
};

__device__ __forceinline__ void produce(unsigned base, int team, const Map& source, const Map& added, const unsigned char* weights) {
  if (team == 0 && !ring_of_weights) {
    expect_bytes(base + barriers_at, kept_weight_bytes);
    const int piece = 16384;
    for (int at = 0; at < kept_weight_bytes; at += piece)
      copy_bytes(base + at, weights + at, kept_weight_bytes - at < piece ? kept_weight_bytes - at : piece, base + barriers_at);
  }
  wait_for_previous();
  Producer producer(base, team, source, added);
  int tile = first_tile(team);
  if (tile < tiles) producer.bring_source(tile);
  for (; tile < tiles; tile += tiles_apart()) {
    producer.bring_added(tile);
    if (tile + tiles_apart() < tiles) producer.bring_source(tile + tiles_apart());
  }
}

#if HAS_TAIL && !HAS_HEAD
// Orders the weights of each chunk for every tile of the first team, which has the most. Weights are constants: it need not wait.
__device__ __forceinline__ void produce_weights(unsigned base, const unsigned char* weights) {
  Ring ring = weight_ring(base);
  for (int tile = first_tile(0); tile < tiles; tile += tiles_apart())
    for (int chunk = 0; chunk < chunks; chunk++) {
      unsigned to = ring.stages_at + ring.stage * weight_stage_bytes;
      wait_for(ring.empty(), ring.parity ^ 1);
      expect_bytes(ring.full(), wide_chunk_bytes + branch_chunk_bytes);
      copy_bytes(to, weights + wide_weights_at + chunk * wide_chunk_bytes, wide_chunk_bytes, ring.full());
#if HAS_BRANCH
      copy_bytes(to + wide_chunk_bytes, weights + branch_weights_at + chunk * branch_chunk_bytes, branch_chunk_bytes, ring.full());
#endif
      ring.step(weight_stages);
      to = ring.stages_at + ring.stage * weight_stage_bytes;
      wait_for(ring.empty(), ring.parity ^ 1);
      expect_bytes(ring.full(), tail_chunk_bytes);
      copy_bytes(to, weights + tail_weights_at + chunk * tail_chunk_bytes, tail_chunk_bytes, ring.full());
      ring.step(weight_stages);
    }
}
#endif

// A thread's two rows of a tile, eight apart: which pixels they are (-1: none), and where they lie among the tile's pixels without padding.
struct Place {
  int pixel[2], dense[2];
  __device__ __forceinline__ Place(int tile) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const int unit = threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4 + 8 * half;
      if (plain) {
        pixel[half] = (long long)tile * rows + unit < wide::pixels ? tile * rows + unit : -1;
        dense[half] = unit;
      } else {
        const int x = unit % padded_w, down = unit / padded_w, y = tile % row_regions * region_rows + down;
        const bool there = x < wide::out_w && down < region_rows;
        pixel[half] = there && y < wide::out_h ? (tile / row_regions * wide::out_h + y) * wide::out_w + x : -1;
        dense[half] = there ? down * wide::out_w + x : 0;
      }
    }
  }
  __device__ __forceinline__ void store(unsigned char* target, int group, int pitch, const unsigned (&words)[2][4]) const {
    const int element_bytes = group_bytes / group_columns, byte = group * group_bytes + threadIdx.x % 4 * 16;
#pragma unroll
    for (int half = 0; half < 2; half++)
      if (pixel[half] >= 0 && byte < pitch * element_bytes)
        store_words<4>(target + (long long)pixel[half] * (pitch * element_bytes) + byte, words[half]);
  }
};

// Step `step` of two of a group's words, as wgmma reads its first factor.
struct Factor {
  unsigned words[4];
  __device__ __forceinline__ void take(const unsigned (&from)[2][4], int step) {
#pragma unroll
    for (int i = 0; i < 4; i++) words[i] = from[i % 2][2 * step + i / 2];
  }
  __device__ __forceinline__ void hold() {
#pragma unroll
    for (int i = 0; i < 4; i++) asm volatile("" : "+r"(words[i])::"memory");
  }
};

// Every warp says so by itself, when all its threads have read the stage.
__device__ __forceinline__ void release(unsigned barrier) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) arrive(barrier);
}
// Likewise, of loads that gave `words`, which must have come: an arrival does not wait behind loads that wait behind stores, and the copy
// engine would write over what they are to read. So the arrival's address depends on them (the grid is one block high).
__device__ __forceinline__ void release_loaded(unsigned barrier, const unsigned (&words)[2][4]) {
  const unsigned none = (words[0][0] | words[1][0]) & (gridDim.y - 1);
  const unsigned moved = __any_sync(0xffffffffu, none != 0);
  if (threadIdx.x % 32 == 0) arrive(barrier + 8 * moved);
}

struct NoAddition {
  __device__ __forceinline__ void operator()(int, float (&)[2][4]) const {}
};

#if HAS_HEAD
// The head's sums of a tile, and what it makes of them.
__device__ __forceinline__ void run_head(unsigned base, Ring& source, const float* tables, const Place& place, unsigned char* target,
                                         unsigned (&made)[head_groups][2][4]) {
  head::Sum sums[head_columns / 2];
  const unsigned pixels = source.stages_at + source.stage * source_stage_bytes;
  wait_for(source.full(), source.parity);
  begin_products();
#pragma unroll
  for (int step = 0; step < source_steps; step++)
#pragma unroll
    for (int tap = 0; tap < taps; tap++)
#pragma unroll
      for (int i = 0; i < source_step_bytes / 32; i++) {
        const int moved = tap / head::kernel_w * head::dilation_h * padded_w + tap % head::kernel_w * head::dilation_w;
        const unsigned weights = base + head_weights_at + (step * taps + tap) * (head_columns * source_step_bytes);
        head::product(sums, rows_at<source_step_bytes>(pixels + step * source_piece_bytes + moved * source_step_bytes + 32 * i),
                      rows_at<source_step_bytes>(weights + 32 * i), (step | tap | i) != 0);
      }
  commit_products();
  wait_for_products<0>();
#pragma unroll
  for (int i = 0; i < head_columns / 2; i++) keep(sums[i]);
  release(source.empty());
  source.step(source_stages);
#pragma unroll
  for (int group = 0; group < head_groups; group++) {
    head::end_words(made[group], tables, group, [&](int sum) { return sums[sum]; }, NoAddition());
    if (head_stored) place.store(target, group, head::out_pitch, made[group]);
  }
}
#endif

__device__ __forceinline__ void consume(unsigned base, const unsigned char* shared, int team, unsigned char* head_target,
                                        unsigned char* wide_target, unsigned char* tail_target) {
  const float* const tables = (const float*)(shared + tables_at);
  Ring source = source_ring(base, team), added = added_ring(base, team), weights = weight_ring(base);
  if (!ring_of_weights) wait_for(base + barriers_at, 0);
  wait_for_previous();
#if HAS_TAIL
  tail::Sum tail_sums[tail_columns / 2];
#endif
  for (int tile = first_tile(team); ring_of_weights ? tile - team < tiles : tile < tiles; tile += tiles_apart()) {
    if (ring_of_weights && tile >= tiles) {  // other teams of the block still have one each
      for (int i = 0; i < 2 * chunks; i++, weights.step(weight_stages)) {
        wait_for(weights.full(), weights.parity);
        release(weights.empty());
      }
      break;
    }
    const Place place(tile);
#if HAS_HEAD
    unsigned made[head_groups][2][4];
    run_head(base, source, tables + head_table, place, head_target, made);
    Factor factors[head_groups][2];
#pragma unroll
    for (int group = 0; group < head_groups; group++)
#pragma unroll
      for (int step = 0; step < 2; step++) factors[group][step].take(made[group], step);
#else
    wait_for(source.full(), source.parity);
    const unsigned pixels = source.stages_at + source.stage * source_stage_bytes;
#endif
#if HAS_BRANCH
    wait_for(added.full(), added.parity);
    const unsigned branch_pixels = added.stages_at + added.stage * added_stage_bytes;
#endif
    Factor ended[chunk_groups][2];
    unsigned tail_empty = 0;  // barrier of the stage that the tail's last products read
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; chunk++) {
      wide::Sum sums[chunk_columns / 2];
      if (ring_of_weights) wait_for(weights.full(), weights.parity);
      const unsigned stage_of_weights = weights.stages_at + weights.stage * weight_stage_bytes;
      const unsigned wide_at = ring_of_weights ? stage_of_weights : base + wide_weights_at + chunk * wide_chunk_bytes;
      begin_products();
#if HAS_HEAD
#pragma unroll
      for (int k = 0; k < 2 * head_groups; k++)
        wide::product_of_registers(sums, factors[k / 2][k % 2].words,
                                   rows_at<32>(wide_at + k * (chunk_columns * 32)), k != 0);
#else
#pragma unroll
      for (int step = 0; step < source_steps; step++)
#pragma unroll
        for (int i = 0; i < source_step_bytes / 32; i++)
          wide::product(sums, rows_at<source_step_bytes>(pixels + step * source_piece_bytes + 32 * i),
                        rows_at<source_step_bytes>(wide_at + step * (chunk_columns * source_step_bytes) + 32 * i),
                        (step | i) != 0);
#endif
#if HAS_BRANCH
      branch::Sum branch_sums[chunk_columns / 2];
      const unsigned branch_at = ring_of_weights ? wide_at + wide_chunk_bytes : base + branch_weights_at + chunk * branch_chunk_bytes;
#pragma unroll
      for (int step = 0; step < branch_steps; step++)
#pragma unroll
        for (int i = 0; i < branch_step_bytes / 32; i++)
          branch::product(branch_sums, rows_at<branch_step_bytes>(branch_pixels + step * branch_piece_bytes + 32 * i),
                          rows_at<branch_step_bytes>(branch_at + step * (chunk_columns * branch_step_bytes) + 32 * i),
                          (step | i) != 0);
#endif
      commit_products();
#if HAS_RESIDUAL
      unsigned residual[chunk_groups][2][4];  // read while the products are computed
#pragma unroll
      for (int group = 0; group < chunk_groups; group++) {
        wait_for(added.full(), added.parity);
#pragma unroll
        for (int half = 0; half < 2; half++)
          load_copied(added.stages_at + added.stage * added_stage_bytes + place.dense[half] * group_bytes + threadIdx.x % 4 * 16, residual[group][half]);
        release_loaded(added.empty(), residual[group]);
        added.step(added_stages);
      }
#endif
      wait_for_products<0>();
#pragma unroll
      for (int i = 0; i < chunk_columns / 2; i++) keep(sums[i]);
#if HAS_BRANCH
#pragma unroll
      for (int i = 0; i < chunk_columns / 2; i++) keep(branch_sums[i]);
#endif
#if HAS_TAIL
      if (chunk > 0)
#pragma unroll
        for (int i = 0; i < 2 * chunk_groups; i++) ended[i / 2][i % 2].hold();
      if (ring_of_weights) {
        release(weights.empty());
        if (chunk > 0) release(tail_empty);
        weights.step(weight_stages);
      }
      const unsigned tail_at = ring_of_weights ? weights.stages_at + weights.stage * weight_stage_bytes : base + tail_weights_at + chunk * tail_chunk_bytes;
#endif
#pragma unroll
      for (int group = 0; group < chunk_groups; group++) {
        const int of_all = chunk * chunk_groups + group;
        unsigned words[2][4];
        const auto add = [&](int part, float (&sum)[2][4]) {
#if HAS_BRANCH
          float made[2][4];
          branch::end_part(made, tables + branch_table + chunk * chunk_columns, group, part, [&](int i) { return branch_sums[i]; }, made);
#pragma unroll
          for (int i = 0; i < 8; i++) sum[i / 4][i % 4] = wide::residual_from(branch::stored_number(made[i / 4][i % 4]));
#elif HAS_RESIDUAL
#pragma unroll
          for (int i = 0; i < 8; i++) sum[i / 4][i % 4] = wide::residual_of(residual[group][i / 4], part * 4 + i % 4);
#endif
        };
        wide::end_words(words, tables + wide_table + chunk * chunk_columns, group, [&](int sum) { return sums[sum]; }, add);
        if (wide_stored) place.store(wide_target, of_all, wide::out_pitch, words);
#if HAS_TAIL
#pragma unroll
        for (int step = 0; step < 2; step++) ended[group][step].take(words, step);
        if (ring_of_weights && group == 0) wait_for(weights.full(), weights.parity);
        begin_products();
#pragma unroll
        for (int step = 0; step < 2; step++)
          tail::product_of_registers(tail_sums, ended[group][step].words, rows_at<32>(tail_at + (2 * group + step) * (tail_columns * 32)),
                                     (of_all | step) != 0);
        commit_products();
#endif
      }
      if (ring_of_weights) {
        tail_empty = weights.empty();
        weights.step(weight_stages);
      }
    }
#if !HAS_HEAD
    release(source.empty());
    source.step(source_stages);
#endif
#if HAS_BRANCH
    release(added.empty());
    added.step(added_stages);
#endif
#if HAS_TAIL
    wait_for_products<0>();
#pragma unroll
    for (int i = 0; i < tail_columns / 2; i++) keep(tail_sums[i]);
#pragma unroll
    for (int i = 0; i < 2 * chunk_groups; i++) ended[i / 2][i % 2].hold();
    if (ring_of_weights) release(tail_empty);
#pragma unroll
    for (int group = 0; group < tail_groups; group++) {
      unsigned words[2][4];
      tail::end_words(words, tables + tail_table, group, [&](int sum) { return tail_sums[sum]; }, NoAddition());
      place.store(tail_target, group, tail::out_pitch, words);
    }
#endif
  }
}

extern "C" __global__ void __launch_bounds__(128 * (teams + 1), blocks)
chain(const __grid_constant__ Map source, const __grid_constant__ Map added, const unsigned char* __restrict__ weights,
      const float* __restrict__ scale_bias, unsigned char* head_target, unsigned char* wide_target, unsigned char* tail_target) {
  extern __shared__ unsigned char shared_memory[];
  const unsigned begin = shared_address(shared_memory), base = (begin + 1023) & ~1023u;
  unsigned char* const shared = shared_memory + (base - begin);
  const int team = threadIdx.x / 128;
  let_next_begin();
  if (threadIdx.x == 0) {
    make_barrier(base + barriers_at, 1);
    for (int i = 0; i < teams * (source_stages + added_stages); i++) {
      make_barrier(base + barriers_at + 8 + 16 * i, 1);
      make_barrier(base + barriers_at + 16 + 16 * i, 4);
    }
    for (int i = 0; i < weight_stages; i++) {
      make_barrier(barriers_of(base, teams) + 16 * i, 1);
      make_barrier(barriers_of(base, teams) + 16 * i + 8, 4 * teams);
    }
    barriers_made();
  }
  if (team == 0) fill_tables((float*)(shared + tables_at), scale_bias);
  __syncthreads();
  if (team == teams) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(producer_registers));
    const int warp = threadIdx.x / 32 - teams * 4;
    if (threadIdx.x % 32 == 0 && warp < teams) produce(base, warp, source, added, weights);
#if HAS_TAIL && !HAS_HEAD
    if (ring_of_weights && threadIdx.x % 32 == 0 && warp == teams) produce_weights(base, weights);
#endif
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(team_registers));
    consume(base, shared, team, head_target, wide_target, tail_target);
  }
}
