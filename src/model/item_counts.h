// Counts what each node of a Graph costs for one item.
#pragma once

#include "model/graph_tools.h"

#include <optional>
#include <vector>

namespace deepgap {

// The counts stand beside the nodes; nullopt where sizes other than the batch are open.
std::optional<std::vector<NodeCount>> item_counts(const Graph& graph);

}  // namespace deepgap
