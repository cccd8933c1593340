// Corrects the value of the best of many. The highest of several values is so partly by chance, and the more there are the more: of twelve
// equal ones whose repeats scatter by 1 %, the best one's value is 1 % too high. Pure functions.
#pragma once

#include "analysis/point_summary.h"

#include <optional>
#include <span>

namespace deepgap {

// The throughput of the best of `candidates`, `best`, without that: each block of its repeats is valued by the candidate that the other
// blocks choose, so that what chose it does not value it, and the mean is taken. nullopt below three blocks.
std::optional<double> value_of_winner(std::span<const PointSummary* const> candidates, const PointSummary& best);

}  // namespace deepgap
