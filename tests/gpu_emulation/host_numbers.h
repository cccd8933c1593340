// Words of CUDA and of the kernels' preludes for numbers, as the host computes them. C's headers alone: C++'s <cmath> brings half of the
// library along, which every text would begin with, and its overloads are written in a line each.
#pragma once

namespace deepgap::gpu {

constexpr const char* host_numbers = R"(
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#include <math.h>
#include <stdint.h>
#include <string.h>
#undef _GLIBCXX_INCLUDE_NEXT_C_HEADERS
namespace of_floats {  // not beside C's own, where C++'s headers would find them
#define OF_FLOATS(name) static inline float name(float x) { return name##f(x); }
OF_FLOATS(acos) OF_FLOATS(acosh) OF_FLOATS(asin) OF_FLOATS(asinh) OF_FLOATS(atan) OF_FLOATS(atanh) OF_FLOATS(ceil) OF_FLOATS(cos)
OF_FLOATS(cosh) OF_FLOATS(erf) OF_FLOATS(exp) OF_FLOATS(expm1) OF_FLOATS(fabs) OF_FLOATS(floor) OF_FLOATS(log) OF_FLOATS(log1p)
OF_FLOATS(nearbyint) OF_FLOATS(rint) OF_FLOATS(round) OF_FLOATS(sin) OF_FLOATS(sinh) OF_FLOATS(sqrt) OF_FLOATS(tan) OF_FLOATS(tanh)
OF_FLOATS(trunc)
static inline float fmod(float x, float y) { return fmodf(x, y); }
static inline float pow(float x, float y) { return powf(x, y); }
static inline int abs(int x) { return x < 0 ? -x : x; }
static inline long long abs(long long x) { return x < 0 ? -x : x; }
static inline float abs(float x) { return fabsf(x); }
static inline double abs(double x) { return ::fabs(x); }
}
using namespace of_floats;
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
