// The speed of a Record's engine while nothing disturbed it, from the undisturbed slices of its steady window.
//
// A slice is disturbed where threads of the worker waited for a CPU for more than 1 % of it (series run_delay of probe `slices`), where
// the host of this virtual machine took time (machine_steal), or where other processes used more than 5 % of all CPUs (machine_busy less
// cpu_time, of probe `proc`): they share caches, memory and cores with us even if nobody waits. So is the slice behind a disturbed one,
// since caches are cold, and what lies as far before a slice as the wait that ended in it is long.
//
// The window of an arm of an interleaved comparison holds the other arms' time slices too, which are disturbed by definition.
//
// Queries that begin in an undisturbed slice count: those that end undisturbed with their length, the others as cut short where the
// disturbance began (stats/cut_short.h), so that the choice does not prefer short ones. The interval is that of correlated timings
// (stats/correlated.h) with these weights. Only for closed loops with one query in flight: elsewhere a query feels what disturbed another.
// What cannot be seen: frequency, and other guests of the same host. bench/coverage (undisturbed) simulates it. Pure functions.
#pragma once

#include <deepgap/record.h>

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

// Stretches of time, in order, apart from each other.
using Stretches = std::vector<std::pair<Nanoseconds, Nanoseconds>>;

struct Undisturbed {
  Estimate throughput;  // items a second
  Estimate latency_p50_ms;
};

struct UndisturbedFound {
  std::optional<double> share;  // share of the window's time in undisturbed slices; nullopt: not known
  std::optional<Undisturbed> values;
  std::string why_not;  // where there are no values: "2 % of the time was undisturbed, 5 % are needed"; empty: it is not a matter of that
};
UndisturbedFound find_undisturbed(const Record& record);

// Returns nullopt where the Record's series do not show disturbances.
std::optional<Stretches> undisturbed_stretches(const Record& record, const Window& window);

}  // namespace deepgap
