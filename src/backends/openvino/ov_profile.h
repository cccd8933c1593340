// The times that OpenVINO takes of its layers, as deepgap's.
#pragma once

#include <deepgap/graph.h>
#include <deepgap/session.h>

#include <openvino/runtime/infer_request.hpp>

#include <vector>

namespace deepgap {

// Returns the times of the request's last run, whose model was compiled with profiling. Layers that were fused carry all their nodes'
// names, those that the library added its own names. Times are whole microseconds there.
std::vector<LayerTiming> ov_layer_timings(ov::InferRequest& request, const Graph& graph);

}  // namespace deepgap
