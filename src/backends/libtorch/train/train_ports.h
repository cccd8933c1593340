// What a step of training takes: the Graph's inputs, and the target behind them (deepgap/train.h).
#pragma once

#include "backends/common/port.h"

#include <deepgap/train.h>

#include <vector>

namespace deepgap {

// Throws Error{refused} for an output that has no such loss: cross_entropy wants [N, classes], mse one that the batch gives its size.
std::vector<Port> train_ports(const Graph& graph, const TrainSettings& settings);

}  // namespace deepgap
