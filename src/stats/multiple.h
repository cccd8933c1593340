// Many comparisons at once: of equal things, some look different by chance. Numbers in, numbers out; thread-safe.
#pragma once

#include "stats/interval.h"

#include <cstddef>
#include <span>
#include <vector>

namespace deepgap {

// p-values as they are when all of them are looked at, in the order given; a NaN counts as 1.
// Holm: the chance that any of those below 0.05 is wrong is at most 0.05. For gates. Holm, Scandinavian Journal of Statistics 6 (1979).
std::vector<double> holm_adjusted(std::span<const double> p_values);
// Benjamini and Hochberg: of those below 0.05, about one in twenty is wrong at most. For lists. JRSS B 57 (1995).
std::vector<double> benjamini_hochberg_adjusted(std::span<const double> p_values);

// Returns the confidence with which the best-looking of `candidates` is compared with each rival: it is better where the interval leaves
// out equality. Which would look best was not known before, so 5 % are shared among all pairs (Bonferroni). `default_confidence` for two.
double confidence_of_best(size_t candidates);

}  // namespace deepgap
