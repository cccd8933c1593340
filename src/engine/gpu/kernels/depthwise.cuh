// Known when the loop over rows is unrolled.
__device__ __forceinline__ constexpr bool row_is_read(int y) {
  for (int i = 0; i < patch_y; i++)
    for (int r = 0; r < kernel_h; r++)
      if (i * stride_h + r * dilation_h == y) return true;
  return false;
}

KERNEL() {
  DECLARE_RESIDUAL;
  const long long index = (long long)blockIdx.x * THREADS + threadIdx.x;
  const int channel = (int)(index % (out_pitch / vector)) * vector;
  const long long patch = index / (out_pitch / vector);
  wait_for_previous();
  let_next_begin();
  if (patch >= (long long)batch * patches_y * patches_x) return;
  const int first_x = (int)(patch % patches_x) * patch_x, first_y = (int)(patch / patches_x % patches_y) * patch_y;
  const long long image = patch / (patches_x * patches_y);
  float sums[patch_y][patch_x][vector];
#pragma unroll
  for (int i = 0; i < patch_y; i++)
#pragma unroll
    for (int j = 0; j < patch_x; j++)
#pragma unroll
      for (int c = 0; c < vector; c++) sums[i][j][c] = 0.0f;
  const int from_y = first_y * stride_h - pad_top, from_x = first_x * stride_w - pad_left;
  const unsigned char* from = source + (((image * in_h + from_y) * in_w + from_x) * in_pitch + channel) * Source::bytes;
#pragma unroll
  for (int y = 0; y < rows_in; y++) {
    if (!row_is_read(y)) continue;
    if (rows_in * columns_in * words_in > 64) asm volatile("" ::: "memory");  // or all rows would be read, and kept, at once
    unsigned words[columns_in][words_in];
    const bool row_inside = (unsigned)(from_y + y) < (unsigned)in_h;
#pragma unroll
    for (int x = 0; x < columns_in; x++) {
      if (row_inside && (unsigned)(from_x + x) < (unsigned)in_w) {
        load_words<words_in>(from + (long long)(y * in_w + x) * in_pitch * Source::bytes, words[x]);
      } else {
#pragma unroll
        for (int w = 0; w < words_in; w++) words[x][w] = outside_word;
      }
    }
#pragma unroll
    for (int i = 0; i < patch_y; i++) {
      const int r = (y - i * stride_h) / dilation_h;
      if (y < i * stride_h || r * dilation_h != y - i * stride_h || r >= kernel_h) continue;
#pragma unroll
      for (int s = 0; s < kernel_w; s++) {
        float weight[vector];
        load_floats((const float*)weights + (r * kernel_w + s) * out_pitch + channel, weight);
#pragma unroll
        for (int j = 0; j < patch_x; j++)
#pragma unroll
          for (int c = 0; c < vector; c++)
            sums[i][j][c] =
                fmaf(operand(words[j * stride_w + s * dilation_w][c / Source::per_word], c % Source::per_word), weight[c], sums[i][j][c]);
      }
    }
  }
  float scale[vector], bias[vector];
  if (has_scale) load_floats(scale_bias + channel, scale);
  load_floats(scale_bias + out_pitch + channel, bias);
#pragma unroll
  for (int i = 0; i < patch_y; i++)
#pragma unroll
    for (int j = 0; j < patch_x; j++) {
      if ((out_h % patch_y != 0 && first_y + i >= out_h) || (out_w % patch_x != 0 && first_x + j >= out_w)) continue;
      const long long at = ((image * out_h + first_y + i) * out_w + first_x + j) * out_pitch + channel;
      unsigned words[(vector * Residual::bytes + 3) / 4];
      if (has_residual) get_residual<vector>(residual + at * Residual::bytes, words);
      float v[vector];
#pragma unroll
      for (int c = 0; c < vector; c++) {
        v[c] = ended_value(sums[i][j][c], scale[c], bias[c], has_residual ? residual_of(words, c) : 0.0f);
        if (out_channels % vector != 0 && channel + c >= out_channels) v[c] = 0.0f;
      }
      put_target(target + at * Target::bytes, v);
    }
}
