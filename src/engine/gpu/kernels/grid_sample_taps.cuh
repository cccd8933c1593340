// Statements of GridSample, before those that lower_grid_sample.cpp writes: BORDER, CORNERS and TAPS are constants there.
//
// Along one axis: `count` places and what each is multiplied by; a place of -1 is a zero. Positions are parts of the axis from -1 to 1.
const auto drawn_in = [](float x, int size) {
  if (BORDER == 0) return x;
  if (BORDER == 2) {
    const float low = CORNERS ? 0.0f : -0.5f, length = CORNERS ? size - 1 : size;
    const float far = fabsf(x - low), rest = length == 0.0f ? 0.0f : fmodf(far, length);
    x = length == 0.0f ? 0.0f : (long long)(far / length) % 2 == 0 ? rest + low : length - rest + low;
  }
  return fminf(fmaxf(x, 0.0f), (float)(size - 1));
};
const auto place = [&](float x, int size) {
  const float inside = drawn_in(x, size);
  return inside >= 0.0f && inside < (float)size ? (int)inside : -1;
};
const auto taps = [&](float part, int size, int (&at)[TAPS], float (&by)[TAPS]) {
  float x = CORNERS ? (part + 1.0f) / 2.0f * (float)(size - 1) : ((part + 1.0f) * (float)size - 1.0f) / 2.0f;
  if (TAPS == 1) {
    at[0] = place(rintf(drawn_in(x, size)), size);
    by[0] = 1.0f;
  } else if (TAPS == 2) {
    x = drawn_in(x, size);
    const float low = floorf(x);
    at[0] = place(low, size), by[0] = low + 1.0f - x;
    at[TAPS / 2] = place(low + 1.0f, size), by[TAPS / 2] = x - low;
  } else {
    const float low = floorf(x), s = x - low;
    const auto near = [](float d) { return ((-0.75f + 2.0f) * d - (-0.75f + 3.0f)) * d * d + 1.0f; };
    const auto far = [](float d) { return ((-0.75f * d + 3.75f) * d - 6.0f) * d + 3.0f; };
#pragma unroll
    for (int k = 0; k < TAPS; ++k) {
      at[k] = place(low - 1.0f + (float)k, size);
      by[k] = k == 0 ? far(s + 1.0f) : k == 1 ? near(s) : k == 2 ? near(1.0f - s) : far(2.0f - s);
    }
  }
};
