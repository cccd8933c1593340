// Pieces: every node of a Graph standing alone beside the others, which shows an engine's error node by node: each reads the reference's
// own values, and errors of earlier nodes do not reach it. (The other way, intermediate values as outputs of the whole network, would keep
// engines from fusing, and in a deep network most of what it shows is errors passed on.)
//
// A piece is an operator with the activation that follows it, and in a quantized Graph with the QuantizeLinear and DequantizeLinear around
// it, so that an engine fuses it as it does in the network. All pieces are in one Graph: compiled once, run once a sample.
#pragma once

#include <deepgap/graph.h>

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct Piece {
  std::string name, op;          // the operator's
  std::string output;            // the name of the reference's value that it answers to
  bool quantized = false;        // it reads levels
  std::optional<float> quantum;  // between levels of `output`, where the reference reads it from such with one scale
};

struct Pieces {
  Graph graph;  // batch 1; outputs beside `pieces`
  std::vector<Piece> pieces;
  std::vector<std::string> inputs;  // names of the reference's values, beside graph.inputs
};

// Takes a Graph apart as engines get it. `known` are the values that the reference has. A node is left out if its input or result is not
// among them or is not float32.
Pieces pieces_of(const Graph& graph, const std::vector<std::string>& known);

}  // namespace deepgap
