// Probe: a telemetry source read beside the run, for the worker's whole life. One file each, by registrar. docs/environment.md lists the
// series.
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

// Called by one thread at a time (Telemetry's lock).
class Probe {
 public:
  virtual ~Probe() = default;
  virtual std::string name() const = 0;
  // `root` stands for "/", so that tests play absent and broken sources. Returns why it is not available, or nullopt when it is.
  virtual std::optional<std::string> open(const std::string& root) = 0;
  // Appends one reading of every series. Cheap (tens of microseconds); called off the measured core. What cannot be read this time is left
  // out of its series, never a zero.
  virtual void read(Nanoseconds now) = 0;
  virtual const std::vector<Series>& series() const = 0;
  // Series that this machine does not offer, or no longer does, with the reason.
  virtual std::map<std::string, std::string> missing() const { return {}; }
  virtual Nanoseconds period() const { return 100'000'000; }  // between readings
};

// All available probes and the thread that reads them. `edge()` reads all at once: call it where a window begins or ends. The thread runs
// at the lowest priority and on CPUs that are not measured on, where the process was given such. All functions from any thread.
class Telemetry {
 public:
  virtual ~Telemetry() = default;
  virtual void edge() = 0;
  // "probe.proc" -> "available" or "not available: why"; "probe.proc.cpu_frequency" -> "not available: why" for a series that is missing.
  virtual Facts availability() const = 0;
  // Readings with begin <= time <= end. A series without one is left out.
  virtual std::vector<Series> series(Nanoseconds begin, Nanoseconds end) const = 0;
};
std::unique_ptr<Telemetry> start_telemetry(Clock& clock, const std::string& root = "/");

}  // namespace deepgap
