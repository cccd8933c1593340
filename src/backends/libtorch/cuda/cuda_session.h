// A Session of LibTorch on a GPU. Each slot has a stream, pinned buffers and events of its own; the caller's thread launches, and one
// thread of the session waits for events and delivers.
#pragma once

#include "backends/libtorch/torch_settings.h"

#include <deepgap/backend.h>

#include <memory>

namespace deepgap {

// Throws Error{refused | out_of_memory | device_lost}. The Model outlives the Session.
std::unique_ptr<Session> make_torch_cuda_session(const Model& model, const LoadOptions& options, const TorchSettings& settings);

}  // namespace deepgap
