// The profile of one step of a training, which no engine times layer by layer: its time, and on a GPU its kernels and counters. There a
// second Session without CUDA graphs is loaded where the engine can, since a graph's kernels are counted as one.
#pragma once

#include "worker/point_options.h"
#include "worker/profile_layers.h"

namespace deepgap {

LayerProfile profile_step(const Point& point, const PointOptions& options, const ProfileRequest& request);

}  // namespace deepgap
