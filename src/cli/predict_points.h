// From what `deepgap predict` is asked, and what was measured, to what src/analysis/predict works with: networks as numbers, devices as
// figures.
#pragma once

#include "analysis/predict/fit.h"
#include "ceilings/data_sheet.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace deepgap {

// Networks by name, opened once.
class Networks {
 public:
  // As open_model() throws.
  const NetworkNeeds& of(const std::string& model, const std::map<std::string, std::vector<int64_t>>& shapes = {});

 private:
  std::map<std::string, std::unique_ptr<NetworkNeeds>> known_;
};

// Devices by their data sheet, each once.
class Devices {
 public:
  // By the name that a driver tells; nullptr where no data sheet is known.
  const DeviceFigures* of_driver(const std::string& name);
  // What a user writes, "h100" or "L4", as the name of a data sheet; where several match, the first that something was measured on. Throws
  // Error{usage} listing what is known.
  const DataSheet& named(const std::string& name, const std::vector<MeasuredPoint>& measured) const;
  const DeviceFigures& figures(const DataSheet& sheet);

 private:
  std::map<std::string, std::unique_ptr<DeviceFigures>> known_;  // by the sheet's variant
};

// The packed Points of an engine and those of the Stores: batches of one GPU with a known data sheet, valid or not, right. Of a Point that
// both have, the Stores' counts. MeasuredPoint::device is the data sheet's variant.
std::vector<MeasuredPoint> measured_points(const std::string& engine, const std::vector<std::string>& stores, Networks& networks,
                                           Devices& devices);

}  // namespace deepgap
