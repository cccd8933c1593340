// The scatter of a mean of values that swing: up and down several times within the series, as a GPU's clock does at its power limit. There
// neighbours resemble each other very much, and yet the mean is known well, since what is above it in one half of a swing is below in the
// other. A correlation of neighbours alone knows nothing of that and makes the interval forty times as wide.
//
// The values are taken as an autoregression of order 2 (Burg's method), whose spectrum at frequency 0 is the variance of the mean (Fishman,
// "Estimating sample size in computer simulation experiments", Management Science 17 (1971)). It counts only where it is beyond doubt that
// the values swing: the partial correlation at lag 2 is below zero by four of its standard errors, and the series holds one and a half
// swings at least. Numbers in, numbers out; any thread.
#pragma once

#include <optional>
#include <span>

namespace deepgap {

// Returns the variance of the mean over what it would be if the values were independent, at least 1; nullopt: they do not swing.
std::optional<double> swing_widening(std::span<const double> values);

}  // namespace deepgap
