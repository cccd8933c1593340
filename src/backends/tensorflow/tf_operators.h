// Lists the operators that the adapter translates.
#pragma once

#include <deepgap/graph.h>

#include <string>

namespace deepgap {

// Returns why a network is refused by its operators alone; empty if all are known. Shape arithmetic is folded, so more is taken than runs.
std::string tf_operator_refusal(const GraphSummary& graph);

}  // namespace deepgap
