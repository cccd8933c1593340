// The part of a Point that is the load which its scenario offers, as a peak search chooses it. Pure functions.
#pragma once

#include <deepgap/record.h>

#include <cstdint>
#include <optional>
#include <string>

namespace deepgap {

struct LoadAxis {
  std::string name;  // an axis: rate, batch, clients
  std::string unit;  // "queries a second"
};

// The traits of a scenario for modules that know it by name alone. Scenarios are linked into the program, and declare them before main().
struct ScenarioTraits {
  std::optional<LoadAxis> load_axis;  // nullopt: it has no load to choose
  bool draws_arrivals = false;        // its queries come at times drawn from a seed: two of one seed would be asked at the same times
  std::string unit = "query";         // unit of work that one Timing measures; a batch has neighbours in the Dataset's order
  bool takes_all = false;             // its next query waits for nothing but the one before: throughput is what there is to get
  bool one_by_one = false;            // ... and nobody else's: batch and throughput give how long each keeps the engine
  bool poisson = false;               // its queries are many users' who know nothing of each other, so many a second: a queue's arrivals
};
bool declare_scenario(const std::string& name, const ScenarioTraits& traits);
// Returns the traits; for an unknown scenario, those of a scenario without a load.
ScenarioTraits scenario_traits(const std::string& name);

// Returns nullopt for a scenario without a load to choose.
std::optional<LoadAxis> load_axis(const std::string& scenario);

// Returns the unit of one Timing of such a Point: "batch", "query", "step"; a Record says it itself (fact `unit`).
std::string unit_of_work(const Point& point);
std::string unit_of_work(const Record& record);
// "1 query", "12 batches"
std::string units_text(uint64_t count, const std::string& unit);

// The load that the Point offers; nullopt where it has none.
std::optional<double> load_of(const Point& point);
// The Point without its load: equal for those that differ in it alone.
Point without_load(Point point);

}  // namespace deepgap
