// The passes that the engine runs over a Graph before it is compiled. Every pass is one function that edits the Graph in place and leaves
// it valid (graph.h); each stands in a file of its own with its test. Executors on any device share them.
//
// Fused work stays in the Graph, as a node Fused of domain "deepgap" (fused.h), instead of in a representation of its own: there is one
// form to print, test and evaluate, and a fused node means exactly what the ONNX nodes in its body mean.
#pragma once

#include "engine/passes/fusion_rules.h"
#include "model/eval/fold_constants.h"

#include <deepgap/graph.h>

namespace deepgap {

// Bypasses Identity and Dropout (inference: it passes its input on). A graph output keeps its name.
void remove_identities(Graph& graph);
// Takes what is affine per channel and alone reads a Conv, ConvTranspose or Gemm into its weights and bias: BatchNormalization, arithmetic
// with constants.
void fold_affines(Graph& graph);
// Puts a product and an addition, which fuse with others, where a BatchNormalization with constant statistics is left.
void write_out_batch_norms(Graph& graph);
// Puts a convolution of single pixels, and a Transpose, where a ConvTranspose of few channels makes tiles that do not overlap.
void spread_up_convolutions(Graph& graph, const FusionRules& rules = {});
// Puts one operator where exporters wrote it out: Gelu (with Erf), HardSwish, LayerNormalization.
void fuse_gelus(Graph& graph);
void fuse_hard_swishes(Graph& graph);
void fuse_layer_norms(Graph& graph);
// Joins the products around a Softmax: attention.h. Before fuse_operators.
void fuse_attention(Graph& graph);
// Makes one product of the query, key and value that are products of one value, and a Split after it.
void join_projections(Graph& graph);
// Joins Conv, ConvTranspose, Gemm, MatMul and elementwise operators with the activations and additions that follow: fused.h.
void fuse_operators(Graph& graph, const FusionRules& rules = {});
// Joins nodes that values of unknown size connect, such as what NonMaxSuppression keeps, where what goes in and out has known sizes: into
// one node Region of domain "deepgap". Its attribute `body` is the Graph it stands for, without constants: the body's inputs are the
// node's, position by position, and evaluate(body, inputs) is what the node means.
void join_sized_by_data(Graph& graph);
// Drops nodes and constants that no output needs.
void remove_dead(Graph& graph);

// Runs the passes that need no batch size: the plans of all batch sizes share their results. Throws Error{input | refused} for quantization
// that cannot be meant (quantization.h).
void optimize_unbound(Graph& graph, const FusionRules& rules = {});
// Runs the rest, on a Graph whose symbols are bound.
void optimize_bound(Graph& graph, const FusionRules& rules = {});
// Returns a copy for this batch, optimized so.
Graph bound_graph(const Graph& unbound, int64_t batch, const FusionRules& rules);

}  // namespace deepgap
