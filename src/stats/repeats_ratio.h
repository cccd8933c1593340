// Two things that were each measured in several processes, against each other.
//
// On logarithms, so that a ratio and its inverse are treated alike. Repeats that were measured in the same block (one after the other, in
// random order) are paired: what drifts over minutes and hours is in both and falls out. Where there are fewer than three pairs, the two
// groups of repeats are compared as they are, after Welch. Below three repeats of either there is no interval: the scatter between
// processes is not known, and what one run shows within itself says nothing about it.
//
// With repeats on several nodes of a kind, each node counts as one value (stats/nested.h): pairs of blocks by the node that they ran on;
// else, where both were measured on three nodes or more, node against node, so that what a node is falls out; else after Welch. What was
// measured on one node alone is then taken for one of its kind, whose nodes differ as those of the other do.
//   Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013; Abedi and Brecht, "Conducting repeatable experiments in
//   highly variable cloud computing environments", ICPE 2017 (repeats in turn); Schuirmann 1987 (two one-sided tests for "the same").
// bench/coverage shows coverage, false alarms and power. Numbers in, numbers out; thread-safe.
#pragma once

#include "stats/interval.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace deepgap {

inline constexpr size_t fewest_repeats = 3;

struct RepeatValue {
  uint64_t block = 0;   // repeats of two things with the same one are a pair
  double value = 0;     // above 0
  double variance = 0;  // variance of this value, as seen within the repeat; 0: not known
  uint64_t node = 0;    // repeats with the same one ran on one node
};

struct RepeatsRatio {
  double ratio = 0;
  double log_error = 0;           // standard error of its logarithm
  double degrees_of_freedom = 0;  // 0: too few repeats, nothing is known
  bool paired = false;
  size_t repeats = 0;  // pairs, or those of the group that has fewer; over nodes: nodes
  bool over_nodes = false;

  bool known() const { return degrees_of_freedom > 0; }
  Interval interval(double confidence = default_confidence) const;  // where known
  double p_value() const;                                           // for "they are equal", two-sided; 1 where not known
};

// Returns nullopt if one of them is empty or has a value that is not positive.
std::optional<RepeatsRatio> ratio_of_repeats(std::span<const RepeatValue> first, std::span<const RepeatValue> second);

enum class Difference { unknown, more, less, same };

// same: the 90 % interval lies within a factor of 1 + margin of equality, so that both one-sided tests of 5 % agree. A difference that is
// both significant and within the margin is the same: what was asked is whether it matters.
Difference difference(const RepeatsRatio& ratio, double margin, double confidence = default_confidence);

// The smallest relative difference that so many repeats would show with a chance of 80 %, with the scatter seen; infinity where not known.
double smallest_effect(const RepeatsRatio& ratio, double confidence = default_confidence);
// Returns likewise how many repeats it takes to show a relative difference so large; 0 where not known, at most 10,000.
size_t repeats_needed(const RepeatsRatio& ratio, double effect, double confidence = default_confidence);

}  // namespace deepgap
