// Words of CUDA and of the kernels' preludes for numbers, as the host computes them.
#pragma once

namespace deepgap::gpu {

constexpr const char* host_numbers = R"(
#include <cmath>
#include <cstring>
using namespace std;
static inline float __uint_as_float(unsigned x) { float y; memcpy(&y, &x, 4); return y; }
static inline unsigned __float_as_uint(float x) { unsigned y; memcpy(&y, &x, 4); return y; }
static inline float __int_as_float(int x) { float y; memcpy(&y, &x, 4); return y; }
struct Halves {  // all of them: where the host has no instruction for it one takes long
  float numbers[1 << 16];
  Halves() { for (int x = 0; x < 1 << 16; ++x) { _Float16 y; memcpy(&y, &x, 2); numbers[x] = (float)y; } }
};
static const Halves halves;
static inline float from_f16(unsigned short x) { return halves.numbers[x]; }
static inline unsigned short to_f16(float x) { _Float16 y = (_Float16)x; unsigned short z; memcpy(&z, &y, 2); return z; }
static inline float from_bf16(unsigned short x) { return __uint_as_float((unsigned)x << 16); }
static inline unsigned short to_bf16(float x) {
  unsigned y; memcpy(&y, &x, 4);
  return (unsigned short)((x != x) ? 0x7fc0 : (y + 0x7fff + ((y >> 16) & 1)) >> 16);
}
static inline float from_e4m3(unsigned char x) {
  const int size = x & 0x7f, exponent = size >> 3;
  const float value = size == 0x7f ? NAN : ldexpf((float)(size % 8 + (exponent > 0 ? 8 : 0)), (exponent > 0 ? exponent : 1) - 10);
  return x & 0x80 ? -value : value;
}
static inline unsigned char to_e4m3(float x) {  // the nearest of all, the even one of two
  int best = 0;
  for (int bits = 1; bits < 0x7f; ++bits) {
    const float here = fabsf(fabsf(x) - from_e4m3(bits)), before = fabsf(fabsf(x) - from_e4m3(best));
    if (here < before || (here == before && bits % 2 == 0)) best = bits;
  }
  return x != x ? 0x7f : (unsigned char)(best | (signbit(x) ? 0x80 : 0));
}
static inline float rounded_to_tf32(float v) {
  unsigned y; memcpy(&y, &v, 4);
  if (v == v) y = (y + 0x1000u) & 0xffffe000u;
  memcpy(&v, &y, 4);
  return v;
}
static inline float largest(float a, float b) { return a != a || b != b ? a + b : a < b ? b : a; }
static inline float smallest(float a, float b) { return a != a || b != b ? a + b : a < b ? a : b; }
static inline float near_gelu(float v) { return 0.5f * v * (1.0f + erff(v * 0.70710678f)); }
)";

}  // namespace deepgap::gpu
