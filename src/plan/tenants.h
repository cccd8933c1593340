// A grid's tenants as Points. Only for src/plan.
#pragma once

#include "plan/study.h"

#include <string>
#include <vector>

namespace deepgap {

// Throws Error{usage}: options that only tenants have, fewer than two tenants, one without a model or with an axis that is for all of them.
void check_tenants(const Grid& grid);
// All axes of the grid and of its tenants, in the order of a choice.
std::vector<Axis> axes_with_tenants(const Grid& grid);
// One set: a value of each of those axes. Throws Error{usage} for what cannot be measured beside others.
std::vector<Point> tenants_of_choice(const Grid& grid, const std::vector<std::string>& choice, int cpus);

}  // namespace deepgap
