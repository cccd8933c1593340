// Networks in INT8 for tests, by deepgap's own quantizer.
#pragma once

#include "rig.h"

#include <string>

namespace deepgap::conformance {

// Quantizes everything that can be, with ranges from these samples; activations "u8" or "s8".
Graph quantized(const Graph& graph, const Samples& samples, const std::string& activations);
bool is_quantized(const Graph& graph);

}  // namespace deepgap::conformance
