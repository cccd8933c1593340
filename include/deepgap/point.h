// Point: one thing to measure, and Placement: where. Plain data; canonical JSON and point_id are in src/record/point_json.h.
#pragma once

#include <deepgap/precision.h>
#include <deepgap/task.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace deepgap {

struct DeviceId {
  std::string host;          // empty: this machine; of a server what follows "://" in its URL
  std::string kind = "cpu";  // cpu, cuda; of a server its URL's scheme: http, https, grpc, grpcs
  int index = 0;

  auto operator<=>(const DeviceId&) const = default;
};

// Returns whether it is a server, which is reached by a network protocol and has Models of its own.
inline bool is_remote(const DeviceId& device) {
  return device.kind == "http" || device.kind == "https" || device.kind == "grpc" || device.kind == "grpcs";
}

struct Placement {
  int processes = 1;
  std::vector<DeviceId> devices{DeviceId{}};

  auto operator<=>(const Placement&) const = default;
};
inline bool is_remote(const Placement& placement) {
  return std::any_of(placement.devices.begin(), placement.devices.end(), [](const DeviceId& device) { return is_remote(device); });
}

// `options` holds everything that has no field: scenario, backend and dataset options, and any axis of a Study. Keys are
// `snake_case`, values as written. Its content is part of what is measured, so it is part of point_id.
struct Point {
  Task task = Task::infer;
  std::string model;               // zoo name or path of an ONNX file
  std::string model_hash;          // content hash where `model` is a file, so that a changed file is another Point; else empty
  std::string weights = "seeded";  // seeded, a named set of the zoo ("imagenet"), onnx (a file's own), or a safetensors path
  std::string dataset = "seeded";  // seeded, pictures, or a path
  std::string backend = "native";
  Placement placement;
  Precision precision = Precision::fp32;
  int64_t batch = 1;  // samples a query
  std::string scenario = "batch";
  int threads = 0;  // engine threads; 0 was replaced by the number of allowed cores when the Plan was made
  std::map<std::string, std::string> options;

  auto operator<=>(const Point&) const = default;
};

}  // namespace deepgap
