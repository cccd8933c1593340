// Which part of a Point is the load that its scenario offers, as a peak search chooses it. Pure functions.
#pragma once

#include <deepgap/point.h>

#include <optional>
#include <string>

namespace deepgap {

struct LoadAxis {
  std::string name;  // an axis: rate, batch, clients
  std::string unit;  // "queries a second"
};

// nullopt: a scenario without a load to choose.
std::optional<LoadAxis> load_axis(const std::string& scenario);

// The load that the Point offers; nullopt where it has none.
std::optional<double> load_of(const Point& point);
// The Point without its load: equal for those that differ in it alone.
Point without_load(Point point);

}  // namespace deepgap
