// Probe: a telemetry source read beside the run, for the worker's whole life. One file each, by registrar.
#pragma once

#include <deepgap/clock.h>
#include <deepgap/record.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

class Probe {
 public:
  virtual ~Probe() = default;
  virtual std::string name() const = 0;
  // `root` stands for "/", so that tests play absent and broken sources. Returns why it is not available, or nullopt when it is.
  virtual std::optional<std::string> open(const std::string& root) = 0;
  // Appends one reading of every series. Cheap (tens of microseconds); called off the measured core.
  virtual void read(Nanoseconds now) = 0;
  virtual const std::vector<Series>& series() const = 0;
  virtual Nanoseconds period() const { return 100'000'000; }  // between readings
};

// All available probes and the thread that reads them. `edge()` reads all at once: call it where a window begins or ends.
class Telemetry {
 public:
  virtual ~Telemetry() = default;
  virtual void edge() = 0;
  virtual Facts availability() const = 0;  // "probe.proc" -> "available" or "not available: why"
  // Readings with begin <= time <= end.
  virtual std::vector<Series> series(Nanoseconds begin, Nanoseconds end) const = 0;
};
std::unique_ptr<Telemetry> start_telemetry(Clock& clock, const std::string& root = "/");

}  // namespace deepgap
