// Files of opset 6, as PyTorch and Caffe2 wrote them until 2017: the same network in the meanings of opset 7. Used by the ONNX reader only.
#pragma once

#include <deepgap/graph.h>

namespace deepgap {

// Applies what opset 7 changed: inputs of different shapes broadcast as in NumPy, not along an `axis` (also PRelu's slope), and `is_test`,
// which separated training from inference, is gone. Runs before shape inference. Throws Error{input} naming a node that has another meaning
// now.
void raise_opset_6(Graph& graph);

}  // namespace deepgap
