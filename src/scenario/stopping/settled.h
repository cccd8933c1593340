// A warm-up that goes on, beyond what its rule asks, until something else has settled too: the clocks of a GPU.
#pragma once

#include "scenario/stopping.h"

#include <functional>

namespace deepgap {

// `settled`: asked with the time at which queries ended, by the scenario's thread. `what`: what settles, in a reason: "the GPU's clocks".
// Ends after `longest` in any case.
std::unique_ptr<Stopping> until_settled(std::unique_ptr<Stopping> rule, std::function<bool(Nanoseconds)> settled, const std::string& what,
                                        Nanoseconds longest);

}  // namespace deepgap
