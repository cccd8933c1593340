// The network that FP8 is for: a transformer's layer without its attention.
#pragma once

#include "graph_builder.h"

namespace deepgap::conformance {

// Normalised rows through two products, added to what they came from; the sum through another product, and added to that; a product that
// is a result.
inline Graph transformer_layer(GraphBuilder& net) {
  const ValueId x = net.input({6, 48});
  const ValueId rows = net.node("LayerNormalization", {x, net.floats({48}), net.floats({48})});
  const ValueId wide = net.node("Gelu", {net.node("Add", {net.node("MatMul", {rows, net.floats({48, 64})}), net.floats({64})})});
  const ValueId sum = net.node("Add", {net.node("MatMul", {wide, net.floats({64, 48})}), x});
  const ValueId both = net.node("Add", {net.node("Relu", {net.node("MatMul", {sum, net.floats({48, 48})})}), sum});
  return net.finish({net.node("MatMul", {both, net.floats({48, 16})}), both});
}

}  // namespace deepgap::conformance
