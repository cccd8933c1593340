// OpenVINO's failures in our words: one line, the kind of Error they are, and the operator and node where they name one.
#pragma once

#include <deepgap/error.h>
#include <deepgap/graph.h>

#include <string>

namespace deepgap {

// Its message without the places in its sources, on one line of at most about 300 characters.
std::string ov_words(const std::string& message);
// Returns why a query failed.
Error ov_run_error(const std::string& message);
// Returns why a model did not load.
Error ov_load_error(const std::string& message, const Graph& graph);

}  // namespace deepgap
