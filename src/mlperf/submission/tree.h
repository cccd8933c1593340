// The folder tree that MLPerf's submission checker reads, for ResNet-50: logs, settings, the system's description.
// docs/how-to/run-mlperf.md shows it.
//
// What deepgap cannot know is said to be not known. Always the open division: weights, data and rules of the closed one are for people to
// vouch for. Without labels the tree says `synthetic` and claims no accuracy.
#pragma once

#include "mlperf/submission/runs.h"

#include <string>
#include <vector>

namespace deepgap {

struct MlperfTree {
  std::string folder;  // must not exist yet, or be empty
  std::string submitter = "unnamed";
};

// Returns what the closed division would want besides. Throws Error{input} where runs or their logs are missing or something cannot be
// written, Error{usage} for another model.
std::vector<std::string> write_mlperf_tree(const MlperfRuns& runs, const MlperfTree& tree);

}  // namespace deepgap
