#include "engine/gpu/hopper_text.h"

#include "engine/gpu/kernel_text.h"

#include <fmt/format.h>

namespace deepgap::gpu {
namespace {

constexpr std::string_view prelude = R"(
typedef unsigned long long u64;
struct alignas(64) Map { u64 opaque[16]; };

__device__ __forceinline__ void make_barrier(unsigned barrier, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
// What was made is seen by the copy engine.
__device__ __forceinline__ void barriers_made() {
  asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async;" ::: "memory");
}
// One arrival, and so many bytes that copies will bring.
__device__ __forceinline__ void expect_bytes(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ bool passed(unsigned barrier, unsigned parity) {
  unsigned done;
  asm volatile("{ .reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p; }"
               : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
  return done != 0;
}
// Until the phase of that parity has ended.
__device__ __forceinline__ void wait_for(unsigned barrier, unsigned parity) {
#ifdef MOST_WAITS
  for (unsigned tries = 0; !passed(barrier, parity); tries++)
    if (tries > MOST_WAITS) asm volatile("trap;");
#else
  while (!passed(barrier, parity)) {}
#endif
}
// Of so many threads, by their number 1 to 15.
__device__ __forceinline__ void meet(int number, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

__device__ __forceinline__ void copy_rows(unsigned to, const Map& map, unsigned barrier, int column, int row) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
               ::"r"(to), "l"(&map), "r"(barrier), "r"(column), "r"(row) : "memory");
}
// A box of four dimensions, innermost first; what lies outside of the tensor comes as zeros.
__device__ __forceinline__ void copy_box(unsigned to, const Map& map, unsigned barrier, int first, int second, int third, int fourth) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
               ::"r"(to), "l"(&map), "r"(barrier), "r"(first), "r"(second), "r"(third), "r"(fourth) : "memory");
}
// Pixels from (x, y, image) on, in reading order within the map's corners, each moved by (right, down).
__device__ __forceinline__ void copy_pixels(unsigned to, const Map& map, unsigned barrier, int channel, int x, int y, int image, int right, int down) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};"
               ::"r"(to), "l"(&map), "r"(barrier), "r"(channel), "r"(x), "r"(y), "r"(image), "h"((unsigned short)right), "h"((unsigned short)down)
               : "memory");
}
__device__ __forceinline__ void copy_bytes(unsigned to, const void* from, unsigned bytes, unsigned barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               ::"r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}
// What a copy brought, at `address` in shared memory.
__device__ __forceinline__ void load_copied(unsigned address, unsigned (&words)[4]) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]) : "r"(address) : "memory");
}
__device__ __forceinline__ unsigned load_copied(unsigned address) {
  unsigned word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
  return word;
}
__device__ __forceinline__ void load_copied(unsigned address, unsigned (&words)[2]) {
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(words[0]), "=r"(words[1]) : "r"(address) : "memory");
}
// N bytes (4, 8 or 16), on their way until wait_for_copies.
template <int N> __device__ __forceinline__ void copy_piece(unsigned to, const void* from) {
  if (N == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(N) : "memory");
}
__device__ __forceinline__ void store_word(unsigned address, unsigned word) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}
// Of two sums; what is not a number is larger than any.
__device__ __forceinline__ int larger(int a, int b) { return max(a, b); }
__device__ __forceinline__ float larger(float a, float b) {
  asm("max.NaN.f32 %0, %0, %1;" : "+f"(a) : "f"(b));
  return a;
}
// Rows of row_bytes (32, 64, 128) in groups of eight, permuted as the copy engine writes them: by the bits of the address itself, so that
// `address` may be that of any row.
template <int row_bytes> __device__ __forceinline__ u64 rows_at(unsigned address) {
  const u64 permutation = row_bytes == 128 ? 1 : row_bytes == 64 ? 2 : 3;
  return (u64)((address & 0x3ffff) >> 4) | 1ull << 16 | (u64)(row_bytes * 8 / 16) << 32 | permutation << 62;
}
__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> __device__ __forceinline__ void wait_for_products() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }
__device__ __forceinline__ void keep(int& sum) { asm volatile("" : "+r"(sum)::"memory"); }
__device__ __forceinline__ void keep(float& sum) { asm volatile("" : "+f"(sum)::"memory"); }
)";

