// Sessions on XLA. On the CPU queries are answered one after the other on a thread of the session. On a GPU each slot has a thread, which
// waits for its query's copies and computing, so that one query is copied while another is computed.
#pragma once

#include "backends/xla/pjrt_client.h"

#include <deepgap/backend.h>

#include <memory>

namespace deepgap {

// Throws Error as Backend::load does. The library and the Model outlive the Session.
std::unique_ptr<Session> make_xla_session(const PjrtLibrary& library, const Model& model, const LoadOptions& options);
std::unique_ptr<Session> make_xla_cuda_session(const PjrtLibrary& library, const Model& model, const LoadOptions& options);

}  // namespace deepgap
