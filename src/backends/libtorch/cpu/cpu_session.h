// A Session of LibTorch on the CPU: one thread of its own runs the queries in the order they came.
#pragma once

#include "backends/libtorch/torch_settings.h"

#include <deepgap/backend.h>

#include <memory>

namespace deepgap {

// Throws Error{refused | out_of_memory | input}. The Model outlives the Session.
std::unique_ptr<Session> make_torch_cpu_session(const Model& model, const LoadOptions& options, const TorchSettings& settings);

}  // namespace deepgap
