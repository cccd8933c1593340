// A trace as JSON, between processes and for programs.
#pragma once

#include "kernels/trace.h"

#include <nlohmann/json_fwd.hpp>

namespace deepgap {

// Describes a kernel's launch, without its times and its place in the trace.
template <typename V>
void launch_fields(V& visit, Kernel& kernel) {
  visit("name", kernel.name);
  visit("family", kernel.family);
  visit("grid", kernel.grid);
  visit("block", kernel.block);
  visit("registers", kernel.registers);
  visit("shared_bytes", kernel.shared_bytes);
  visit("local_bytes", kernel.local_bytes);
  visit("stream", kernel.stream);
}

template <typename V>
void fields(V& visit, Kernel& kernel) {
  launch_fields(visit, kernel);
  visit("layer", kernel.layer);
  visit("begin_ns", kernel.begin);
  visit("end_ns", kernel.end);
  visit("correlation", kernel.correlation);
  visit("graph_node", kernel.graph_node);
}

template <typename V>
void fields(V& visit, TracedLayer& layer) {
  visit("name", layer.name);
  visit("op", layer.op);
}

template <typename V>
void fields(V& visit, DeviceCopy& copy) {
  visit("what", copy.what);
  visit("layer", copy.layer);
  visit("begin_ns", copy.begin);
  visit("end_ns", copy.end);
  visit("bytes", copy.bytes);
  visit("stream", copy.stream);
  visit("correlation", copy.correlation);
  visit("graph_node", copy.graph_node);
}

template <typename V>
void fields(V& visit, HostCall& call) {
  visit("name", call.name);
  visit("begin_ns", call.begin);
  visit("end_ns", call.end);
  visit("correlation", call.correlation);
  visit("thread", call.thread);
}

template <typename V>
void fields(V& visit, Trace& trace) {
  visit("dropped", trace.dropped);
  visit("layers", trace.layers);
  visit("kernels", trace.kernels);
  visit("copies", trace.copies);
  visit("calls", trace.calls);
}

nlohmann::json launch_json(const Kernel& kernel);
// Throws Error{input} for entries of layers that the trace does not have, whoever wrote the file.
void check_layers(const Trace& trace);

// Returns the format that Perfetto and chrome://tracing read: layers, kernels by stream, copies and host calls as tracks of one time axis.
nlohmann::json trace_events(const Trace& trace, const std::string& title);

}  // namespace deepgap
