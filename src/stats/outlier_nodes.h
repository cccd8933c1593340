// Finds the nodes of one kind that are slower or faster than their kind, by things that more than one of them has measured.
//
// On logarithms: log(value of thing t on node n in a process) = what t is + what n is + noise. What each node is comes from an additive fit
// to the means of every thing on every node, so a node need not have measured all things. A node is an outlier where all of this holds:
//   - Its effect is too far from the others' (generalised extreme Studentized deviate test; Rosner, "Percentage points for a generalized
//     ESD many-outlier procedure", Technometrics 25, 1983; of fewer than eight nodes one at most, which is Grubbs' test, 1950). So nodes
//     that differ a little, as those of a kind do, are not named one after the other.
//   - It is further from the others than processes on one node scatter (Student's t, 5 % shared out among all nodes after Bonferroni). So a
//     node that happened to run few of them is not named for that.
//   - It still is without that run of its own which is furthest off: one run that something disturbed makes no slow node.
// Where no node ran a thing twice only the first is asked, of a node that ran once not the last.
// Equal nodes are named in at most 5 % of fleets, where the noise is normal; bench/coverage nodes shows what remains.
// Numbers in, numbers out; thread-safe.
#pragma once

#include "stats/interval.h"

#include <cstdint>
#include <span>
#include <vector>

namespace deepgap {

inline constexpr size_t fewest_nodes = 3;

struct NodeValue {
  uint32_t thing = 0, node = 0;
  double value = 0;  // above 0; larger is faster
};

struct NodeSpeed {
  uint32_t node = 0;
  double ratio = 1;            // its speed over the mean of those that are no outliers
  Interval interval = {1, 1};  // interval for the ratio, by how those differ
  int64_t values = 0;          // that it is known by
  bool is_outlier = false;
  int64_t others = 0;  // nodes that are no outliers, itself among them where it is none
};

// Compares nodes that have measured a thing which another one measured too. Nodes that nothing links are not compared: each part that is
// linked by things stands for itself, where it has `fewest_nodes`, and the error rate is shared out among the parts.
std::vector<NodeSpeed> compare_nodes(std::span<const NodeValue> values, double error_rate = 1 - default_confidence);

}  // namespace deepgap
