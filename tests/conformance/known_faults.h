// What engines of others are known to get wrong. A difference is forgiven only where one is named here, and then printed.
#pragma once

#include <deepgap/graph.h>

#include <string>

namespace deepgap::conformance {

// Why `backend` may answer this network of one operator wrongly, or refuse it without a node's name, or "".
std::string known_fault(const std::string& backend, const Graph& graph);
// Why `backend` may answer this quantized network wrongly, or "".
std::string known_fault_in_int8(const std::string& backend, const Graph& graph);

}  // namespace deepgap::conformance
