#include "kernels/trace_json.h"

#include "base/json_words.h"
#include "kernels/families.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace deepgap {

using nlohmann::json;

namespace {

json kernel_json(const Kernel& k) {
  json row = launch_json(k);
  row.update({{"layer", k.layer}, {"begin_ns", k.begin}, {"end_ns", k.end}, {"correlation", k.correlation}, {"graph_node", k.graph_node}});
  return row;
}

Kernel kernel_from(const json& row) {
  Kernel k;
  row.at("name").get_to(k.name);
  row.at("family").get_to(k.family);
  row.at("layer").get_to(k.layer);
  row.at("begin_ns").get_to(k.begin);
  row.at("end_ns").get_to(k.end);
  row.at("grid").get_to(k.grid);
  row.at("block").get_to(k.block);
  row.at("registers").get_to(k.registers);
  row.at("shared_bytes").get_to(k.shared_bytes);
  row.at("local_bytes").get_to(k.local_bytes);
  row.at("stream").get_to(k.stream);
  row.at("correlation").get_to(k.correlation);
  row.at("graph_node").get_to(k.graph_node);
  return k;
}

// They lead into the trace's own layers, whoever wrote the file.
template <typename Traced>
void check_layers(const std::vector<Traced>& traced, size_t layers) {
  for (const Traced& one : traced)
    if (one.layer < -1 || (one.layer >= 0 && static_cast<size_t>(one.layer) >= layers))
      throw Error(ErrorKind::input, fmt::format("not a trace: it has {} layers and an entry for layer {}", layers, one.layer));
}

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

json launch_json(const Kernel& k) {
  return {{"name", k.name},
          {"family", k.family},
          {"grid", k.grid},
          {"block", k.block},
          {"registers", k.registers},
          {"shared_bytes", k.shared_bytes},
          {"local_bytes", k.local_bytes},
          {"stream", k.stream}};
}

json trace_to_json(const Trace& trace) {
  json object{{"layers", json::array()}, {"kernels", json::array()}, {"copies", json::array()}, {"calls", json::array()}};
  object["dropped"] = trace.dropped;
  for (const TracedLayer& layer : trace.layers) object["layers"].push_back({{"name", layer.name}, {"op", layer.op}});
  for (const Kernel& kernel : trace.kernels) object["kernels"].push_back(kernel_json(kernel));
  for (const DeviceCopy& copy : trace.copies)
    object["copies"].push_back({{"what", copy.what},
                                {"layer", copy.layer},
                                {"begin_ns", copy.begin},
                                {"end_ns", copy.end},
                                {"bytes", copy.bytes},
                                {"stream", copy.stream},
                                {"correlation", copy.correlation},
                                {"graph_node", copy.graph_node}});
  for (const HostCall& call : trace.calls)
    object["calls"].push_back(
        {{"name", call.name}, {"begin_ns", call.begin}, {"end_ns", call.end}, {"correlation", call.correlation}, {"thread", call.thread}});
  return object;
}

Trace trace_from_json(const json& object) {
  try {
    Trace trace;
    object.at("dropped").get_to(trace.dropped);
    for (const json& row : object.at("layers")) trace.layers.push_back({row.at("name"), row.at("op")});
    for (const json& row : object.at("kernels")) trace.kernels.push_back(kernel_from(row));
    for (const json& row : object.at("copies"))
      trace.copies.push_back({row.at("what"), row.at("layer"), row.at("begin_ns"), row.at("end_ns"), row.at("bytes"), row.at("stream"),
                              row.at("correlation"), row.at("graph_node")});
    for (const json& row : object.at("calls"))
      trace.calls.push_back({row.at("name"), row.at("begin_ns"), row.at("end_ns"), row.at("correlation"), row.at("thread")});
    check_layers(trace.kernels, trace.layers.size());
    check_layers(trace.copies, trace.layers.size());
    return trace;
  } catch (const json::exception& error) {
    throw Error(ErrorKind::input, fmt::format("not a trace: {}", json_words(error)));
  }
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
