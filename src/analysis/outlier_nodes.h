// Nodes of a fleet that are not what others of their kind are, in words: what `fleet status` and the finding of the same name say.
// Pure functions.
#pragma once

#include "stats/outlier_nodes.h"

#include <string>
#include <vector>

namespace deepgap {

// One throughput of one Point on one node.
struct NodeReading {
  std::string point_id, node;
  double throughput = 0;
};

struct SlowNode {
  std::string node;
  NodeSpeed speed;
};

// Finds slow nodes among nodes that should be equal. Only what more than one of them has measured counts (stats/outlier_nodes.h).
std::vector<SlowNode> slow_nodes(const std::vector<NodeReading>& readings);

// "outlier node: 7.1 % slower (6.2 to 8.0) than the 15 others of its kind, by 4 runs of what others measured too"
std::string words_of(const SlowNode& slow);

}  // namespace deepgap
