// A Session of LibTorch on the CPU whose queries are steps of training (deepgap/train.h), run one after the other by one thread.
#pragma once

#include "backends/libtorch/torch_settings.h"

#include <deepgap/backend.h>

#include <memory>

namespace deepgap {

// Throws Error{refused | out_of_memory}. The Model outlives the Session.
std::unique_ptr<Session> make_torch_cpu_train_session(const Model& model, const LoadOptions& options, const TorchSettings& settings);

}  // namespace deepgap
