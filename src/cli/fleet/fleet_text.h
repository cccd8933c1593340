// The output of `deepgap fleet`, for people and as JSON. Pure functions.
#pragma once

#include "analysis/cost/prices.h"
#include "fleet/gather.h"
#include "fleet/plan_fleet.h"

#include <string>
#include <vector>

namespace deepgap {

// "12 of 40 tasks done, 16 run, 12 wait; 480 records".
std::string status_line(const Fleet& fleet, const FleetStatus& status);

std::string plan_text(const PlannedFleet& planned, const Prices& prices, size_t width);
std::string plan_json(const PlannedFleet& planned, const Prices& prices);
std::string status_text(const Fleet& fleet, const FleetStatus& status, const std::vector<std::string>& notes);
std::string status_json(const Fleet& fleet, const FleetStatus& status, const std::vector<std::string>& notes);
std::string gathered_text(const Fleet& fleet, const FleetStatus& status, const Gathered& gathered, const std::string& store);
std::string gathered_json(const Fleet& fleet, const FleetStatus& status, const Gathered& gathered, const std::string& store);

}  // namespace deepgap
