// The profile of one step of a training, which no engine times layer by layer: its time, and on a GPU its kernels and what the hardware
// counted. In a child process of its own, after everything that is timed.
#pragma once

#include "worker/point_options.h"
#include "worker/profile_layers.h"

#include <deepgap/point.h>

namespace deepgap {

// `request` names engine, model and samples; a step is of the Point's batch and settings, from the same weights wherever it is looked at.
// On a GPU a second Session without CUDA graphs is loaded where the engine can, since a graph's kernels are counted as one. The profile has
// no layers. Throws as profile_layers().
LayerProfile profile_step(const Point& point, const PointOptions& options, const ProfileRequest& request);

}  // namespace deepgap
