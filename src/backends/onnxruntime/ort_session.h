// A Session on ONNX Runtime: synchronous, the query is computed and delivered inside enqueue(). Slots have fixed input and output
// buffers; where the output's size follows from the batch, a query allocates nothing on our side.
#pragma once

#include "backends/onnxruntime/ort_settings.h"

#include <deepgap/backend.h>

#include <memory>

namespace deepgap {

// Throws Error as Backend::load does.
std::unique_ptr<Session> make_ort_session(const Model& model, const LoadOptions& options, const OrtSettings& settings);

}  // namespace deepgap
