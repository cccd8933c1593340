// Statements of DeformConv, after the constants and the functions PIXEL, WEIGHT, OFFSET and MASK that lower_regions.cpp writes.
for (int i = 0; i < INPUTS; ++i) {
  const int channel = (int)(c1 / OUTPUTS_EACH) * INPUTS + i, part = channel / CHANNELS_EACH;
  for (int tap = 0; tap < KERNEL_H * KERNEL_W; ++tap) {
    const int place = (part * KERNEL_H * KERNEL_W + tap) * 2;
    const float y = (float)((int)c2 * STRIDE_H - PAD_H + tap / KERNEL_W * DILATION_H) + OFFSET(place);
    const float x = (float)((int)c3 * STRIDE_W - PAD_W + tap % KERNEL_W * DILATION_W) + OFFSET(place + 1);
    if (!(y > -1.0f && x > -1.0f && y < (float)HEIGHT && x < (float)WIDTH)) continue;
    const int top = (int)floorf(y), left = (int)floorf(x);
    const float down = y - (float)top, along = x - (float)left;
    const auto pixel = [&](int row, int column) {
      return row < 0 || column < 0 || row >= HEIGHT || column >= WIDTH ? 0.0f : PIXEL(channel, row, column);
    };
    const float between = (1.0f - down) * ((1.0f - along) * pixel(top, left) + along * pixel(top, left + 1)) +
                          down * ((1.0f - along) * pixel(top + 1, left) + along * pixel(top + 1, left + 1));
    r += WEIGHT(i, tap / KERNEL_W, tap % KERNEL_W) * MASK(part * KERNEL_H * KERNEL_W + tap) * between;
  }
}
