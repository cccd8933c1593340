// `sums` and `target` may be the same memory: each thread reads what it writes over.
KERNEL() {
  DECLARE_RESIDUAL;
  wait_for_previous();
  let_next_begin();
  const long long index = ((long long)blockIdx.x * 256 + threadIdx.x) * run;
  if (index >= pixels * out_pitch) return;
  const int channel = (int)(index % out_pitch);
  unsigned sums[run], words[(run * Residual::bytes + 3) / 4] = {0};
  load_words<run>(source + index * 4, sums);
  if (has_residual) get_residual<run>(residual + index * Residual::bytes, words);
  float values[run];
#pragma unroll
  for (int i = 0; i < run; i++) {
    const bool there = channel + i < out_channels;
    const float scale = has_scale && there ? scale_bias[channel + i] : 1.0f, bias = there ? scale_bias[out_pitch + channel + i] : 0.0f;
    const float value = ended(sum_of(sums[i]), scale, bias, residual_of(words, i));
    values[i] = there ? value : 0.0f;
  }
  put_target<run>(target + index * Target::bytes, values);
}
