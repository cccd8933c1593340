#include "engine/cpu/integer_tile.h"

namespace deepgap {

alignas(64) const int32_t no_sums[integer_tile_rows * integer_tile_columns] = {};

#if defined(__x86_64__)

bool has_integer_tiles() { return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0; }

// %rdi the IntegerTile, %r8 to %r13 the rows, %rsi weights, %rdx offsets, %rcx runs left, %rax place in the row, %r14 pairs left.
#define DEEPGAP_START(index, sum0, sum1)      \
  "vmovdqu " #index "*64(%%rax), %%ymm" #sum0 \
  "\n\t"                                      \
  "vmovdqu " #index "*64+32(%%rax), %%ymm" #sum1 "\n\t"
#define DEEPGAP_LOAD_ROW(index, row) "movq " #index "*8(%%rdi), %%" #row "\n\t"
// Two neighbouring inputs in all lanes, times the weights of eight outputs, twice.
#define DEEPGAP_MULTIPLY(row, sum0, sum1)       \
  "vpbroadcastd (%%" #row                       \
  ", %%rax), %%ymm14\n\t"                       \
  "vpmaddwd %%ymm12, %%ymm14, %%ymm15\n\t"      \
  "vpmaddwd %%ymm13, %%ymm14, %%ymm14\n\t"      \
  "vpaddd %%ymm15, %%ymm" #sum0 ", %%ymm" #sum0 \
  "\n\t"                                        \
  "vpaddd %%ymm14, %%ymm" #sum1 ", %%ymm" #sum1 "\n\t"
#define DEEPGAP_STORE(index, sum0, sum1) \
  "vmovdqu %%ymm" #sum0 ", " #index      \
  "*64(%%rax)\n\t"                       \
  "vmovdqu %%ymm" #sum1 ", " #index "*64+32(%%rax)\n\t"

#define DEEPGAP_TILE(start, load, multiply, store)                                                                                  \
  asm volatile("movq 80(%%rdi), %%rax\n\t" start load                                                                               \
               "movq 48(%%rdi), %%rsi\n\t"                                                                                          \
               "movq 56(%%rdi), %%rdx\n\t"                                                                                          \
               "movq 64(%%rdi), %%rcx\n"                                                                                            \
               "1:\n\t"                                                                                                             \
               "movq (%%rdx), %%rax\n\t"                                                                                            \
               "addq $8, %%rdx\n\t"                                                                                                 \
               "movq 72(%%rdi), %%r14\n\t"                                                                                          \
               ".p2align 5\n"                                                                                                       \
               "2:\n\t"                                                                                                             \
               "vmovdqa (%%rsi), %%ymm12\n\t"                                                                                       \
               "vmovdqa 32(%%rsi), %%ymm13\n\t" multiply                                                                            \
               "addq $64, %%rsi\n\t"                                                                                                \
               "addq $4, %%rax\n\t"                                                                                                 \
               "decq %%r14\n\t"                                                                                                     \
               "jnz 2b\n\t"                                                                                                         \
               "decq %%rcx\n\t"                                                                                                     \
               "jnz 1b\n\t"                                                                                                         \
               "movq 88(%%rdi), %%rax\n\t" store "vzeroupper\n\t"                                                                   \
               :                                                                                                                    \
               : "D"(&tile)                                                                                                         \
               : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "memory", "cc", "xmm0", "xmm1", "xmm2", \
                 "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")

#define DEEPGAP_START_1 DEEPGAP_START(0, 0, 1)
#define DEEPGAP_START_2 DEEPGAP_START_1 DEEPGAP_START(1, 2, 3)
#define DEEPGAP_START_3 DEEPGAP_START_2 DEEPGAP_START(2, 4, 5)
#define DEEPGAP_START_4 DEEPGAP_START_3 DEEPGAP_START(3, 6, 7)
#define DEEPGAP_START_5 DEEPGAP_START_4 DEEPGAP_START(4, 8, 9)
#define DEEPGAP_START_6 DEEPGAP_START_5 DEEPGAP_START(5, 10, 11)
#define DEEPGAP_LOAD_1 DEEPGAP_LOAD_ROW(0, r8)
#define DEEPGAP_LOAD_2 DEEPGAP_LOAD_1 DEEPGAP_LOAD_ROW(1, r9)
#define DEEPGAP_LOAD_3 DEEPGAP_LOAD_2 DEEPGAP_LOAD_ROW(2, r10)
#define DEEPGAP_LOAD_4 DEEPGAP_LOAD_3 DEEPGAP_LOAD_ROW(3, r11)
#define DEEPGAP_LOAD_5 DEEPGAP_LOAD_4 DEEPGAP_LOAD_ROW(4, r12)
#define DEEPGAP_LOAD_6 DEEPGAP_LOAD_5 DEEPGAP_LOAD_ROW(5, r13)
#define DEEPGAP_MULTIPLY_1 DEEPGAP_MULTIPLY(r8, 0, 1)
#define DEEPGAP_MULTIPLY_2 DEEPGAP_MULTIPLY_1 DEEPGAP_MULTIPLY(r9, 2, 3)
#define DEEPGAP_MULTIPLY_3 DEEPGAP_MULTIPLY_2 DEEPGAP_MULTIPLY(r10, 4, 5)
#define DEEPGAP_MULTIPLY_4 DEEPGAP_MULTIPLY_3 DEEPGAP_MULTIPLY(r11, 6, 7)
#define DEEPGAP_MULTIPLY_5 DEEPGAP_MULTIPLY_4 DEEPGAP_MULTIPLY(r12, 8, 9)
#define DEEPGAP_MULTIPLY_6 DEEPGAP_MULTIPLY_5 DEEPGAP_MULTIPLY(r13, 10, 11)
#define DEEPGAP_STORE_1 DEEPGAP_STORE(0, 0, 1)
#define DEEPGAP_STORE_2 DEEPGAP_STORE_1 DEEPGAP_STORE(1, 2, 3)
#define DEEPGAP_STORE_3 DEEPGAP_STORE_2 DEEPGAP_STORE(2, 4, 5)
#define DEEPGAP_STORE_4 DEEPGAP_STORE_3 DEEPGAP_STORE(3, 6, 7)
#define DEEPGAP_STORE_5 DEEPGAP_STORE_4 DEEPGAP_STORE(4, 8, 9)
#define DEEPGAP_STORE_6 DEEPGAP_STORE_5 DEEPGAP_STORE(5, 10, 11)

static_assert(sizeof(IntegerTile) == 96, "the assembler below reads the fields by their offsets");

[[gnu::noinline]] void multiply_tile(const IntegerTile& tile, int64_t rows) {
  switch (rows) {
    case 1:
      DEEPGAP_TILE(DEEPGAP_START_1, DEEPGAP_LOAD_1, DEEPGAP_MULTIPLY_1, DEEPGAP_STORE_1);
      return;
    case 2:
      DEEPGAP_TILE(DEEPGAP_START_2, DEEPGAP_LOAD_2, DEEPGAP_MULTIPLY_2, DEEPGAP_STORE_2);
      return;
    case 3:
      DEEPGAP_TILE(DEEPGAP_START_3, DEEPGAP_LOAD_3, DEEPGAP_MULTIPLY_3, DEEPGAP_STORE_3);
      return;
    case 4:
      DEEPGAP_TILE(DEEPGAP_START_4, DEEPGAP_LOAD_4, DEEPGAP_MULTIPLY_4, DEEPGAP_STORE_4);
      return;
    case 5:
      DEEPGAP_TILE(DEEPGAP_START_5, DEEPGAP_LOAD_5, DEEPGAP_MULTIPLY_5, DEEPGAP_STORE_5);
      return;
    default:
      DEEPGAP_TILE(DEEPGAP_START_6, DEEPGAP_LOAD_6, DEEPGAP_MULTIPLY_6, DEEPGAP_STORE_6);
  }
}

#else

bool has_integer_tiles() { return false; }
void multiply_tile(const IntegerTile&, int64_t) {}

#endif

}  // namespace deepgap
