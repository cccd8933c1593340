// The WorkloadDriver of a contender of a duel: warms up as its scenario does, sends the parent a sketch of its answers when it is ready,
// and then measures a short turn whenever the parent says so (worker/turns.h):
//   ready  {"answers": sketch}                          worker/output_sketch.h
//   turn   {"pair": number, "slice_ns": length}         pair -1: to get going, and not kept
//   done   {"items_per_s": x}                           0: the turn brought nothing
#pragma once

#include "scenario/scenario.h"
#include "worker/workload_driver.h"

#include <memory>

namespace deepgap {

// `warm_up`: whose warm-up it takes. `scenario`: of the turns, parsed.
std::unique_ptr<WorkloadDriver> make_turn_driver(std::unique_ptr<WorkloadDriver> warm_up, std::unique_ptr<Scenario> scenario);

}  // namespace deepgap
