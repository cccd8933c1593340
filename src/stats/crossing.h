// The load at which the share of late queries crosses what a bound allows, from runs at several loads.
//
// Each run says how many of its queries were late. Near the crossing the logit of that share is a line over the logarithm of the load, and
// the load is where the line meets the allowed share (inverse prediction, as of a median lethal dose). The line is fitted by
// quasi-likelihood (Wedderburn, "Quasi-likelihood functions, generalized linear models, and the Gauss-Newton method", Biometrika 61, 1974):
// late queries come in clusters, so that the variance is a multiple of the binomial one, and the multiple is estimated from how runs
// scatter round the line (Pearson). Only runs whose fitted share is within a factor of three of the allowed one count, or whose load is
// within 3 %, and the ten nearest: farther off a line is none, and overloaded runs would weigh most. The interval is Fieller's ("Some
// problems in interval estimation", JRSS B 16, 1954) with Student's t: there is none where the slope is not known to be above 0, nor of
// fewer than 16 runs.
//
// A run may be chosen by what the ones before it showed: that changes no likelihood. It must not end because of what it shows itself.
// bench/coverage shows how often it holds. Numbers in, numbers out; thread-safe.
#pragma once

#include "stats/interval.h"

#include <optional>
#include <span>

namespace deepgap {

struct LoadRun {
  double load = 0;     // above 0
  double queries = 0;  // queries in the window
  double late = 0;     // late queries among these
};

struct Crossing {
  double load = 0;
  double slope = 0;                  // slope of the logit over the logarithm of the load: by how much the share grows, near the crossing
  double slope_high = 0;             // two standard errors above it
  std::optional<Interval> interval;  // 95 %
  size_t runs = 0;                   // that count
};

// Returns nullopt if too few runs lie near it, all of them lie at one load, or the share does not grow with the load.
std::optional<Crossing> find_crossing(std::span<const LoadRun> runs, double allowed_share);

}  // namespace deepgap
