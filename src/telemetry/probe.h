// Probe: a telemetry source read beside the run, for the worker's whole life. One file each, by registrar. docs/reference/environment.md
// lists the series.
#pragma once

#include "base/registry.h"

#include <deepgap/clock.h>
#include <deepgap/record.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct TelemetrySettings {
  static constexpr int slices = 5;          // slices of a period, for probes that see slices
  std::string root = "/";                   // stands for "/", so that tests play absent and broken sources
  std::vector<DeviceId> devices;            // devices that are measured; a probe of devices reads these alone
  Nanoseconds period = 100'000'000;         // between readings; longer where a probe would take more than 1 % of a core
  Nanoseconds slow_period = 1'000'000'000;  // period of read_slow(), or `period` if that is longer
};

// Called by one thread at a time (Telemetry's lock).
class Probe {
 public:
  virtual ~Probe() = default;
  virtual std::string name() const = 0;
  // Returns whether it is read in slices, several times a period: for what costs a few microseconds.
  virtual bool sees_slices() const { return false; }
  // Returns why it is not available, or nullopt when it is.
  virtual std::optional<std::string> open(const TelemetrySettings& settings) = 0;
  // Appends one reading of every series. Cheap (tens of microseconds); called off the measured core. What cannot be read this time is left
  // out of its series, never a zero.
  virtual void read(Nanoseconds now) = 0;
  // Does the same for series that cost milliseconds or hardly change: about once a second, by the thread alone, never at a window's edge.
  virtual void read_slow(Nanoseconds /*now*/) {}
  virtual const std::vector<Series>& series() const = 0;
  // Returns series that this machine does not offer, or no longer does, with the reason.
  virtual std::map<std::string, std::string> missing() const { return {}; }
  // Returns unchanging facts about the machine that the probe knows, for the Record's environment: "gpu.cuda0.name".
  virtual Facts environment() const { return {}; }
};

// All available probes and the threads that read them. `edge()` reads all at once: call it where a window begins or ends. The threads run
// on CPUs that are not measured on, where the process was given such: one at the lowest priority, and one at the ordinary priority for
// probes that see slices, since on a busy machine the lowest gets a CPU when a disturbance is over. All functions from any thread.
class Telemetry {
 public:
  virtual ~Telemetry() = default;
  virtual void edge() = 0;
  // "probe.proc" -> "available" or "not available: why"; "probe.proc.cpu_frequency" -> "not available: why" for a series that is missing;
  // "probe.proc.core_share" -> CPU time that reading it takes, of one core.
  virtual Facts availability() const = 0;
  virtual Facts environment() const = 0;  // facts from all probes
  // Returns whether a series "name" or "name.DOMAIN" is read.
  virtual bool reads(const std::string& name) const = 0;
  // Returns readings with begin <= time <= end. A series without one is left out.
  virtual std::vector<Series> series(Nanoseconds begin, Nanoseconds end) const = 0;
};
std::unique_ptr<Telemetry> start_telemetry(Clock& clock, const TelemetrySettings& settings = {});

}  // namespace deepgap
