#include "engine/gpu/generated.h"
#include "engine/gpu/kernel_text.h"

namespace deepgap::gpu {
namespace {

constexpr std::string_view types = R"(
struct F32 {
  static const int bytes = 4, per_word = 1;
  __device__ __forceinline__ static float get(unsigned word, int) { return __uint_as_float(word); }
  template <int N> __device__ __forceinline__ static void put(unsigned* words, const float (&v)[N]) {
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
  template <int N> __device__ __forceinline__ static void put(unsigned* words, const float (&v)[N]) {
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
  template <int N> __device__ __forceinline__ static void put(unsigned* words, const float (&v)[N]) {
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
  template <int N> __device__ __forceinline__ static void put(unsigned* words, const float (&v)[N]) {
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
template <class T, int N> __device__ __forceinline__ void put_quantised(unsigned* words, const float (&v)[N], float inverse, int zero) {
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
// Where one is not a number, neither is the result.
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
// v times the normal distribution's share below it, within 2e-6, for what is rounded to 16 bits or fewer: the share on the side of 0 that is
// further away is a power of two, of a polynomial in |v|.
__device__ __forceinline__ float near_gelu(float v) {
  const float a = fminf(fabsf(v), 10.0f);
  float p = fmaf(a, -3.97182899e-4f, 6.58329948e-3f), share;
  p = fmaf(a, fmaf(a, p, -0.050658534f), -0.461164909f);
  p = fmaf(a, fmaf(a, p, -1.15030407f), -1.00009833f);
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(share) : "f"(p));
  return fmaf(-a, share, largest(v, 0.0f));
}
)";

constexpr std::string_view memory = R"(
// N words that lie at an address aligned to as much as is loaded at once.
template <int N> __device__ __forceinline__ void load_words(const void* from, unsigned* words) {
  if (N % 4 == 0) {
#pragma unroll
    for (int i = 0; i < N / 4; i++) {
      uint4 w = ((const uint4*)from)[i];
      words[4 * i] = w.x; words[4 * i + 1] = w.y; words[4 * i + 2] = w.z; words[4 * i + 3] = w.w;
    }
  } else if (N % 2 == 0) {
#pragma unroll
    for (int i = 0; i < N / 2; i++) {
      uint2 w = ((const uint2*)from)[i];
      words[2 * i] = w.x; words[2 * i + 1] = w.y;
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; i++) words[i] = ((const unsigned*)from)[i];
  }
}
template <int N> __device__ __forceinline__ void load_floats(const float* from, float (&v)[N]) {
  unsigned words[N];
  load_words<N>(from, words);
#pragma unroll
  for (int i = 0; i < N; i++) v[i] = __uint_as_float(words[i]);
}
template <int N> __device__ __forceinline__ void store_words(void* to, const unsigned* words) {
  if (N % 4 == 0) {
#pragma unroll
    for (int i = 0; i < N / 4; i++)
      ((uint4*)to)[i] = make_uint4(words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]);
  } else if (N % 2 == 0) {
#pragma unroll
    for (int i = 0; i < N / 2; i++) ((uint2*)to)[i] = make_uint2(words[2 * i], words[2 * i + 1]);
  } else {
#pragma unroll
    for (int i = 0; i < N; i++) ((unsigned*)to)[i] = words[i];
  }
}
// One element, alone.
template <class T> __device__ __forceinline__ float load_one(const void* from) {
  unsigned word;
  if (T::bytes == 4) word = *(const unsigned*)from;
  else if (T::bytes == 2) word = *(const unsigned short*)from;
  else word = *(const unsigned char*)from;
  return T::get(word, 0);
}
__device__ __forceinline__ unsigned shared_address(const void* p) {
  unsigned address;
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(address) : "l"(p));
  return address;
}
// 16 bytes to shared memory, or zeros where they are not valid; the address must be a proper one all the same.
__device__ __forceinline__ void cp_async16(unsigned to, const void* from, bool valid) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0) : "memory");
}
__device__ __forceinline__ void cp_async16(unsigned to, const void* from) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until all but the N youngest groups are there.
template <int N> __device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
__device__ __forceinline__ void store_shared16(unsigned to, unsigned a, unsigned b, unsigned c, unsigned d) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}
// Four matrices of 8 rows of 16 bytes; lane i gives the address of row i % 8 of matrix i / 8.
__device__ __forceinline__ void load_matrices(unsigned (&r)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}
#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ unsigned rank_in_cluster() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// Every thread of the cluster; writes before it are seen after it.
__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// The same place of shared memory in another block of the cluster.
__device__ __forceinline__ unsigned address_in_block(unsigned shared, unsigned rank) {
  unsigned address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared), "r"(rank));
  return address;
}
__device__ __forceinline__ uint4 load_cluster16(unsigned address) {
  uint4 w;
  asm volatile("ld.shared::cluster.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w) : "r"(address) : "memory");
  return w;
}
#endif
)";

constexpr std::string_view products = R"(
// c += a * b of 16 rows and 8 columns over 32 bytes of k. c0, c1: row lane / 4, columns lane % 4 * 2 and the next; c2, c3: eight rows down.
#define FLOAT_PRODUCT(name, shape_and_types)                                                                                    \
  __device__ __forceinline__ void name(float& c0, float& c1, float& c2, float& c3, const unsigned (&a)[4], unsigned b0, unsigned b1) { \
    asm volatile("mma.sync.aligned." shape_and_types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"          \
                 : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));        \
  }
#define INTEGER_PRODUCT(name, shape_and_types)                                                                                  \
  __device__ __forceinline__ void name(int& c0, int& c1, int& c2, int& c3, const unsigned (&a)[4], unsigned b0, unsigned b1) {         \
    asm volatile("mma.sync.aligned." shape_and_types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"          \
                 : "+r"(c0), "+r"(c1), "+r"(c2), "+r"(c3) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));        \
  }
FLOAT_PRODUCT(mma_f16, "m16n8k16.row.col.f32.f16.f16.f32")
FLOAT_PRODUCT(mma_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32")
FLOAT_PRODUCT(mma_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32")
FLOAT_PRODUCT(mma_e4m3, "m16n8k32.row.col.f32.e4m3.e4m3.f32")
INTEGER_PRODUCT(mma_s8, "m16n8k32.row.col.s32.s8.s8.s32")
INTEGER_PRODUCT(mma_u8, "m16n8k32.row.col.s32.u8.s8.s32")
)";

}  // namespace

std::string_view kernel_prelude() {
  static const std::string text =
      conversion_functions() + launch_order_functions() + std::string(types) + std::string(memory) + std::string(products);
  return text;
}

}  // namespace deepgap::gpu
