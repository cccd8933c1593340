// What the decoder's kernels need beyond the prelude. Text before this: kernel_prelude(), HALF. Tests on the host replace this file.
//
// 16 bytes that are read once: they do not push out of the first cache what is read often.
__device__ __forceinline__ void load_streamed(unsigned (&words)[4], const void* from) {
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "l"(from));
}
// Differences of two pairs of halves. As a product with one: BF16 has no subtraction before sm_90.
__device__ __forceinline__ unsigned less_pair(F16, unsigned a, unsigned b) {
  unsigned word;
  asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(word) : "r"(a), "r"(b));
  return word;
}
__device__ __forceinline__ unsigned less_pair(BF16, unsigned a, unsigned b) {
  unsigned word;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(word) : "r"(a), "r"(0x3f803f80u), "r"(b ^ 0x80008000u));
  return word;
}
// Counts arrivals: what was written before one's own is seen after it by who comes last.
__device__ __forceinline__ unsigned take_ticket(unsigned* counter) {
  __threadfence();
  unsigned ticket = atomicAdd(counter, 1u);
  __threadfence();
  return ticket;
}
extern __shared__ unsigned char shared_memory[];
