// The CUDA runtime's calls, checked; and its events.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <utility>

namespace deepgap {

void check_cuda(cudaError_t result, const char* what);  // throws Error{device_lost | out_of_memory | refused}

// A moment in a stream.
class CudaEvent {
 public:
  CudaEvent() { check_cuda(cudaEventCreate(&event_), "making an event"); }
  ~CudaEvent() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  CudaEvent(CudaEvent&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  CudaEvent& operator=(CudaEvent&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  void record(cudaStream_t stream) { check_cuda(cudaEventRecord(event_, stream), "recording an event"); }
  void wait() const { check_cuda(cudaEventSynchronize(event_), "waiting for the GPU"); }
  bool passed() const {
    const cudaError_t state = cudaEventQuery(event_);
    if (state == cudaErrorNotReady) return false;
    check_cuda(state, "asking the GPU");
    return true;
  }
  // Nanoseconds from `begin` to here; both have passed.
  int64_t since(const CudaEvent& begin) const {
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, begin.event_, event_), "reading a time");
    return static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace deepgap
