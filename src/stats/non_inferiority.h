// Tests whether one thing does worse than another by more than a margin, and not whether they differ at all.
//   Schuirmann, "A comparison of the two one-sided tests procedure and the power approach", J. Pharmacokinetics and Biopharmaceutics 15
//   (1987).
// Numbers in, numbers out; thread-safe.
#pragma once

#include "stats/repeats_ratio.h"

#include <cstddef>

namespace deepgap {

// p-value of "the ratio is `limit` or more", one-sided: small where it is shown to be below. 1 where nothing is known.
double p_value_below(const RepeatsRatio& ratio, double limit);

// Returns how many repeats it takes to show, with a chance of 80 % and by a one-sided test at `confidence`, on which side of `limit` the
// ratio is, if the ratio and the scatter are what was seen; 0 where not known, at most 10,000.
size_t repeats_to_tell(const RepeatsRatio& ratio, double limit, double confidence = default_confidence);

}  // namespace deepgap
