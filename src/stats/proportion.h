// The interval of a share, from a count. Numbers in, numbers out; thread-safe.
#pragma once

#include "stats/interval.h"

#include <cstdint>

namespace deepgap {

// Wilson's score interval of successes / trials: it has its confidence near 0 and 1 too, where the usual one ends beyond them. Wilson,
// "Probable inference, the law of succession, and statistical inference", JASA 22 (1927). `trials` > 0.
Interval wilson_interval(int64_t successes, int64_t trials, double confidence = default_confidence);

}  // namespace deepgap
