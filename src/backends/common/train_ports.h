// The inputs of a training step and what its loss depends on, the same for every engine that trains.
#pragma once

#include "backends/common/port.h"

#include <deepgap/graph.h>
#include <deepgap/train.h>

#include <string>
#include <vector>

namespace deepgap {

// The Graph's inputs, and the target behind them (deepgap/train.h). Throws Error{refused}, beginning with the engine's name, for an output
// that has no such loss: cross_entropy wants [N, classes], mse one that the batch gives its size.
std::vector<Port> train_ports(const std::string& engine, const Graph& graph, const TrainSettings& settings);

// The Graph up to its first output, of which the loss is. Where a network answers probabilities, cross_entropy is of the scores before its
// Softmax.
Graph ending_with_scores(const Graph& graph, Loss loss);

}  // namespace deepgap
