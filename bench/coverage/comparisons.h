// The tables about several runs: repeats, comparisons, fastest ones, nodes, duels, percentiles.
#pragma once

namespace deepgap {

void print_repeats(int series);       // a Point of several processes: coverage
void print_auto_repeats(int series);  // as many as it takes: coverage, and how often equal ones differ
void print_comparisons(int series);   // two of them: false differences, power, pairs
void print_winners(int series);
void print_nodes(int series);        // several of one kind: coverage at three levels, and which are called outliers
void print_node_points(int series);  // the first part of it: Points on several nodes
void print_pairs(int series);        // pairs of turns, as the statistics of duels see them
void print_duels(int series);        // whole duels
void print_interleaved(int series);  // interleaved engines, as results of their own
void print_points(int series);       // Points of several repeats: verdict, interval, extremes, and ratios as text
void print_all_gates(int series);    // `compare --fail-if-slower`
void print_percentiles(int series);
void print_modes(int series);              // latencies in two groups
void print_undisturbed(int series);        // throughput and latency from slices without disturbance
void print_undisturbed_ratio(int series);  // the ratio of two interleaved engines
void print_bounds(int series);             // held, missed, not enough data: one run, and repeats together
void print_overloads(int series);          // a server that is busy, and one that cannot keep up

}  // namespace deepgap
