#include "engine/passes/passes.h"

namespace deepgap {

void optimize_unbound(Graph& graph) {
  remove_identities(graph);
  fold_constants(graph);
  fold_batch_norms(graph);
  remove_dead(graph);
}

void optimize_bound(Graph& graph) {
  fold_constants(graph);  // shapes that depend on the batch are numbers now
  remove_dead(graph);
  fuse_operators(graph);
  remove_dead(graph);
}

}  // namespace deepgap
