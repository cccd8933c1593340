// The costs of Points: metrics that need Prices, which no Record has, so they are made when Stores are read. They are added to what a Point
// has: cost_per_hour, cost_per_1000_items, cost_per_1000_correct, cost_per_million_output_tokens, cost_per_million_input_tokens,
// cost_of_run, energy_cost_per_1000_items, co2_g_per_1000_items.
// Intervals come from throughput and power; a price is taken as exact. Pure functions; any thread.
//
//   by the hour  a rented device or machine: its price. A bought one: price / (years x 8766 h x utilisation) + power x PUE x price of a kWh
//   1000 items   by the hour / 3600 / throughput x 1000; 1000 right answers: that / top-1 accuracy
//   tokens       by the hour / 3600 / tokens a second x 1,000,000, of answers and of prompts. Each carries the whole cost, because a
//                server computes both at the same time and nobody knows which part of it each took
//   the run      by the hour x length of the measured window
#pragma once

#include "analysis/cost/prices.h"
#include "analysis/point_summary.h"

#include <map>
#include <string>
#include <vector>

namespace deepgap {

// The cost of having a Point's devices for an hour, and what is not known about it.
struct HourlyCost {
  std::optional<Estimate> value;
  std::string missing;  // one line for people: which name to add, which power is not known
};
HourlyCost cost_per_hour(const Prices& prices, const Point& point, const Identity& identity, const std::map<std::string, Estimate>& known);

// The costs as estimates, from the other estimates of a Record or a Point; empty where there is no price.
std::map<std::string, Estimate> costs_of(const Prices& prices, const Point& point, const Identity& identity,
                                         const std::map<std::string, Estimate>& known);

// The ids of those metrics.
std::vector<std::string> cost_metric_ids();

// Adds costs to each Point that has values, over those from a publisher. Returns what is missing, a line each, without repetition.
std::vector<std::string> add_costs(const Prices& prices, std::vector<PointSummary>& points);

}  // namespace deepgap
