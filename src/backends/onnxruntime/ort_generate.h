// Task generate on ONNX Runtime: a decoder with past key values, a run for each sequence and step.
#pragma once

#include "backends/onnxruntime/ort_settings.h"

#include <deepgap/backend.h>

#include <memory>

namespace deepgap {

// Throws Error{refused | input | out_of_memory}.
std::unique_ptr<Session> make_ort_generate_session(const Model& model, const LoadOptions& options, const OrtSettings& settings);

}  // namespace deepgap
