// Several runs of one thing, and two things against each other.
#pragma once

#include "stats/interval.h"

#include <cstdint>
#include <optional>
#include <span>

namespace deepgap {

// One estimate over repeats, each a process of its own with its own mean and variance of that mean.
//
// Two levels: repeats differ by more than the scatter within them (memory layout, clocks, neighbours), so the interval comes from the
// scatter of the repeats' means with k - 1 degrees of freedom; but it is never narrower than the scatter within the repeats alone gives, as
// far as the repeats could scatter so (stats/nested.h). Repeats on several nodes have three levels (stats/nested.h): `nodes` says which ran
// on one, a number for each repeat; empty: all did.
// With one repeat there is only that one's own interval, and `over_repeats` is false.
struct RepeatsEstimate {
  MeanEstimate estimate;
  double between_variance = 0;  // variance of a repeat's true mean around its node's; not negative
  bool over_repeats = false;
  int64_t nodes = 1;
};
std::optional<RepeatsEstimate> estimate_over_repeats(std::span<const MeanEstimate> repeats, std::span<const uint64_t> nodes = {});

// numerator / denominator of two independent positive means.
//
// On the logarithm, where a ratio and its inverse are treated alike: variance va/a^2 + vb/b^2 by the delta method, degrees of freedom by
// Welch and Satterthwaite. nullopt where a mean is not positive. Good while each mean's relative standard error is below about 10 %.
//   Welch, "The generalization of Student's problem when several different population variances are involved", Biometrika 34 (1947).
struct RatioEstimate {
  double ratio = 0;
  Interval interval;
};
std::optional<RatioEstimate> estimate_ratio(const MeanEstimate& numerator, const MeanEstimate& denominator,
                                            double confidence = default_confidence);

}  // namespace deepgap
