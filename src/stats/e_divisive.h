// Finds where a series in order of time changed, as often as it did: hierarchical divisive estimation by energy distances, which assumes
// nothing about the distribution.
//   Matteson and James, "A nonparametric approach for multiple change point analysis of multivariate data", JASA 109 (2014); Daly, Brown,
//   Ingo, O'Leary and Bradford, "The use of change point detection to identify software performance regressions in a continuous integration
//   system", ICPE 2020.
// Each split is the one after which both sides are farthest apart; it counts where at most one in a hundred shuffles of what lies between
// the changes found so far gives as good a one, and the rest is looked at in parts. Values are taken for independent: nights, not queries.
// Cost: 500 n^2 for each change. Numbers in, numbers out; the same seed gives the same answer; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace deepgap {

struct ChangePoint {
  size_t at = 0;  // first value behind the change
  double p_value = 1;
};

// Returns changes in order of time; none if the series has fewer than 10 values. Two changes are at least three values apart.
std::vector<ChangePoint> find_changes(std::span<const double> series, uint64_t seed = 1);

}  // namespace deepgap
