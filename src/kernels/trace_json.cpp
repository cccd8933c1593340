#include "kernels/trace_json.h"

#include "base/json_fields.h"
#include "kernels/families.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace deepgap {

using nlohmann::json;

namespace {

constexpr int device_process = 1, host_process = 2, layer_track = 0, first_stream_track = 1;
constexpr double us = 1e-3;

json named(int process, int64_t track, const char* what, const std::string& name) {
  return {{"ph", "M"}, {"pid", process}, {"tid", track}, {"name", what}, {"args", {{"name", name}}}};
}

json span(int process, int64_t track, const std::string& name, Nanoseconds begin, Nanoseconds end, json arguments) {
  return {{"ph", "X"},
          {"pid", process},
          {"tid", track},
          {"name", name},
          {"ts", static_cast<double>(begin) * us},
          {"dur", static_cast<double>(end - begin) * us},
          {"args", std::move(arguments)}};
}

// From the first to the last of a layer's kernels, as long as no other layer's stands between.
void add_layers(const Trace& trace, json& events) {
  for (size_t i = 0; i < trace.kernels.size();) {
    const int layer = trace.kernels[i].layer;
    size_t j = i;
    Nanoseconds end = 0;
    for (; j < trace.kernels.size() && trace.kernels[j].layer == layer; ++j) end = std::max(end, trace.kernels[j].end);
    if (layer >= 0) {
      const TracedLayer& of = trace.layers[static_cast<size_t>(layer)];
      events.push_back(span(device_process, layer_track, of.name, trace.kernels[i].begin, end, {{"operator", of.op}}));
    }
    i = j;
  }
}

}  // namespace

json launch_json(const Kernel& kernel) {
  FieldWriter writer;
  launch_fields(writer, const_cast<Kernel&>(kernel));
  return std::move(writer).take();
}

void check_layers(const Trace& trace) {
  const auto layers = static_cast<int64_t>(trace.layers.size());
  const auto check = [&](const auto& traced) {
    for (const auto& one : traced)
      if (one.layer < -1 || one.layer >= layers)
        throw Error(ErrorKind::input, fmt::format("damaged trace: it has {} layers and an entry for layer {}", layers, one.layer));
  };
  check(trace.kernels);
  check(trace.copies);
}

json trace_events(const Trace& trace, const std::string& title) {
  json events = json::array();
  events.push_back(named(device_process, 0, "process_name", "device: " + title));
  events.push_back(named(host_process, 0, "process_name", "host"));
  events.push_back(named(device_process, layer_track, "thread_name", "layers"));
  std::map<int64_t, int64_t> tracks;
  const auto track_of = [&](int64_t stream) {
    const auto [found, is_new] = tracks.try_emplace(stream, first_stream_track + static_cast<int64_t>(tracks.size()));
    if (is_new) events.push_back(named(device_process, found->second, "thread_name", fmt::format("stream {}", stream)));
    return found->second;
  };
  add_layers(trace, events);
  for (const Kernel& k : trace.kernels) {
    json arguments{{"kernel", k.name},
                   {"family", k.family},
                   {"grid", fmt::format("{}x{}x{}", k.grid[0], k.grid[1], k.grid[2])},
                   {"block", fmt::format("{}x{}x{}", k.block[0], k.block[1], k.block[2])},
                   {"registers", k.registers},
                   {"shared bytes", k.shared_bytes}};
    if (k.layer >= 0) arguments["layer"] = trace.layers[static_cast<size_t>(k.layer)].name;
    events.push_back(span(device_process, track_of(k.stream), short_kernel_name(k.name), k.begin, k.end, std::move(arguments)));
  }
  for (const DeviceCopy& copy : trace.copies)
    events.push_back(span(device_process, track_of(copy.stream), copy.what, copy.begin, copy.end, {{"bytes", copy.bytes}}));
  for (const HostCall& call : trace.calls)
    events.push_back(span(host_process, call.thread, call.name, call.begin, call.end, json::object()));
  return {{"traceEvents", events}, {"displayTimeUnit", "ns"}};
}

}  // namespace deepgap
