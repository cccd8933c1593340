// What the translations of a Graph to an engine's own calls share: windows, levels of quantization, limits of recurrent layers. Errors are
// NodeReader's, naming engine, operator and node.
#pragma once

#include "model/node_reader.h"

#include <cstdint>
#include <string>
#include <vector>

namespace deepgap {

// A window over the dimensions after batch and channels, as convolutions and pools have it.
struct NodeWindow {
  std::vector<int64_t> kernel, strides, dilations, begins, ends;  // pads as given, or as auto_pad makes them
  std::vector<int64_t> in, out;

  size_t rank() const { return kernel.size(); }
  int64_t extent(size_t i) const { return (kernel[i] - 1) * dilations[i] + 1; }
};
// Reads the window of a node whose output's shape is inferred. Refuses other than one to three dimensions.
NodeWindow node_window(const NodeReader& reader, const std::vector<int64_t>& kernel);
// Returns for each position of the window how many of its elements an average divides by: those within the input, and with `counts_padding`
// those within its pads. What only rounding up reaches never counts. float32, in the shape of the positions.
Tensor counted_taps(const NodeWindow& window, bool counts_padding);
// What Pad adds before and behind each axis; negative: cuts off.
struct NodePads {
  std::vector<int64_t> begins, ends;
};
NodePads node_pads(const NodeReader& reader);

// How DepthToSpace and SpaceToDepth move elements: the input in these parts, its dimensions in this order, then in the output's shape.
struct BlockMoves {
  Shape parts;
  std::vector<int64_t> order;
};
BlockMoves depth_to_space_moves(const NodeReader& reader);
BlockMoves space_to_depth_moves(const NodeReader& reader);

// Returns the axes after batch and channels of input 0. Refuses an input that has none.
std::vector<int64_t> spatial_axes(const NodeReader& reader);

// Returns the shape of scale and zero point beside what they scale: one number, or one for each slice of the axis.
Shape shape_of_scales(const NodeReader& reader);
struct Levels {
  double lowest, highest;
};
// Refuses levels of other types than int8 and uint8.
Levels levels_of(const NodeReader& reader, DataType type);

// Refuses peepholes, clipping and other activations than the defaults, which repeat for each direction.
void refuse_unusual_recurrence(const NodeReader& reader, const std::vector<std::string>& defaults);

// Returns whether the reference interpreter computes the operator before anything runs if its inputs are constant.
bool may_be_folded(const std::string& op);

}  // namespace deepgap
