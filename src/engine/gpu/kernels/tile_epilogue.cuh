// Turns the sums of wgmma into what is stored. Text before this: epilogue_text, shape_text and constants `run`, `columns`, `table_share`.
//
//   struct Table: scales and biases of `columns` channels, as end_value takes them, loaded by 128 threads and stored in shared memory
//   in the order in which threads read them, four at a time: those of thread lane % 4 = q, group g, part p of a run lie at
//   g * 4 * run + p * 16 + q * 4.
//   end_run: the numbers of one thread's run in a group of columns.
struct Table {
  float scale[table_share], bias[table_share];  // one thread's share
  __device__ __forceinline__ void load(const float* scale_bias, int column) {
#pragma unroll
    for (int i = 0; i < table_share; i++) {
      const int place = threadIdx.x % 128 + 128 * i;
      const int in_group = place % (4 * run);
      const int channel = column * columns + place / (4 * run) * (4 * run) + in_group / 4 % 4 * run + in_group / 16 * 4 + in_group % 4;
      const bool there = place < columns && channel < out_pitch;
      scale[i] = there ? table_scale(scale_bias[channel]) : 0.0f;
      bias[i] = there ? table_bias(scale_bias[out_pitch + channel]) : 0.0f;
    }
  }
  __device__ __forceinline__ void store(float* table) const {
#pragma unroll
    for (int i = 0; i < table_share; i++) {
      const int place = threadIdx.x % 128 + 128 * i;
      if (place < columns) {
        table[place] = scale[i];
        table[columns + place] = bias[i];
      }
    }
  }
};

// Ends what a thread stores of column group `group`, eight rows apart: `sum_at(i)` is its sum i, `added(half, i)` its residual's number.
template <typename SumAt, typename Added>
__device__ __forceinline__ void end_run(float (&values)[2][run], const float* table, int group, const SumAt& sum_at, const Added& added) {
  const int quarter = threadIdx.x % 4;
#pragma unroll
  for (int part = 0; part < run / 4; part++) {
    float scale[4], bias[4];
    const int place = group * 4 * run + part * 16 + quarter * 4;
    if (has_scale) load_floats<4>(table + place, scale);
    load_floats<4>(table + columns + place, bias);
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int of_run = part * 4 + i, sum = (group * (run / 2) + of_run / 2) * 4 + half * 2 + of_run % 2;
        values[half][of_run] = end_value(sum_at(sum), has_scale ? scale[i] : 1.0f, bias[i], added(half, of_run));
      }
  }
}
