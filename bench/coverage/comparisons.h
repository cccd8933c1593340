// The tables about several runs: repeats, comparisons, winners, duels, percentiles.
#pragma once

namespace deepgap {

void print_repeats(int series);      // a Point of several processes: coverage
void print_comparisons(int series);  // two of them: false differences, power, pairs
void print_winners(int series);
void print_duels(int series);
void print_percentiles(int series);

}  // namespace deepgap
