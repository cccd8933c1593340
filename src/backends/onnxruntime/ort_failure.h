// ONNX Runtime's failures in our words: one line, the kind of Error they are, and the operator and node where they name one.
#pragma once

#include "backends/onnxruntime/ort_library.h"

#include <deepgap/error.h>
#include <deepgap/graph.h>

#include <string>

namespace deepgap {

// Its message without the paths of its sources, on one line of at most about 300 characters.
std::string short_message(const std::string& message);
// Returns why a query failed.
Error run_error(const OrtFailure& failure);
// Returns why a model did not load.
Error load_error(const OrtFailure& failure, const Graph& graph);

}  // namespace deepgap
