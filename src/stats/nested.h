// The mean of what was measured in several processes, on one node or on several of one kind: two levels, or three.
//
// Processes on a node differ (memory layout, clocks, neighbours) and so do nodes of a kind, by more than any of them scatters within. What
// a mean says about a node that was not measured rests on how many nodes there are, not on how many processes ran on them. So with several
// nodes each counts as one value, the mean of its processes; the interval comes from the scatter of these with one degree of freedom less
// than there are nodes, and is never narrower than the scatter within the nodes alone gives. On one node the processes are the values.
//
// What is seen within a process is a floor in the same way, as long as the processes can scatter so. Where a window drifts the same way in
// each of them (a card that warms up) it shows that drift, and not how processes differ: it counts up to the upper 95 % bound of the
// scatter that the processes themselves show (chi-squared). Equal values bound nothing.
//   Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013 (the top level's means are what the interval is made of).
// bench/coverage nodes shows coverage. Numbers in, numbers out; thread-safe.
#pragma once

#include "stats/interval.h"

#include <cstdint>
#include <span>

namespace deepgap {

struct ProcessValue {
  double value = 0;
  double variance = 0;  // variance of this value, as seen within the process; 0: not known
  uint64_t node = 0;    // equal ones ran on one node
};

struct NestedMean {
  MeanEstimate estimate;        // n: processes
  double between_variance = 0;  // variance of a process's true mean around its node's; not negative
  double process_variance = 0;  // variance of a process's value around its node's mean
  double node_variance = 0;     // variance of a node's true mean around that of its kind; not negative, 0 on one node
  int64_t nodes = 1;
};

// Computes the mean of at least two values.
NestedMean nested_mean(std::span<const ProcessValue> values);

}  // namespace deepgap
