// Node by node, how far an engine is from the FP32 reference: for `deepgap check --nodes`. In a child process only.
#pragma once

#include "worker/sample_outputs.h"

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct NodeCheck {
  std::string name, op;
  bool quantized = false;        // it reads levels; what stays in FP32 does not
  double sqnr_db = 0;            // over all samples; 300 when equal, -300 where something is not finite
  std::optional<double> quanta;  // the largest distance over all samples, where the file says what levels its values have
};

struct NodeChecks {
  std::string version;  // version of the engine
  int64_t samples = 0;
  std::vector<NodeCheck> nodes;  // in the order of the Graph as the engine gets it
};

// Every node alone on the reference's own inputs (pieces.h), on at most node_check_samples samples. Throws as compute_outputs does.
inline constexpr int64_t node_check_samples = 4;  // each brings thousands of values a node, and all are held in memory
NodeChecks check_nodes(const OutputsRequest& request);

}  // namespace deepgap
