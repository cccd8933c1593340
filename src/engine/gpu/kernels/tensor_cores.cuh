// Products by tensor cores (mma.sync).
//
// c += a * b of 16 rows and 8 columns over 32 bytes of k. c0, c1: row lane / 4, columns lane % 4 * 2 and the next; c2, c3: eight rows down.
// NAME_first: c = a * b + what even and odd columns begin with.
#define FLOAT_PRODUCT(name, shape_and_types)                                                                                           \
  __device__ __forceinline__ void name(float& c0, float& c1, float& c2, float& c3, const unsigned(&a)[4], unsigned b0, unsigned b1) {  \
    asm volatile("mma.sync.aligned." shape_and_types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                \
                 : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)                                                                              \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                                                      \
  }                                                                                                                                    \
  __device__ __forceinline__ void name##_first(float(&c)[4], const unsigned(&a)[4], unsigned b0, unsigned b1, float even, float odd) { \
    asm volatile("mma.sync.aligned." shape_and_types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %10, %11};"            \
                 : "=f"(c[0]), "=f"(c[1]), "=f"(c[2]), "=f"(c[3])                                                                      \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(even), "f"(odd));                                 \
  }
#define INTEGER_PRODUCT(name, shape_and_types)                                                                                \
  __device__ __forceinline__ void name(int& c0, int& c1, int& c2, int& c3, const unsigned(&a)[4], unsigned b0, unsigned b1) { \
    asm volatile("mma.sync.aligned." shape_and_types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"       \
                 : "+r"(c0), "+r"(c1), "+r"(c2), "+r"(c3)                                                                     \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                                             \
  }
FLOAT_PRODUCT(mma_f16, "m16n8k16.row.col.f32.f16.f16.f32")
FLOAT_PRODUCT(mma_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32")
FLOAT_PRODUCT(mma_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32")
FLOAT_PRODUCT(mma_e4m3, "m16n8k32.row.col.f32.e4m3.e4m3.f32")
INTEGER_PRODUCT(mma_s8, "m16n8k32.row.col.s32.s8.s8.s32")
INTEGER_PRODUCT(mma_u8, "m16n8k32.row.col.s32.u8.s8.s32")
