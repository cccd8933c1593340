// Judges a Record by its tokens: whether its bounds on them are held, whether those who count tokens agree, and whether a cache answered
// that nobody asked for.
#pragma once

#include "worker/load_verdict.h"
#include "worker/point_options.h"

#include <deepgap/record.h>

namespace deepgap {

// Judges a Record of task generate that has its tokens and its Sessions' counts. Sets verdict and reason where they become worse, and the
// facts that were counted.
void judge_generation(Record& record, const PointOptions& options, BoundRule rule);

}  // namespace deepgap
