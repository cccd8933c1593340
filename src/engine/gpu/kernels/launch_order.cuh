// Programmatic dependent launch: what earlier launches wrote is there after the wait; the next launch may begin after the other.
// beside_previous.cpp defines the words for a kernel that computes beside the one before it, and for that one.
__device__ __forceinline__ void wait_until_previous_ended() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ __forceinline__ void launch_next() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
#if defined(WAITS_AT_ITS_END)
// The kernel before this one was let on when all before it had ended. Waiting keeps the order for the kernels after this one.
struct WaitAtEnd {
  __device__ __forceinline__ ~WaitAtEnd() { wait_until_previous_ended(); }
};
__device__ __forceinline__ void wait_for_previous() { __threadfence(); }
#define let_next_begin() \
  launch_next();         \
  const WaitAtEnd wait_at_end
#elif defined(NEXT_BEGINS_AFTER_WAIT)
__device__ __forceinline__ void wait_for_previous() {
  wait_until_previous_ended();
  launch_next();
}
__device__ __forceinline__ void let_next_begin() {}
#else
__device__ __forceinline__ void wait_for_previous() { wait_until_previous_ended(); }
__device__ __forceinline__ void let_next_begin() { launch_next(); }
#endif
