// In which precisions OpenVINO computes what it compiled.
#pragma once

#include <deepgap/model.h>
#include <deepgap/session.h>

#include <openvino/runtime/compiled_model.hpp>

namespace deepgap {

// Reads the runtime model: every layer that multiplies names its precision and the nodes of the file that it stands for, which are weighed
// by the Model's multiply-accumulates.
PrecisionShares ov_precision_shares(const ov::CompiledModel& compiled, const Model& model);

}  // namespace deepgap
