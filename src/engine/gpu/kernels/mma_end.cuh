// Ends `vector` neighbours of one pixel and stores them. `channel` counts in all of the target.
__device__ __forceinline__ void end_and_store(const Sum* sums, const float* scale, const float* bias, const unsigned* words,
                                              unsigned char* target, long long at, int channel) {
  float v[vector];
#pragma unroll
  for (int c = 0; c < vector; c++) {
    v[c] = ended(sums[c], scale[c], bias[c], has_residual ? residual_of(words, c) : 0.0f);
    if (out_channels % vector != 0 && channel + c >= out_channels) v[c] = 0.0f;
  }
  put_target(target + at * Target::bytes, v);
}
__device__ __forceinline__ void load_scale_bias(const float* scale_bias, int channel, float (&scale)[vector], float (&bias)[vector]) {
  if (has_scale) load_floats(scale_bias + channel, scale);
  load_floats(scale_bias + out_pitch + channel, bias);
}
static const int residual_words = (vector * Residual::bytes + 3) / 4;
