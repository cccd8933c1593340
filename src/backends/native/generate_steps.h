// Which engine computes the steps of task generate: the CPU's or a GPU's.
#pragma once

#include "backends/native/native_options.h"
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_steps.h"

#include <deepgap/backend.h>

#include <memory>

namespace deepgap {

// The model outlives it. On the CPU within the caller's TeamScope.
std::unique_ptr<DecoderSteps> make_generate_steps(const DecoderModel& model, const LoadOptions& options, const NativeOptions& native);

}  // namespace deepgap
