// The work of an engine's layers, each of which may stand for several nodes of the Graph: for comparing their times with what the machine
// could do.
#pragma once

#include <deepgap/graph.h>

#include <cstdint>
#include <string>
#include <vector>

namespace deepgap {

struct LayerWork {
  std::vector<size_t> nodes;  // positions in the Graph, ascending; none: a layer that the engine added itself, of which nothing is known
  std::string precision;      // precision of the multiply-accumulates: as requested, or fp32 where an int8 file leaves them unquantized
  int64_t macs = 0;
  int64_t flop = 0;   // twice the macs, and the rest
  int64_t bytes = 0;  // read and written, each once; what stays inside the layer does not count
};

struct WorkOfLayers {
  std::vector<LayerWork> layers;       // beside the names
  std::vector<std::string> left_over;  // nodes with multiply-accumulates that are in no layer
};

// `bound` has only known shapes; nodes whose counts are not known all the same count as nothing. A name joins node names with '+'; node
// names may hold '+' too. A node belongs to the first layer that names it.
//
// Engines fold nodes, and give what is left a new name: "Multiply_7+relu" may stand for a convolution, its BatchNormalization and the Relu,
// and so may "relu_out_nchwc", after what it makes. So a layer without a node's name is looked for by the results of nodes, and with
// endings cut off. A node with multiply-accumulates that no layer names belongs to the one layer that its result goes to, directly or
// through nodes without a layer, if there is just one, which has no other. And what lies between nodes of a layer belongs to it, but its
// arithmetic counts only where it is named.
//
// `ops`, beside the names, is what the engine calls each layer's operator; it may be left out. A layer that the engine put in to change a
// layout ("Reorder", "ReorderInput") is often named after the layer that made its input: it stands for nodes without arithmetic alone, a
// Transpose or a Reshape, and for no convolution.
//
// Bytes are those of the types that values are kept in: float is two bytes in bf16 and fp16, and a value between QuantizeLinear and
// DequantizeLinear has the type it has there. Of a view (Reshape, Flatten) nothing moves.
WorkOfLayers work_of_layers(const Graph& bound, const std::string& precision, const std::vector<std::string>& names,
                            const std::vector<std::string>& ops = {});

}  // namespace deepgap
