// Judges a network whose outputs say nothing about the engine (ZooModel::is_chaotic).
#pragma once

#include "worker/group.h"
#include "worker/node_check.h"
#include "worker/point_options.h"

#include <deepgap/record.h>

#include <string>
#include <vector>

namespace deepgap {

// A chaotic network of the zoo with seeded weights, whose outputs are apart by more than the precision allows.
bool is_judged_by_nodes(const Point& point);

// "node features.0.0 (Conv), alone on the inputs of the native fp32 reference: SQNR 18.5 dB, int8 asks for 20 dB of every node", where at
// least one of the nodes is below what is asked.
std::string failed_nodes_words(const std::vector<NodeCheck>& nodes, const std::string& against, Precision precision, double asked_db);

struct NodeVerdict {
  CheckResult result;  // result for the outputs, but SQNR, verdict and what it is against are those of the worst node
  std::string words;   // "node by node: the worst of 65 is features.3.add (Add) with 31.0 dB"
  std::string wrong;   // which node misses what is asked of each, and by how much; empty: none does
};
// Loads the engine once more, in this process, with every node alone on the reference's values; the group keeps what came of it. Seconds.
// Throws as check_nodes().
NodeVerdict judge_by_nodes(const Point& point, const DeviceId& device, const PointOptions& options, const std::string& cache_dir,
                           Group& group, const CheckResult& outputs);

}  // namespace deepgap
