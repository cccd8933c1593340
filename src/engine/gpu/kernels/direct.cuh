// A convolution as its definition says: a thread computes one output. Text before this: the prelude, the epilogue, the shape, and Weight,
// operand and add_product, which direct.cpp writes.
KERNEL() {
  DECLARE_RESIDUAL;
  wait_for_previous();
  let_next_begin();
  const long long index = (long long)blockIdx.x * 256 + threadIdx.x;
  if (index >= pixels * out_pitch) return;
  const int channel = (int)(index % out_pitch);
  const long long pixel = index / out_pitch;
  float zero[1] = {0.0f};
  if (channel >= out_channels) {
    put_target(target + index * Target::bytes, zero);
    return;
  }
  const int x = (int)(pixel % out_w), y = (int)(pixel / out_w % out_h);
  const long long image = pixel / out_w / out_h;
  const int first_channel = channel / group_out * group_in;
  const Weight* weight = (const Weight*)weights + (long long)channel * kernel_h * kernel_w * group_in;
  Sum sum = 0;
  for (int r = 0; r < kernel_h; r++) {
    const int in_y = y * stride_h - pad_top + r * dilation_h;
    for (int s = 0; s < kernel_w; s++) {
      const int in_x = x * stride_w - pad_left + s * dilation_w;
      const bool inside = (unsigned)in_y < (unsigned)in_h && (unsigned)in_x < (unsigned)in_w;
      const unsigned char* from = source + (((image * in_h + in_y) * in_w + in_x) * in_pitch + first_channel) * Source::bytes;
      for (int c = 0; c < group_in; c++, weight++) sum = add_product(sum, inside ? operand(from + c * Source::bytes) : outside, *weight);
    }
  }
  unsigned words[1] = {0};
  if (has_residual) get_residual<1>(residual + index * Residual::bytes, words);
  const float value[1] = {ended(sum, has_scale ? scale_bias[channel] : 1.0f, scale_bias[out_pitch + channel], residual_of(words, 0))};
  put_target(target + index * Target::bytes, value);
}
