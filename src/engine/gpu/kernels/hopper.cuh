// Hopper's additions to the prelude: barriers, copies by TMA, and wgmma.
typedef unsigned long long u64;
struct alignas(64) Map {
  u64 opaque[16];
};

__device__ __forceinline__ void make_barrier(unsigned barrier, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
// Makes new barriers visible to TMA.
__device__ __forceinline__ void barriers_made() { asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async;" ::: "memory"); }
// Counts one arrival, and expects so many bytes that copies will bring.
__device__ __forceinline__ void expect_bytes(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ bool passed(unsigned barrier, unsigned parity) {
  unsigned done;
  asm volatile("{ .reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p; }"
               : "=r"(done)
               : "r"(barrier), "r"(parity)
               : "memory");
  return done != 0;
}
// Until the phase of that parity has ended.
__device__ __forceinline__ void wait_for(unsigned barrier, unsigned parity) {
#ifdef MOST_WAITS
  for (unsigned tries = 0; !passed(barrier, parity); tries++)
    if (tries > MOST_WAITS) asm volatile("trap;");
#else
  while (!passed(barrier, parity)) {
  }
#endif
}
// Waits until so many threads have met at the barrier of this number, 1 to 15.
__device__ __forceinline__ void meet(int number, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory"); }

__device__ __forceinline__ void copy_rows(unsigned to, const Map& map, unsigned barrier, int column, int row) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to),
               "l"(&map), "r"(barrier), "r"(column), "r"(row)
               : "memory");
}
// A box of four dimensions, innermost first; what lies outside of the tensor comes as zeros.
__device__ __forceinline__ void copy_box(unsigned to, const Map& map, unsigned barrier, int first, int second, int third, int fourth) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
               "l"(&map), "r"(barrier), "r"(first), "r"(second), "r"(third), "r"(fourth)
               : "memory");
}
// Pixels from (x, y, image) on, in reading order within the map's corners, each moved by (right, down).
__device__ __forceinline__ void copy_pixels(unsigned to, const Map& map, unsigned barrier, int channel, int x, int y, int image, int right,
                                            int down) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::
          "r"(to),
      "l"(&map), "r"(barrier), "r"(channel), "r"(x), "r"(y), "r"(image), "h"((unsigned short)right), "h"((unsigned short)down)
      : "memory");
}
__device__ __forceinline__ void copy_bytes(unsigned to, const void* from, unsigned bytes, unsigned barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from), "r"(bytes),
               "r"(barrier)
               : "memory");
}
// Loads what a copy brought, at `address` in shared memory.
__device__ __forceinline__ void load_copied(unsigned address, unsigned (&words)[4]) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
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
template <int N>
__device__ __forceinline__ void copy_piece(unsigned to, const void* from) {
  if (N == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(N) : "memory");
}
__device__ __forceinline__ void store_word(unsigned address, unsigned word) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}
// Returns the larger of two sums; NaN is larger than any number.
__device__ __forceinline__ int larger(int a, int b) { return max(a, b); }
__device__ __forceinline__ float larger(float a, float b) {
  asm("max.NaN.f32 %0, %0, %1;" : "+f"(a) : "f"(b));
  return a;
}
// Rows of row_bytes (32, 64, 128) in groups of eight, permuted as TMA writes them: by the bits of the address itself, so that
// `address` may be that of any row.
template <int row_bytes>
__device__ __forceinline__ u64 rows_at(unsigned address) {
  const u64 permutation = row_bytes == 128 ? 1 : row_bytes == 64 ? 2 : 3;
  return (u64)((address & 0x3ffff) >> 4) | 1ull << 16 | (u64)(row_bytes * 8 / 16) << 32 | permutation << 62;
}
__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N>
__device__ __forceinline__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
__device__ __forceinline__ void keep(int& sum) { asm volatile("" : "+r"(sum)::"memory"); }
__device__ __forceinline__ void keep(float& sum) { asm volatile("" : "+f"(sum)::"memory"); }
