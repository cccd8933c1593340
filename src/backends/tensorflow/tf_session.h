// A Session on TensorFlow: queries are answered one after the other on a thread of its own, since the library's call returns with the
// result. Inputs are read where the samples lie, or are gathered in the slot's buffers; outputs stay the library's until the slot is used
// again.
#pragma once

#include "backends/tensorflow/tf_settings.h"

#include <deepgap/backend.h>

#include <memory>

namespace deepgap {

// Throws Error as Backend::load does.
std::unique_ptr<Session> make_tf_session(const Model& model, const LoadOptions& options, const TfSettings& settings);

}  // namespace deepgap
