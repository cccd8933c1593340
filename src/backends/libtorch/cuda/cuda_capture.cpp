#include "backends/libtorch/cuda/cuda_capture.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <exception>

namespace deepgap {

void capture(at::cuda::CUDAGraph& graph, at::cuda::MempoolId_t pool, const std::function<void()>& work) {
  // The capture covers this thread alone: another session's may query its events meanwhile.
  graph.capture_begin(pool, cudaStreamCaptureModeThreadLocal);
  try {
    work();
  } catch (...) {
    try {
      graph.capture_end();
    } catch (const std::exception&) {  // the exception that broke the capture is thrown
    }
    throw;
  }
  graph.capture_end();
}

void require_captured(bool replays, bool captured, int64_t batch) {
  if (replays && !captured)
    throw Error(ErrorKind::input, fmt::format("libtorch: {} samples, and no CUDA graph was captured for that many at load", batch));
}

}  // namespace deepgap
