// Layers of kernels that nobody announced: those of a CUDA graph's launch, or of a plain run. The same work was done once with layers
// announced (Session::run_layers), so the two sequences of kernels are laid side by side.
#pragma once

#include "kernels/trace.h"

namespace deepgap {

// Gives kernels and copies of `plain` the layers of those of `announced` that are the same (name, grid, block) in the same order; the
// longest common sequence counts. Sets plain.layers. Returns the share of the kernels' time that has a layer.
double assign_layers(const Trace& announced, Trace& plain);

}  // namespace deepgap
