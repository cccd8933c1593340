// A SavedModel of a user's own: the same network as the Graph, as a Python program saved it, run instead of the Graph.
#pragma once

#include "backends/tensorflow/tf_network.h"

#include <deepgap/graph.h>

#include <memory>

namespace deepgap {

// settings.package, by its signature settings.signature. Inputs and outputs are found by the Graph's names, or are the only ones. Images
// are given with channels last where the signature says so. Throws Error{refused}. The Graph outlives the network.
std::unique_ptr<TfNetwork> open_saved_model(const Graph& graph, const TfSettings& settings);

}  // namespace deepgap
