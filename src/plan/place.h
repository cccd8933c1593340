// Places: where the user wrote what a mistake is of, as an error line begins with it: "study.toml:12" or "--backend". Pure functions.
#pragma once

#include "plan/study.h"

#include <string>

namespace deepgap {

// "PLACE: CAUSE"; the cause alone where the place is unknown. A cause that begins with the name of the flag's axis loses it:
// "--batch: 'x' is no whole number".
std::string at_place(const std::string& place, const std::string& cause);

// Returns where the Point's value on that axis was written in the grid that made the Point; where it was not written (a default, or `axis`
// is empty), the place of the grid itself; empty if unknown. `cpus` as for expand().
std::string place_of(const Study& study, const Point& point, const std::string& axis, int cpus);

}  // namespace deepgap
