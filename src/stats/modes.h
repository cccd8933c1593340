// Tests whether values in order of time fall into two groups, such as the latencies of queries that two memories, two cores or two code
// paths serve, and in which order the groups come.
//
//  - Groups: the dip of the values' distribution, which is its largest distance from the nearest unimodal one (Hartigan and Hartigan, "The
//    dip test of unimodality", Annals of Statistics 13, 1985; computed as in Hartigan, algorithm AS 217, Applied Statistics 34, 1985). The
//    uniform distribution is the least favourable one, so that its 0.999 quantile bounds the false alarms of every unimodal distribution.
//    Neighbours that resemble each other count as fewer values, by the interval of the groups' share (correlated.h).
//  - Order: Wald and Wolfowitz, "On a test whether two samples are from the same population", Annals of Mathematical Statistics 11 (1940):
//    the number of runs of one group.
// Groups that differ by less than 5 %, or of which one has less than 5 % of the values, are none: they decide nothing.
// bench/coverage counts false alarms and what is found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace deepgap {

enum class ModeOrder {
  alternating,  // they take turns nearly every time
  stretches,    // each lasts for a while
  mixed         // neither: as if by chance
};

struct Modes {
  double low = 0, high = 0;  // medians of the groups
  double share_low = 0;      // share of the values that belong to the lower group
  ModeOrder order = ModeOrder::mixed;
};

// Returns nullopt if nothing speaks for two groups, or there are fewer than 50 values, which must be positive. `resolution` is the timer's:
// values that it makes equal count as spread over it, or every one of its ticks would be a group. 0: equal values are equal.
std::optional<Modes> find_modes(std::span<const double> values, double resolution = 0);

// The step of the timer that whole numbers were read from: all of them are a multiple of it apart. 0: there are no two different ones.
int64_t step_of(std::span<const int64_t> readings);

// Computes the dip of values in ascending order, from 1/(2 n) to 1/4; 0 for fewer than two or equal ones.
double dip_of(std::span<const double> ascending);

}  // namespace deepgap
