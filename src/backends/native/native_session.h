// One loaded model of the native backend. With one stream everything runs on the calling thread and its OpenMP team, inside enqueue();
// with several each stream is a thread with a team of its own.
#pragma once

#include "backends/native/native_options.h"

#include <deepgap/backend.h>

#include <memory>

namespace deepgap {

// Throws Error{refused} naming operator and node, or the option or batch size that does not fit.
std::unique_ptr<Session> make_native_session(const Model& model, const LoadOptions& options, const NativeOptions& native);

}  // namespace deepgap
