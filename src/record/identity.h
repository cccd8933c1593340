// Identity: what a result belongs to: the network, the samples, the device that it was measured on, and the machine around it, as Point and
// Record themselves say. The same Point on the same device, twice, is a repeat; on another device it is another result. Whoever groups,
// caches, draws or compares does it by these types, so that the rule stands in one place. Pure functions; any thread.
#pragma once

#include <deepgap/point.h>
#include <deepgap/record.h>

#include <cstddef>
#include <map>
#include <string>

namespace deepgap {

// Identifies a network with its weights. Points with equal keys have one reference, and in one process one loaded Model. A file is known by
// its content once that was read, whatever its path.
struct ModelKey {
  std::string model, model_hash, weights;  // model: empty if there is a hash
  std::string seed, shape;                 // as the Point's options say
  std::string reference;                   // for a server's Model: the file that stands for it
  std::string server;                      // that has it; empty: it is here, or not looked at
  std::string sized_by;                    // the Dataset whose samples give open inputs their sizes; empty: none, or not looked at
  auto operator<=>(const ModelKey&) const = default;
};
ModelKey model_key(const Point& point);

// Identifies the samples and their labels. Files are known by their content once the inspection has read it, whatever their path.
struct DatasetKey {
  std::string dataset, dataset_hash, seed, samples, labels, label_offset;  // dataset, labels: empty if there is a hash
  size_t least = 0;  // samples that an MLPerf run wants; 0: it is none, or not looked at
  auto operator<=>(const DatasetKey&) const = default;
};
DatasetKey dataset_key(const Point& point);

// A chart shows one workload; the other settings distinguish its lines.
struct WorkloadKey {
  std::string model;
  Task task = Task::infer;
  std::string model_hash, weights, dataset, dataset_hash;  // model, dataset: empty if there is a hash
  auto operator<=>(const WorkloadKey&) const = default;
};
WorkloadKey workload_key(const Point& point);

// Decides whether a reference, and the QDQ form of the Model, can be made at all.
struct ReferenceSubject {
  ModelKey model;
  DatasetKey dataset;
  std::string backend;  // that is to be compared with it
  bool int8 = false;    // the Model may have to be quantized
  std::map<std::string, std::string> quantize;
  Task task = Task::infer;
  auto operator<=>(const ReferenceSubject&) const = default;
};
ReferenceSubject reference_subject(const Point& point);

struct Identity {
  ModelKey model;
  DatasetKey dataset;
  // "NVIDIA H200"; with several each model once: "NVIDIA A100-SXM4-40GB + NVIDIA H200". A CPU with how much of it was there to be used:
  // "AMD EPYC 9654 96-Core Processor, 16 CPUs". Empty: not known, as in a Record that failed before anybody asked.
  std::string device;
  // "2 x AMD EPYC 9654 96-Core Processor, 192 cores, 1511 GiB". It is shown but not compared: hosts of one kind differ in it by chance.
  std::string machine;
  std::string host;  // its name, which is not in an anonymous Record; neither compared

  bool operator==(const Identity&) const = default;
};

Identity identity_of(const Record& record);
// Reads the identity from the facts of a worker's environment; the Point's placement says which of the devices in it are meant.
Identity identity_of(const Point& point, const Facts& environment);

// Returns the machine, one of several of a kind, that a Record was measured on: its name in a fleet, else its host's, else the one that it
// has in an anonymous Store. Empty: not known.
std::string node_of(const Record& record);

inline constexpr const char* fleet_node_fact = "fleet.node";
inline constexpr const char* host_alias_fact = "host.alias";

// Identifies one result: repeats of it are combined, and it is compared with others.
struct PointOnDevice {
  Point point;
  std::string device;  // Identity::device
  auto operator<=>(const PointOnDevice&) const = default;
};

// Returns the name without what is the same in most names: "H200", "EPYC 9654 96-Core, 16 CPUs". For labels.
std::string short_device_name(std::string device);

}  // namespace deepgap
