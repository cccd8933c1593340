// Whether a batch may be run in parts: each sample's outputs depend on that sample's inputs alone.
#pragma once

#include <deepgap/graph.h>

namespace deepgap {

// `bound` has the batch size `batch` along the first axis of its inputs and has constant shapes folded. Only what is known to keep
// samples apart counts; anything else answers false.
bool samples_are_independent(const Graph& bound, int64_t batch);

}  // namespace deepgap
