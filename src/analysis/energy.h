// Energy over exactly a window, with what is known of the error of reading it, and how it scatters within the window, from which follows
// what the mean over a longer time would be. docs/explanation/methodology.md#energy explains each part. Pure functions.
//
// Series are named "energy" (counter, J) or "power" (W), with a domain behind a dot where several do not overlap. A GPU's domain is its
// device ("energy.cuda0") and counts for Points placed on it; every other domain ("energy.package-0") counts for Points on the CPU.
#pragma once

#include <deepgap/record.h>

#include <optional>
#include <vector>

namespace deepgap {

// The window's own: nothing in it is about another window.
struct Energy {
  double joules = 0;
  double half_width = 0;  // 95 %, in J: of reading it
};

// Returns the growth of the counter between the window's edges, linear between readings. Wraps of 32-bit counters of millijoules are
// undone, and the step in which a counter started again is filled with the mean of the others. nullopt if a device of the Point has no
// counter, or the readings do not enclose the window.
std::optional<Energy> counted_energy(const Record& record, const Window& window);
// Integrates power readings joined by straight lines; the half-width is what may lie between them, as neighbours differ.
std::optional<Energy> sampled_energy(const Record& record, const Window& window);

// The joules of equal slices of the window, in order of time: at most 63, each several steps or readings long. Empty where it has not even
// 8 of them, or where the whole has no value.
std::vector<double> counted_slices(const Record& record, const Window& window);
std::vector<double> sampled_slices(const Record& record, const Window& window);

// Seconds that a counter stands still between two changes; not below `counter_step`.
inline constexpr double counter_step_s = 0.1;
double observed_step_s(const Series& counter, const Window& window);

// Two errors that know nothing of each other.
double both(double first_half_width, double second_half_width);

}  // namespace deepgap
