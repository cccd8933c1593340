// Duels of a grid: the values of one axis as contenders that take turns. Only for src/plan.
#pragma once

#include "plan/study.h"

#include <string>
#include <vector>

namespace deepgap {

// Throws Error{usage} for a duel that cannot be: an axis that is not there or has one value, contenders that measure together or end by
// themselves, a rule that ends each of them on its own.
void check_duel(const Grid& grid);

// Returns what ends the turns of a duel: the margin and the budget.
StoppingSettings duel_stopping(const Grid& grid);

// The contenders for one choice of the other axes, in the order of their values. Throws Error{usage} for a scenario that takes no turns.
std::vector<Point> contenders_of_choice(const std::vector<Axis>& others, const std::vector<std::string>& choice, const Axis& contenders,
                                        int cpus);

}  // namespace deepgap
