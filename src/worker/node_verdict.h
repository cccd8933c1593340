// How a network is judged whose outputs tell nothing of the engine (ZooModel::is_chaotic).
#pragma once

#include "worker/group.h"
#include "worker/point_options.h"

#include <deepgap/record.h>

#include <string>

namespace deepgap {

// A chaotic network of the zoo with seeded weights, whose outputs are apart by more than the precision allows.
bool is_judged_by_nodes(const Point& point);

struct NodeVerdict {
  CheckResult result;  // of the outputs, but for SQNR, verdict and what it is against: those are the worst node's
  std::string words;   // "node by node: the worst of 65 is features.3.add (Add) with 31.0 dB"
};
// Loads the engine once more, in this process, with every node alone on the reference's values; the group keeps what came of it. Seconds.
// Throws as check_nodes().
NodeVerdict judge_by_nodes(const Point& point, const DeviceId& device, const PointOptions& options, const std::string& cache_dir,
                           Group& group, const CheckResult& outputs);

}  // namespace deepgap
