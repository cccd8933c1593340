// Gathers what a fleet has measured so far into one Store, with notes on its nodes. May be called at any time, by anybody, as often as
// wanted: it reads what was handed in and keeps nothing.
#pragma once

#include "fleet/fleet.h"
#include "fleet/scheduler.h"
#include "store/merge_stores.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct Gathered {
  MergeReport merge;
  int64_t planned = 0, there = 0;  // (Point, repeat) pairs; there: in the Store, with an outcome that counts
  std::vector<std::string> notes;  // a line each: "n3: its clock is 12.0 s ahead of the shared disk's"
};
// Returns nullopt if interrupted. Throws as merge_stores.
std::optional<Gathered> gather_fleet(const Fleet& fleet, const std::string& store, const std::function<bool()>& interrupted);

// Returns notes on the nodes that attempts ran on, and on attempts that ended without a word. Pure function.
std::vector<std::string> node_notes(const Fleet& fleet, const std::vector<Attempt>& attempts);

struct FleetStatus {
  int done = 0, running = 0, waiting = 0, held = 0;
  std::vector<int> missing;        // not done, and in nobody's hands
  int64_t records = 0;             // measured, as attempts report
  std::vector<std::string> lines;  // a line for each task that is running, held or missing, with its node and why
  bool all_done(const Fleet& fleet) const { return done == static_cast<int>(fleet.tasks.size()); }
};
FleetStatus status_of(const Fleet& fleet, const std::vector<Attempt>& attempts, const std::vector<QueuedTask>& queue);

}  // namespace deepgap
