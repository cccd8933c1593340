// Task generate on OpenVINO: a decoder with past key values, a run for each sequence and step.
#pragma once

#include "backends/openvino/ov_settings.h"

#include <deepgap/backend.h>

#include <memory>

namespace deepgap {

// Throws Error{refused | input | out_of_memory}.
std::unique_ptr<Session> make_ov_generate_session(const Model& model, const LoadOptions& options, const OvSettings& settings);

}  // namespace deepgap
