// Files of opset 6, as PyTorch and Caffe2 wrote them until 2017: the same network in the meanings of opset 7. Used by the ONNX reader only.
#pragma once

#include <deepgap/graph.h>

namespace deepgap {

// What opset 7 changed: two inputs of different shapes are broadcast as NumPy does, no longer along an `axis`; a slope of PRelu too; what
// told training from inference went. Before shapes are inferred. Throws Error{input} naming a node that has another meaning now.
void raise_opset_6(Graph& graph);

}  // namespace deepgap
