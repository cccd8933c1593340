// Convolutions with a kernel wider than a pixel on sm_90a, without reading the image once for each tap. TMA brings a region of whole padded
// rows to shared memory, and every tap reads it from another pixel on. Rows of the product are the region's pixels in reading order,
// including the padding (1 / (1 + width) of them or more are computed for nothing).
#pragma once

#include "engine/gpu/wgmma.h"

namespace deepgap::gpu {

struct WindowTile : TeamTile {
  int regions = 1;  // regions of one tile: 1, or each 64 rows lie in a region of their own (another image, or other rows of it)
  int source_stages = 2, weight_stages = 4;  // weight_stages 0: the weights of a block's channels stay in shared memory

  bool resident() const { return weight_stages == 0; }
};

struct WindowPlan {
  WindowTile tile;
  int padded_w = 0;     // pixels of a row of a region
  int region_rows = 0;  // output rows
  int box_rows = 0;     // source rows
  int row_regions = 0;  // regions of an image
  int64_t row_tiles = 0;
  int column_tiles = 0, channel_steps = 0, taps = 0;
  size_t region_bytes = 0, box_bytes = 0, weight_bytes = 0, shared_bytes = 0;
};
// Returns a plan with region_rows 0 if the tile does not fit.
WindowPlan plan_of(const Convolution& problem, const WindowTile& tile);
ConvolutionVariant variant_of(const Convolution& problem, const WindowTile& tile, const Chip& chip);
// Returns the tiles that fit problem and chip, in no order; none if the family does not do it.
std::vector<Estimated<WindowTile>> window_tiles(const Convolution& problem, const Chip& chip);
std::string window_text(const Convolution& problem, const WindowPlan& plan);

}  // namespace deepgap::gpu
