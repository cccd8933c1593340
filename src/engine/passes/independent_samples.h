// Whether a batch may be run in parts: each sample's outputs depend on that sample's inputs alone.
#pragma once

#include <deepgap/graph.h>

namespace deepgap {

// `bound` has the batch size `batch` along the first axis of its inputs and has constant shapes folded. Only what is known to keep
// samples apart counts; anything else answers false.
bool samples_are_independent(const Graph& bound, int64_t batch);

// Returns `unbound` at that batch size, with constants folded and nothing joined yet: the Graph that the function above takes.
Graph folded_graph(const Graph& unbound, int64_t batch);
// Returns whether parts of `part` samples may take the place of a batch. Asked at both sizes, since one alone may be that of another axis
// too. `bound` is folded_graph(unbound, batch).
bool runs_in_parts(const Graph& unbound, const Graph& bound, int64_t batch, int64_t part);

}  // namespace deepgap
