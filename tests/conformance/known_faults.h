// What engines of others are known to get wrong. A difference is forgiven only where one is named here, and then printed.
#pragma once

#include <deepgap/graph.h>

#include <string>

namespace deepgap::conformance {

// Why `backend` ends the process with this network, which is not tried then, or "".
std::string known_crash(const std::string& backend, const Graph& graph);
// Why `backend` may answer this network wrongly in `precision`, or refuse it without a node's name, or "".
std::string known_fault(const std::string& backend, const std::string& precision, const Graph& graph);

}  // namespace deepgap::conformance
