// A Session on OpenVINO: a query is started in enqueue() and delivered on a thread of the library. Slots have fixed input and output
// buffers and an infer request for each batch size; where the output's size follows from the batch, a query allocates nothing on our side.
#pragma once

#include "backends/openvino/ov_settings.h"

#include <deepgap/backend.h>

#include <memory>

namespace deepgap {

// Throws Error as Backend::load does.
std::unique_ptr<Session> make_ov_session(const Model& model, const LoadOptions& options, const OvSettings& settings);

}  // namespace deepgap
