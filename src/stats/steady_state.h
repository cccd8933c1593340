// Finds where a series stops warming up.
//
// Two looks at the series, cut into at most 64 equal stretches so that single spikes weigh little and the cost stays bounded:
//  1. MSER: the truncation point d minimises the squared standard error of the mean of what follows. A point in the second half says that
//     the series has not yet been flat for long enough, unless what lies between the middle and the point has the same mean within
//     `tolerance`.
//     White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69 (1997).
//  2. What is left must have no trend that matters: the Mann-Kendall test does not see one (two-sided 5 %), or its size over the stretch
//     by Sen's slope is within `tolerance` of the median.
//     Mann, Econometrica 13 (1945); Kendall, "Rank Correlation Methods" (1975); Sen, JASA 63 (1968).
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace deepgap {

// Index of the first observation of the steady part, or nullopt: not steady (yet), or fewer than 8 observations.
std::optional<size_t> steady_from(std::span<const double> series, double tolerance);

// Kendall's S, standardised with ties corrected: about standard normal for a series without trend. 0 for a constant.
double mann_kendall_z(std::span<const double> series);
// Median of the slopes between all pairs, per step.
double sen_slope(std::span<const double> series);
// MSER's truncation point; the last 4 observations are never cut away alone.
size_t mser_truncation(std::span<const double> series);

}  // namespace deepgap
