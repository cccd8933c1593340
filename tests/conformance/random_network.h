// Whole networks made at random of what engines fuse.
#pragma once

#include "graph_builder.h"

namespace deepgap::conformance {

// Convolutions with and without groups, batch norms, activations, residuals, joins and pools, one or two outputs of them and a pooled one.
Graph random_network(Random& random);

}  // namespace deepgap::conformance
