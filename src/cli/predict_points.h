// Turns what `deepgap predict` is asked, and what was measured, into what src/analysis/predict works with: networks as numbers, devices as
// figures.
#pragma once

#include "analysis/predict/fit.h"
#include "analysis/predict/measured_rows.h"
#include "ceilings/ceilings.h"
#include "ceilings/data_sheet.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace deepgap {

// Networks by name, opened once.
class Networks {
 public:
  // Throws as open_model() does.
  const NetworkNeeds& of(const std::string& model, const std::map<std::string, std::vector<int64_t>>& shapes = {});
  // Returns the needs of a training step. `optimizer`: sgd, momentum, adam, adamw; throws Error{usage} for another.
  const NetworkNeeds& training(const std::string& model, const std::string& optimizer,
                               const std::map<std::string, std::vector<int64_t>>& shapes = {});

 private:
  std::map<std::string, std::unique_ptr<NetworkNeeds>> known_;
};

// Devices by their data sheet, each once.
class Devices {
 public:
  // Finds a device by the driver's name for it; nullptr where no data sheet is known.
  const DeviceFigures* of_driver(const std::string& name);
  // Finds the data sheet for what a user writes, "h100" or "L4"; if several match, the first that something was measured on. Throws
  // Error{usage} listing what is known.
  const DataSheet& named(const std::string& name, const std::vector<MeasuredPoint>& measured) const;
  const DeviceFigures& figures(const DataSheet& sheet);
  // A CPU by what was measured of it. The first of a name counts.
  const DeviceFigures& cpu(const std::string& name, const Ceilings& ceilings);
  const DeviceFigures* known_cpu(const std::string& name);  // from those, or from packed_cpus(); nullptr: unknown name
  // A CPU by the file that `deepgap ceilings --json` made there. Throws Error{input} for another file, Error{usage} for a GPU's.
  const DeviceFigures& cpu_of_file(const std::string& path);

 private:
  const DeviceFigures& kept(DeviceFigures figures);

  std::map<std::string, std::unique_ptr<DeviceFigures>> known_;  // by name: a sheet's variant, a CPU's
};

// Returns the packed Points of an engine and those of the Stores, valid or not, right: batches of one GPU with a known data sheet, steps of
// a training on one that run as a CUDA graph, batches of a CPU whose ceilings a profile in these Stores has. If both have a Point, the
// Stores' counts. MeasuredPoint::device is the data sheet's variant, or the CPU's name.
std::vector<MeasuredPoint> measured_points(MeasuredKind kind, const std::string& engine, const std::vector<std::string>& stores,
                                           Networks& networks, Devices& devices);

}  // namespace deepgap
