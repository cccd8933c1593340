// Types by Element, with `bytes`, get(word, index) and put<N>(words, values). Text before this: conversions.cuh.
struct F32 {
  static const int bytes = 4, per_word = 1;
  __device__ __forceinline__ static float get(unsigned word, int) { return __uint_as_float(word); }
  template <int N>
  __device__ __forceinline__ static void put(unsigned* words, const float (&v)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++) words[i] = __float_as_uint(v[i]);
  }
};
struct F16 {
  static const int bytes = 2, per_word = 2;
  __device__ __forceinline__ static float get(unsigned word, int i) {
    float v;
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"((unsigned short)(i ? word >> 16 : word & 0xffff)));
    return v;
  }
  __device__ __forceinline__ static unsigned pair(float low, float high) {
    unsigned word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
  }
  // Both halves to low .. high; what is not a number stays so.
  __device__ __forceinline__ static unsigned clamped(unsigned word, unsigned low, unsigned high) {
    asm("max.NaN.f16x2 %0, %0, %1;\n\tmin.NaN.f16x2 %0, %0, %2;" : "+r"(word) : "r"(low), "r"(high));
    return word;
  }
  template <int N>
  __device__ __forceinline__ static void put(unsigned* words, const float (&v)[N]) {
#pragma unroll
    for (int i = 0; i < N; i += 2) words[i / 2] = pair(v[i], N > 1 ? v[(i + 1) % N] : 0.0f);
  }
};
struct BF16 {
  static const int bytes = 2, per_word = 2;
  __device__ __forceinline__ static float get(unsigned word, int i) { return __uint_as_float(i ? word & 0xffff0000u : word << 16); }
  __device__ __forceinline__ static unsigned pair(float low, float high) {
    unsigned word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
  }
  // Both halves to low .. high; what is not a number stays so.
  __device__ __forceinline__ static unsigned clamped(unsigned word, unsigned low, unsigned high) {
    asm("max.NaN.bf16x2 %0, %0, %1;\n\tmin.NaN.bf16x2 %0, %0, %2;" : "+r"(word) : "r"(low), "r"(high));
    return word;
  }
  template <int N>
  __device__ __forceinline__ static void put(unsigned* words, const float (&v)[N]) {
#pragma unroll
    for (int i = 0; i < N; i += 2) words[i / 2] = pair(v[i], N > 1 ? v[(i + 1) % N] : 0.0f);
  }
};
// From sm_89 on.
struct E4M3 {
  static const int bytes = 1, per_word = 4;
  __device__ __forceinline__ static float get(unsigned word, int i) { return from_e4m3((unsigned char)(word >> 8 * i)); }
  __device__ __forceinline__ static unsigned pair(float low, float high) {
    unsigned short both;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(both) : "f"(high), "f"(low));
    return both;
  }
  template <int N>
  __device__ __forceinline__ static void put(unsigned* words, const float (&v)[N]) {
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      words[i / 4] = pair(v[i], N > 1 ? v[(i + 1) % N] : 0.0f);
      if (N > 2) words[i / 4] |= pair(v[(i + 2) % N], v[(i + 3) % N]) << 16;
    }
  }
};
// Bytes to floats without the slow conversion: a byte in the last place of 2^23 is that number more.
struct U8 {
  static const int bytes = 1, per_word = 4;
  static const int low = 0, high = 255;
  __device__ __forceinline__ static float get(unsigned word, int i) {
    return __uint_as_float(__byte_perm(word, 0x4B000000u, 0x7650 | i)) - 8388608.0f;
  }
};
struct I8 {
  static const int bytes = 1, per_word = 4;
  static const int low = -128, high = 127;
  __device__ __forceinline__ static float get(unsigned word, int i) {
    return __uint_as_float(__byte_perm(word ^ 0x80808080u, 0x4B000000u, 0x7650 | i)) - 8388736.0f;
  }
};
// saturate(rint(v * inverse) + zero), half to even, of as many as four values in one word. Adding 1.5 * 2^23 rounds to a whole number.
template <class T, int N>
__device__ __forceinline__ void put_quantised(unsigned* words, const float (&v)[N], float inverse, int zero) {
  unsigned q[N < 4 ? 4 : N];
#pragma unroll
  for (int i = 0; i < N; i++) {
    float scaled = fminf(fmaxf(v[i] * inverse, (float)(T::low - zero)), (float)(T::high - zero));
    q[i] = __float_as_uint(scaled + 12582912.0f) + zero;
  }
#pragma unroll
  for (int i = N; i < 4; i++) q[i] = 0;
#pragma unroll
  for (int i = 0; i < N; i += 4)
    words[i / 4] = __byte_perm(__byte_perm(q[i], q[i + 1], 0x0040), __byte_perm(q[i + 2], q[i + 3], 0x0040), 0x5410);
}
// If one is NaN, so is the result.
__device__ __forceinline__ float largest(float a, float b) {
  float v;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(v) : "f"(a), "f"(b));
  return v;
}
__device__ __forceinline__ float smallest(float a, float b) {
  float v;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(v) : "f"(a), "f"(b));
  return v;
}
// v times the normal distribution's share below it, within 2e-6, for what is rounded to 16 bits or fewer: the share on the side of 0 that
// is further away is a power of two, of a polynomial in |v|.
__device__ __forceinline__ float near_gelu(float v) {
  const float a = fminf(fabsf(v), 10.0f);
  float p = fmaf(a, -3.97182899e-4f, 6.58329948e-3f), share;
  p = fmaf(a, fmaf(a, p, -0.050658534f), -0.461164909f);
  p = fmaf(a, fmaf(a, p, -1.15030407f), -1.00009833f);
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(share) : "f"(p));
  return fmaf(-a, share, largest(v, 0.0f));
}
