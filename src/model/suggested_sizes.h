// Sizes for a network that leaves some open, as an example that it takes: sizes of one input often follow from those of others.
#pragma once

#include <deepgap/graph.h>

#include <string>

namespace deepgap {

// A whole --shape flag for the inputs with open sizes, quoted where a shell asks for that. The sizes are those of a picture or a row where
// the network takes them, else ones that shape inference finds nothing wrong with.
std::string suggested_shape_flag(const Graph& graph);

}  // namespace deepgap
