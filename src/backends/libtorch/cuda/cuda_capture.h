// Captures work as LibTorch's CUDA graphs, for inference and for training.
#pragma once

#include <ATen/cuda/CUDAGraph.h>

#include <cstdint>
#include <functional>

namespace deepgap {

inline constexpr int runs_before_capture = 3;  // as PyTorch asks for: libraries allocate and choose in the first ones

// Records what `work` launches on the current stream; {0, 0}: with memory of its own. A capture that breaks is ended, and what broke it is
// thrown.
void capture(at::cuda::CUDAGraph& graph, at::cuda::MempoolId_t pool, const std::function<void()>& work);

// Throws Error{input} where replays are asked for and there is none of that batch.
void require_captured(bool replays, bool captured, int64_t batch);

}  // namespace deepgap
