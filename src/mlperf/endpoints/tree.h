// The folder that MLPerf Endpoints' submission checker reads (section 8.1): a curve of token generation at several concurrencies.
// docs/how-to/run-mlperf.md shows it.
//
//   src/deepgap/README.md            how to measure it again
//   docs/                            how it was measured
//   results/SYSTEM/system_power.json only if the disclosure has a part `power`
//   results/SYSTEM/MODEL/rN/         one folder for each concurrency N: point.yaml, config.yaml, system_desc.json, result_summary.json
//
// The .yaml files are written as JSON, which YAML includes. deepgap scores no answers: accuracy_results.json is the author's to add.
#pragma once

#include "mlperf/endpoints/curve.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace deepgap {

// Returns what the submission lacks or a reader should know, a line each. `disclosure` comes from read_endpoints_disclosure(). Throws
// Error{input|usage}, before anything is written, where the records are not one curve, a point is outside the bands, or the folder is not
// empty.
std::vector<std::string> write_endpoints_tree(const EndpointsCurve& curve, const nlohmann::ordered_json& disclosure,
                                              const std::string& folder);

}  // namespace deepgap
