// Kernels of one thread that write the GPU's time, in nanoseconds, to page-locked memory of the host. Text before this: launch_order.cuh.
__device__ __forceinline__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}
extern "C" __global__ void stamp_begin(volatile unsigned long long* to) {
  let_next_begin();
  *to = nanoseconds();
}
// Whoever reads the time from the host reads there what launches before this wrote, too.
extern "C" __global__ void stamp_end(volatile unsigned long long* to) {
  wait_for_previous();
  const unsigned long long now = nanoseconds();
  __threadfence_system();
  *to = now;
}
