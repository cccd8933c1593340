// Handles INT8 in a Graph: reads, checks, moves and fuses QuantizeLinear (numbers to integers) and DequantizeLinear (back).
#pragma once

#include "engine/passes/fusion_rules.h"

#include <deepgap/graph.h>

#include <optional>
#include <vector>

namespace deepgap {

// x = (q - zero_point) * scale, q of 8 bits. One scale and zero point, or one per slice along `axis`.
struct Quantization {
  DataType type = DataType::u8;  // u8 or i8
  std::vector<float> scales;
  std::vector<int32_t> zero_points;  // as many
  size_t axis = 0;                   // axis of the tensor; without meaning if there is one scale

  bool per_tensor() const { return scales.size() == 1; }
  float scale() const { return scales.front(); }
  int32_t zero_point() const { return zero_points.front(); }
  bool operator==(const Quantization& other) const = default;
};

bool is_quantize(const Node& node);
bool is_dequantize(const Node& node);
// Returns nullopt if the node is neither, its integers do not have 8 bits, or scale or zero point are not constants.
std::optional<Quantization> quantization_of(const Graph& graph, const Node& node);

// Throws Error{refused} naming operator and node for what is meant well (model/content_check.h) and not handled here: blocked scales,
// scales and numbers that are not float.
void require_handled_quantization(const Graph& graph);

// Turns constant 8-bit weights into int8 with zero point 0, if their values allow it; unsigned ones or such with zero points are rewritten.
void center_weights(Graph& graph);
// Rewrites exactly: brings QuantizeLinear to what makes its input, and DequantizeLinear to what reads its output, through Reshape,
// Transpose and the like, Concat and MaxPool. A DequantizeLinear and a QuantizeLinear that undo each other vanish.
void move_quantization(Graph& graph);
// Joins DequantizeLinear, an operator that can compute with integers, what follows it, and QuantizeLinear: fused.h.
void fuse_quantized(Graph& graph, const FusionRules& rules = {});
// Evaluates the DequantizeLinear nodes of constants that are left.
void fold_dequantized(Graph& graph);
// Does the same for weights alone that cannot stay integers: those with a scale for each block, and floats of 8 bits.
void fold_packed_weights(Graph& graph);

}  // namespace deepgap
