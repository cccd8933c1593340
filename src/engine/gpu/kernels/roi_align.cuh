// Statements of RoiAlign, after the constants and the functions BOX and PIXEL that lower_regions.cpp writes.
//
// Points near the edge are moved onto it; those further out are zeros.
const float left = BOX(0) * SCALE - SHIFT, top = BOX(1) * SCALE - SHIFT;
float width = BOX(2) * SCALE - SHIFT - left, height = BOX(3) * SCALE - SHIFT - top;
if (SHIFT == 0.0f) width = fmaxf(width, 1.0f), height = fmaxf(height, 1.0f);
const float bin_height = height / BINS_H, bin_width = width / BINS_W;
const int rows = RATIO > 0 ? RATIO : (int)fmaxf(ceilf(bin_height), 0.0f), columns = RATIO > 0 ? RATIO : (int)fmaxf(ceilf(bin_width), 0.0f);
r = AVERAGE ? 0.0f : __int_as_float(0xff800000);
for (int i = 0; i < rows; ++i)
  for (int j = 0; j < columns; ++j) {
    const float y = top + ((float)c2 + ((float)i + 0.5f) / (float)rows) * bin_height;
    const float x = left + ((float)c3 + ((float)j + 0.5f) / (float)columns) * bin_width;
    const bool there = y >= -1.0f && y <= (float)HEIGHT && x >= -1.0f && x <= (float)WIDTH;
    const float inside_y = fminf(fmaxf(y, 0.0f), (float)(HEIGHT - 1)), inside_x = fminf(fmaxf(x, 0.0f), (float)(WIDTH - 1));
    const int y0 = there ? (int)inside_y : 0, x0_ = there ? (int)inside_x : 0;
    const int y1 = there && y0 + 1 < HEIGHT ? y0 + 1 : y0, x1_ = there && x0_ + 1 < WIDTH ? x0_ + 1 : x0_;
    const float down = there ? inside_y - (float)y0 : 0.0f, along = there ? inside_x - (float)x0_ : 0.0f, all = there ? 1.0f : 0.0f;
    const float values[4] = {all * (1.0f - down) * (1.0f - along) * PIXEL(y0, x0_), all * (1.0f - down) * along * PIXEL(y0, x1_),
                             all * down * (1.0f - along) * PIXEL(y1, x0_), all * down * along * PIXEL(y1, x1_)};
    for (int k = 0; k < 4; ++k) r = AVERAGE ? r + values[k] : fmaxf(r, values[k]);
  }
if (rows * columns == 0)
  r = 0.0f;
else if (AVERAGE)
  r /= (float)(rows * columns);
