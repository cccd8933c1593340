// Identity: what a result is of, beyond the settings of its Point: the device that it was measured on, and the machine around it, as the
// Record itself tells. The same Point on the same device, twice, is a repeat; on another device it is another result. Whoever groups,
// draws or compares Records does it by these types, so that the rule stands in one place. Pure functions; any thread.
#pragma once

#include <deepgap/record.h>

#include <string>

namespace deepgap {

struct Identity {
  // "NVIDIA H200"; of several each model once: "NVIDIA A100-SXM4-40GB + NVIDIA H200". A CPU with how much of it was there to be used:
  // "AMD EPYC 9654 96-Core Processor, 16 CPUs". Empty: the Record does not tell, as one that failed before anybody asked.
  std::string device;
  // "2 x AMD EPYC 9654 96-Core Processor, 192 cores, 1511 GiB". It is told but not compared: hosts of one kind differ in it by chance.
  std::string machine;
  std::string host;  // its name, which is not in an anonymous Record; neither compared

  bool operator==(const Identity&) const = default;
};

Identity identity_of(const Record& record);
// The same from the facts of a worker's environment; `placement` says which of the devices in it are meant.
Identity identity_of(const Placement& placement, const Facts& environment);

// What is one result: repeats of it are combined, and it is compared with others.
struct PointOnDevice {
  Point point;
  std::string device;  // Identity::device
  auto operator<=>(const PointOnDevice&) const = default;
};

// Without what is the same in most names and tells nothing: "H200", "EPYC 9654 96-Core, 16 CPUs". For labels.
std::string short_device_name(std::string device);

}  // namespace deepgap
