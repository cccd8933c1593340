// What a submission to MLPerf Endpoints states and no record knows: a JSON file of its author.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace deepgap {

// The parts of a disclosure, each an object that is merged into what deepgap knows (JSON Merge Patch, RFC 7396):
//   system   into system_desc.json
//   node     into the one entry of its node_types
//   point    into point.yaml
//   power    becomes system_power.json
// What was measured cannot be replaced. An empty path gives empty parts. Throws Error{input} naming the file and the key.
nlohmann::ordered_json read_endpoints_disclosure(const std::string& path);

}  // namespace deepgap