// "k32.s32.s8.s8"
std::string types_text(const Convolution& problem) {
  switch (problem.compute) {
    case ComputeType::i8:
      return problem.source == Element::u8 ? "k32.s32.u8.s8" : "k32.s32.s8.s8";
    case ComputeType::f16:
      return "k16.f32.f16.f16";
    case ComputeType::bf16:
      return "k16.f32.bf16.bf16";
    case ComputeType::f8:
      return "k32.f32.e4m3.e4m3";
    default:
      return "k8.f32.tf32.tf32";
  }
}

// The first factor in shared memory, or in registers; then the second may lie as [k][columns] ("turned"), of 16 bits.
enum class First { shared, registers, registers_by_turned };
std::string_view name_of(First first) {
  return first == First::shared ? "product" : first == First::registers ? "product_of_registers" : "product_with_turned";
}

std::string one_product(const Convolution& problem, int columns, First kind) {
  const bool from_registers = kind != First::shared;
  const int sums = columns / 2, first = sums + (from_registers ? 4 : 1);  // first: the operand number of b's rows
  std::string list, outputs;
  for (int i = 0; i < sums; i++) {
    list += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
    outputs += fmt::format("{}\"+{}\"(d[{}])", i == 0 ? "" : ", ", problem.compute == ComputeType::i8 ? "r" : "f", i);
  }
  const bool half = problem.compute == ComputeType::f16 || problem.compute == ComputeType::bf16;
  const std::string signs = problem.compute == ComputeType::i8 ? ""
                            : half                             ? kind == First::registers_by_turned ? ", 1, 1, 1"
                                                                 : from_registers                   ? ", 1, 1, 0"
                                                                                                    : ", 1, 1, 0, 0"
                                                               : ", 1, 1";
  const std::string a =
      from_registers ? fmt::format("{{%{}, %{}, %{}, %{}}}", sums, sums + 1, sums + 2, sums + 3) : fmt::format("%{}", sums);
  return fmt::format(
      "__device__ __forceinline__ void {}(Sum (&d)[{}], {}, u64 b, int add) {{\n"
      "  asm volatile(\"{{ .reg .pred p;\\nsetp.ne.b32 p, %{}, 0;\\nwgmma.mma_async.sync.aligned.m64n{}{} {{{}}}, {}, %{}, p{}; }}\"\n"
      "    : {} : {}, \"l\"(b), \"r\"(add));\n}}\n",
      name_of(kind), sums, from_registers ? "const unsigned (&a)[4]" : "u64 a", first + 1, columns, types_text(problem), list, a, first,
      signs, outputs, from_registers ? "\"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3])" : "\"l\"(a)");
}

}  // namespace

std::string_view hopper_prelude() { return prelude; }

std::string product_text(const Convolution& problem, int columns) {
  return one_product(problem, columns, First::shared) + one_product(problem, columns, First::registers);
}

std::string turned_product_text(const Convolution& problem, int columns) {
  return one_product(problem, columns, First::registers_by_turned);
}

bool takes_columns(ComputeType compute, int columns) {
  if (columns < 8 || columns > 256) return false;
  return columns % (compute == ComputeType::i8 && columns > 32 ? 16 : 8) == 0;
}

int products_of(ComputeType compute, int columns, int registers) {
  constexpr int besides = 32;  // addresses and the like
  int products = 1;
  while (columns / products / 2 + besides > registers && columns % (2 * products) == 0 && takes_columns(compute, columns / products / 2))
    products *= 2;
  return products;
}

size_t permuted(size_t offset, int row_bytes) {
  const size_t mask = row_bytes == 128 ? 7 : row_bytes == 64 ? 3 : 1;
  return offset ^ ((offset >> 7 & mask) << 4);
}

}  // namespace deepgap::gpu
