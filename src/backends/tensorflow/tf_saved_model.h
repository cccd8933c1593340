// A SavedModel of a user's own, as a Python program saved it: the model itself, or the same network as the Graph, run instead of it.
#pragma once

#include "backends/tensorflow/tf_network.h"

#include <deepgap/graph.h>

#include <memory>

namespace deepgap {

// Returns whether the model is a SavedModel itself, given as DIR (model/saved_model.h).
bool is_saved_model(const GraphSummary& graph);

// The model itself where it is a SavedModel, else settings.package, by its signature settings.signature. Inputs and outputs are found by
// the Graph's names, or are the only ones. Images are given with channels last where the signature says so. Throws Error{refused}. The
// Graph outlives the network.
std::unique_ptr<TfNetwork> open_saved_model(const Graph& graph, TfSettings settings);

}  // namespace deepgap
