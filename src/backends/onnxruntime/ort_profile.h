// Reads from the file of a profiled session what ONNX Runtime executes, node by node, and how long each takes.
#pragma once

#include "backends/onnxruntime/ort_network.h"

#include <deepgap/session.h>

#include <string>
#include <vector>

namespace deepgap {

struct OrtNodeRun {
  std::string name, op;
  std::string input_type;  // type of the first input: "float", "uint8"
  Nanoseconds ns = 0;
};

// The nodes of the file's last run, in order of execution. Throws Error{internal} for text that is not such a file.
std::vector<OrtNodeRun> parse_ort_profile(const std::string& json);

// Compiles the model once more, with profiling, and runs it on zeros at its largest batch. Not for a measured moment: it takes time and
// memory. Throws Error.
std::vector<OrtNodeRun> profile_ort_network(const Model& model, const LoadOptions& options, const OrtSettings& settings);

// Returns the shares by the types of what is multiplied.
PrecisionShares ort_precision_shares(const std::vector<OrtNodeRun>& nodes, const Model& model);

}  // namespace deepgap
