// A Session of LibTorch on a GPU whose queries are steps of training (deepgap/train.h). The caller's thread launches them on one stream;
// one thread of the session waits for events and delivers.
#pragma once

#include "backends/libtorch/torch_settings.h"

#include <deepgap/backend.h>

#include <memory>

namespace deepgap {

// Throws Error{refused | out_of_memory | device_lost}. The Model outlives the Session.
std::unique_ptr<Session> make_torch_cuda_train_session(const Model& model, const LoadOptions& options, const TorchSettings& settings);

}  // namespace deepgap
