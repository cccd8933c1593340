// Tests whether a series in order of time stayed what it was: no trend, no step, no two levels that take turns, no slow beginning.
//
// For short series (32 to 64 batch means, correlated.h) whose neighbours may still resemble each other. Both tests are of ranks, so that a
// spike weighs little, and both allow for correlation by the variance that it adds:
//  - trend: Mann and Kendall's test with the variance of Hamed and Rao, "A modified Mann-Kendall trend test for autocorrelated data",
//    Journal of Hydrology 204 (1998); its size by Sen's slope.
//  - step: Pettitt, "A non-parametric approach to the change-point problem", Applied Statistics 28 (1979), with K divided by the root of
//    (1 + r) / (1 - r), r being the lag-1 correlation of what is left without the step.
// What is smaller than `tolerance` is none, however significant: a drift of 0.1 % spoils no figure that is asked to 1 %.
// scenario/window_verdict_test.cpp and bench/coverage count false alarms and what is found.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace deepgap {

enum class SeriesShape {
  steady,
  warming,  // a beginning above a steady rest, which is at least half
  trend,
  step,
  modes  // two levels that take turns
};

struct ShapeFound {
  SeriesShape shape = SeriesShape::steady;
  double change =
      0;          // relative: of the end against the beginning, of the slower level against the faster one, of the beginning to the rest
  size_t at = 0;  // first observation behind the step or the beginning
};

// Fewer than 8 observations count as steady, because they show no shape.
ShapeFound find_shape(std::span<const double> series, double tolerance);

// Standardised as mann_kendall_z (steady_state.h), with the variance that correlated values have.
double hamed_rao_z(std::span<const double> series);

struct StepFound {
  size_t at = 0;       // first observation behind it
  double p_value = 1;  // approximate
};
// The most likely place of a step.
StepFound pettitt_step(std::span<const double> series);

}  // namespace deepgap
