// Any rule, but not before the window is so long: "at least 100 iterations and 1 s". What the rule said (enough, exhausted) holds then.
#pragma once

#include "scenario/stopping.h"

namespace deepgap {

std::unique_ptr<Stopping> at_least(std::unique_ptr<Stopping> rule, Nanoseconds least);

}  // namespace deepgap
